"""Filters for listing tasks, and checks of their arguments."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Self, TypedDict, TypeVar

import msgspec
from msgspec.structs import replace

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import InvalidQuery, InvalidTask
from duebell_shared.instants import FIRST, MILLISECOND, NEVER, floor, to_utc
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import MAX_NAME, check_name
from duebell_shared.tasks.fields import FIELDS, Field, FieldKind
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

from .positions import Key, Position, is_failing, position_from
from .queue_counts import is_overdue, overdue_before

_Choice = TypeVar("_Choice", bound=StrEnum)

MAX_LIMIT = 1000

#: Statuses of the tasks in the queue's index.
QUEUED = frozenset({Status.SCHEDULED, Status.RUNNING, Status.RESERVED})

#: Used like a status: recurring tasks whose last occurrence failed and that wait for the next one.
FAILING = "failing"

#: Used like a status, and only alone: tasks that should have started, by the rule of `Editor.status`.
OVERDUE = "overdue"

#: All values that `status` accepts: the statuses of tasks, FAILING and OVERDUE.
Listed = StrEnum(  # type: ignore[misc]
    "Listed", [*Status.__members__.items(), ("FAILING", FAILING), ("OVERDUE", OVERDUE)]
)


_TEXT = FieldKind(form="text", schema={"type": "string", "maxLength": MAX_NAME})
_SEARCH = FieldKind(form="search", schema=_TEXT.schema)
_STATUSES = FieldKind(
    form="choices", schema={"type": "array", "items": {"type": "string", "enum": [*Listed]}}
)


class FilterFields(TypedDict, total=False):
    """The arguments of `Editor.list` and `Editor.select` that choose tasks."""

    status: Annotated[
        Status | str | Iterable[Status | str] | None,
        Field(
            kind=_STATUSES,
            title="Status",
            means=f"{', '.join(Listed)}; may be repeated, {OVERDUE} stands alone",
            unset="those in the queue",
        ),
    ]
    action: Annotated[
        str | None, Field(kind=FIELDS["action"].kind, title="Action", means="Only tasks of this action")
    ]
    error: Annotated[
        str | None,
        Field(
            kind=_TEXT,
            title="Error",
            means="Only tasks whose last failure is of this type, such as TimeoutError",
        ),
    ]
    prefix: Annotated[
        str | None, Field(kind=_SEARCH, title="Id starts with", means="Only tasks whose ids start with this")
    ]
    text: Annotated[
        str | None,
        Field(
            kind=_SEARCH,
            title="Id or payload has",
            means="Only tasks with this text in the id or the payload",
        ),
    ]
    tag: Annotated[str | None, Field(kind=_SEARCH, title="Tag is", means="Only tasks with this tag")]
    after: Annotated[
        datetime | None, Field(kind=FIELDS["start"].kind, title="After", means="Due or ended not before this")
    ]
    before: Annotated[
        datetime | None, Field(kind=FIELDS["end"].kind, title="Before", means="Due or ended not after this")
    ]


#: The rows of FilterFields.
FILTERS: Mapping[str, Field] = {
    name: hint.__metadata__[0] for name, hint in FilterFields.__annotations__.items()
}


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks to list, and their order. Made by `make_filter`, which checks it.

    failing  also list recurring tasks with these statuses whose last occurrence failed
    overdue  only tasks that are overdue; `as_of` must be called first
    moment   the arming record and the time that decide which tasks are overdue
    """

    statuses: frozenset[Status]
    failing: frozenset[Status]
    overdue: bool
    action: str | None
    error: str | None
    prefix: str
    text: str
    tag: str
    after: datetime
    before: datetime
    latest_first: bool
    limit: int
    start: Position | None
    moment: tuple[ArmingRecord, datetime] | None = None

    def wants(self, key: Key, task: Task) -> bool:
        """Tell whether the task fits the filter. The caller checks its time, unless the task is failing."""
        has_action = self.action is None or task.action == self.action
        has_error = self.error is None or (task.failure is not None and task.failure.type == self.error)
        has_prefix = task.id.startswith(self.prefix)
        has_text = self.text in task.id or self.text in task.payload_json
        has_tag = not self.tag or self.tag in task.tags
        fits = has_action and has_error and has_prefix and has_text and has_tag
        return fits and self._has_status(key, task)

    def _has_status(self, key: Key, task: Task) -> bool:
        """Tell whether it has a wanted status. With `failing`, it is listed once, by its key as failing."""
        if self.moment and not is_overdue(task, *self.moment):
            return False
        goes_on = task.owes is not None and task.owes.queued is not None
        if isinstance(key, QueueKey) and task.owes and not goes_on:
            return False  # it is listed by its key in the index of the past
        # A recurring task that goes on is done or failed only while it owes a follow-up
        status = Status.SCHEDULED if goes_on else task.status
        if not is_failing(key):
            return status in self.statuses and not (status in self.failing and task.consecutive_failures)
        failed_at = task.last.finished_at if task.last else task.due
        return status in self.failing and self.after <= failed_at <= self.before

    def as_of(self, record: ArmingRecord, now: datetime) -> Self:
        """The same filter, of tasks that are overdue at this moment."""
        before = min(self.before, overdue_before(record, now) - MILLISECOND)
        return replace(self, before=before, moment=(record, now))

    def following(self, cursor: str) -> Self:
        """The same filter, for the page after this cursor. Raises InvalidQuery."""
        return replace(self, start=position_from(cursor))


