"""Which tasks to list, in which order, and where a page of them ended."""

import base64
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, NamedTuple, Self

import msgspec
from msgspec.structs import replace

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import MILLISECOND, NEVER, floor, to_utc
from duebell_shared.quoting import quoted
from duebell_shared.task import QueueKey, Status, Task

__all__ = ["MAX_LIMIT", "QUEUED", "Filter", "Place", "make_filter"]

MAX_LIMIT = 1000

#: Bytes of the longest key that DynamoDB takes.
_LONGEST_KEY = 1024

#: What stands in the queue's index.
QUEUED = frozenset({Status.SCHEDULED, Status.RUNNING})

#: Before every other instant.
_FIRST = datetime.min.replace(tzinfo=UTC)


class Place(NamedTuple):
    """Where a task stands in a listing: the time it is listed by, and where among those of the same moment.

    First those in the queue, lane by lane, in the order of the lane; then those that have left it, by id.
    """

    at: Annotated[datetime, msgspec.Meta(tz=True)]
    has_left: bool
    lane: Annotated[int, msgspec.Meta(ge=0)]
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]

    @classmethod
    def of_key(cls, key: QueueKey) -> Self:
        """In the queue."""
        return cls(at=key.queued, has_left=False, lane=key.lane, id=key.id)

    @property
    def stage(self) -> tuple[datetime, bool]:
        """What says which of two is first, unless both are in the queue."""
        return self.at, self.has_left

    def __str__(self) -> str:
        """As a cursor."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks to list, checked. Made by `make_filter`."""

    statuses: frozenset[Status]
    action: str | None
    prefix: str
    after: datetime
    before: datetime
    latest_first: bool
    limit: int
    start: Place | None

    def place_of(self, task: Task) -> Place:
        """Tasks are listed by when they are next looked at, those that are not any more by their due date.

        With the latest first, by when they ended; the paused have not ended, and stand at their due date.
        """
        at = task.due if task.queued is None else task.queued
        if self.latest_first:
            at = task.finished_at or task.due
        if task.queued is None:
            return Place(at=at, has_left=True, lane=0, id=task.id)
        return Place(at=at, has_left=False, lane=task.lane, id=task.id)

    @property
    def begin(self) -> datetime | QueueKey:
        """Where in the queue the page begins."""
        if self.start is None or self.start.at < self.after:
            return self.after
        if self.start.has_left:
            return self.start.at + MILLISECOND
        return QueueKey(queued=self.start.at, id=self.start.id, lane=self.start.lane)

    def is_to_come(self, task: Task) -> bool:
        """Whether the page before ended ahead of this task, which has left the queue."""
        if self.start is None:
            return True
        place = self.place_of(task)
        return place < self.start if self.latest_first else place > self.start

    def wants(self, task: Task) -> bool:
        """Whether this task is one of those to list, on whichever page."""
        has_status = task.status in self.statuses
        has_action = self.action is None or task.action == self.action
        has_prefix = task.id.startswith(self.prefix)
        is_in_time = self.after <= self.place_of(task).at <= self.before
        return has_status and has_action and has_prefix and is_in_time

    def only(self, statuses: frozenset[Status]) -> Self:
        """The same, but only for tasks of these statuses."""
        return replace(self, statuses=self.statuses & statuses)

    def following(self, cursor: str) -> Self:
        """The same, for the page after the one that ended with this cursor. Raises InvalidQuery."""
        return replace(self, start=place_from(cursor))


def make_filter(
    *,
    status: Status | str | Iterable[Status | str] | None = None,
    action: str | None = None,
    prefix: str = "",
    after: datetime | None = None,
    before: datetime | None = None,
    latest_first: bool = False,
    limit: int = 100,
    cursor: str | None = None,
) -> Filter:
    """The filter that these arguments mean. Raises InvalidQuery with the field and the reason."""
    statuses = _statuses(status)
    return Filter(
        statuses=statuses,
        action=None if action is None else _text("action", action),
        prefix=_text("prefix", prefix),
        after=_FIRST if after is None else to_utc(_aware("after", after)),
        before=NEVER if before is None else floor(_aware("before", before)),
        latest_first=_flag("latest_first", latest_first) and not statuses & QUEUED,
        limit=_limit(limit),
        start=None if cursor is None else place_from(cursor),
    )


def place_from(cursor: str) -> Place:
    """Where the page with this cursor ended. Raises InvalidQuery."""
    wrong = InvalidQuery("cursor", "is not one that a listing gave: start again without it")
    try:
        place = msgspec.json.decode(base64.urlsafe_b64decode(_text("cursor", cursor).encode()), type=Place)
        place = place._replace(at=to_utc(place.at))
    except (ValueError, OverflowError):  # of base64, msgspec and the calendar
        raise wrong from None
    if place.at >= NEVER or len(place.id.encode()) > _LONGEST_KEY:
        raise wrong
    return place


def _statuses(status: Status | str | Iterable[Status | str] | None) -> frozenset[Status]:
    if status is None:
        return QUEUED
    if not isinstance(status, Iterable):
        raise InvalidQuery("status", f"must be text, or several in a list, not {quoted(status)}")
    return frozenset(map(_status, [status] if isinstance(status, str) else status))


def _status(given: object) -> Status:
    if isinstance(given, str) and given in set(Status):
        return Status(given)
    raise InvalidQuery("status", f"{quoted(given)} is not a valid Status; it is one of {', '.join(Status)}")


def _limit(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MAX_LIMIT:
        raise InvalidQuery("limit", f"must be 1 to {MAX_LIMIT}, not {quoted(given)}")
    return given


def _flag(field: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise InvalidQuery(field, f"must be True or False, not {quoted(given)}")
    return given


def _text(field: str, given: object) -> str:
    if not isinstance(given, str):
        raise InvalidQuery(field, f"must be text, not {type(given).__name__}")
    return given


def _aware(field: str, instant: object) -> datetime:
    """`instant` in UTC; what lies beyond the ends of the calendar there, as they are."""
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        raise InvalidQuery(field, f"must be a datetime with a time zone, not {quoted(instant)}")
    try:
        return min(instant.astimezone(UTC), NEVER)
    except OverflowError:
        return _FIRST if instant.year == 1 else NEVER