def make_filter(
    *,
    status: Status | str | Iterable[Status | str] | None = None,
    action: str | None = None,
    error: str | None = None,
    prefix: str | None = None,
    text: str | None = None,
    tag: str | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
    latest_first: bool = False,
    limit: int = 100,
    cursor: str | None = None,
) -> Filter:
    """Check the arguments. Raises InvalidQuery with the field and the reason."""
    asked = _asked(status)
    if OVERDUE in asked and len(asked) > 1:
        raise InvalidQuery(
            "status", f"{OVERDUE} stands alone, without {', '.join(sorted(asked - {OVERDUE}))}"
        )
    statuses = frozenset(Status(one) for one in asked - {FAILING, OVERDUE})
    return Filter(
        statuses=QUEUED if status is None or OVERDUE in asked else statuses,
        failing=QUEUED if FAILING in asked else frozenset(),
        overdue=OVERDUE in asked,
        action=None if action is None else check_text("action", action),
        error=None if error is None else check_text("error", error),
        prefix="" if prefix is None else check_text("prefix", prefix),
        text="" if text is None else check_text("text", text),
        tag="" if tag is None else check_text("tag", tag),
        after=FIRST if after is None else to_utc(check_instant("after", after)),
        before=NEVER if before is None else floor(check_instant("before", before)),
        latest_first=check_flag("latest_first", latest_first),
        limit=check_limit(limit),
        start=None if (given := check_cursor(cursor)) is None else position_from(given),
    )


def _asked(status: Status | str | Iterable[Status | str] | None) -> frozenset[str]:
    if status is None:
        return frozenset()
    if not isinstance(status, Iterable):
        raise InvalidQuery("status", f"must be text, or several in a list, not {quoted(status)}")
    several = [status] if isinstance(status, str) else status
    return frozenset(check_choice("status", one, Listed) for one in several)


def check_ids(given: object, field: str = "ids") -> tuple[str, ...]:
    """The ids of tasks, each once. Raises InvalidQuery."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidQuery(field, f"must be ids of tasks, in a list for example, not {type(given).__name__}")
    try:
        return tuple(dict.fromkeys(check_name(field, id) for id in given))
    except InvalidTask as error:
        raise InvalidQuery(error.field, error.reason) from None


def check_limit(given: object, *, field: str = "limit", least: int = 1, most: int | None = MAX_LIMIT) -> int:
    """A whole number from `least` to `most`. Raises InvalidQuery."""
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= (most or given):
        allowed = f"{least} or more" if most is None else f"{least} to {most}"
        raise InvalidQuery(field, f"must be {allowed}, not {quoted(given)}")
    return given


def check_cursor(given: object) -> str | None:
    """Returns the cursor, not decoded yet. Raises InvalidQuery."""
    return None if given is None else check_text("cursor", given)


def check_choice(field: str, given: object, choices: Iterable[_Choice]) -> _Choice:
    """Returns the choice whose text is given. Raises InvalidQuery."""
    by_text = {str(one): one for one in choices}
    if isinstance(given, str) and given in by_text:
        return by_text[given]
    raise InvalidQuery(field, f"must be one of {', '.join(by_text)}, not {quoted(given)}")


def check_flag(field: str, given: object) -> bool:
    """True or False. Raises InvalidQuery."""
    if not isinstance(given, bool):
        raise InvalidQuery(field, f"must be True or False, not {quoted(given)}")
    return given


def check_text(field: str, given: object) -> str:
    """Text. Raises InvalidQuery."""
    if not isinstance(given, str):
        raise InvalidQuery(field, f"must be text, not {type(given).__name__}")
    return given


def check_instant(field: str, instant: object) -> datetime:
    """`instant` in UTC, within the bounds of the calendar. Raises InvalidQuery."""
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        raise InvalidQuery(field, f"must be a datetime with a time zone, not {quoted(instant)}")
    try:
        return min(instant.astimezone(UTC), NEVER)
    except OverflowError:
        return FIRST if instant.year == 1 else NEVER
