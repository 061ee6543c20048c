"""A task as an item of the DynamoDB table, by attributes of pynamodb: the one definition of them.

An attribute has a type of DynamoDB's, and functions that write its value to an item and read it from one.
`items.py` writes and reads tasks by the attributes of TaskItem. pynamodb itself would make an object of each
item, and takes as long for a call as the SDK.

The sort key `queued` of a task without a priority is its time, `2026-12-31T00:00:00.000Z`. With a priority a
rank stands instead of the Z, `#1` for 9 to `#9` for 1: it sorts before the Z, and higher priorities first.
So the index itself has the tasks of a millisecond in order, and a key tells the priority without a read of
the task.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from pynamodb.attributes import Attribute, AttributeContainer, BooleanAttribute, UnicodeAttribute
from pynamodb.constants import BINARY, NUMBER, STRING

from duebell_shared.counts import LARGEST, MAX_PRIORITY
from duebell_shared.instants import MILLISECOND, in_utc, parse, render, to_json
from duebell_shared.quoting import shortened
from duebell_shared.tasks.failure import FailedAttempt, Failure, bounded
from duebell_shared.tasks.follow_up import FollowUp, Owed
from duebell_shared.tasks.given import fit_changed_by
from duebell_shared.tasks.intake_mark import IntakeMark
from duebell_shared.tasks.packed_occurrences import bounded_occurrences, pack_occurrences, unpack_occurrences
from duebell_shared.tasks.recurrence import Recurrence
from duebell_shared.tasks.status import Status

from .past_index import parse_past, render_past

if TYPE_CHECKING:
    pass

__all__ = [
    "UNREADABLE",
    "Item",
    "TaskItem",
    "parse_queued",
    "render_queued",
    "stored",
]

#: Between the time and the rank.
_SEPARATOR = "#"


def render_queued(at: datetime, priority: int = 0) -> str:
    """The text of the attribute."""
    text = render(at)
    return f"{text[:-1]}{_SEPARATOR}{MAX_PRIORITY + 1 - priority}" if priority else text


def parse_queued(text: str) -> tuple[datetime, int]:
    """The time and the priority. Raises ValueError for text that duebell does not write."""
    time, separator, rank = text.partition(_SEPARATOR)
    at = parse(f"{time}Z" if separator else time)
    priority = MAX_PRIORITY + 1 - int(rank) if separator else 0
    if not 0 <= priority <= MAX_PRIORITY or render_queued(at, priority) != text:
        raise ValueError(f"{text} is no place in the queue")
    return at, priority


_T = TypeVar("_T")

_EPOCH, _SECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=1)

#: Stands for a `queued` that duebell did not write: no run can claim such an item, so none is woken for it.
#: Between two milliseconds, so that no task is ever queued for it.
UNREADABLE = datetime.min.replace(microsecond=1, tzinfo=UTC)


class _Converted(Attribute[_T]):
    """An attribute of one of DynamoDB's types, with the functions that write its value and read it.

    otherwise  the value of one that cannot be read: for attributes that only inform. Without it, the task
               cannot be read
    retyped    what is read from an attribute of another type; without it, the task cannot be read
    """

    def __init__(
        self,
        type: str,
        write: Callable[[_T], Any],
        read: Callable[[Any], _T | None],
        *,
        otherwise: Callable[[Any], _T | None] | None = None,
        retyped: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.attr_type = type
        self.serialize = write  # type: ignore[assignment, method-assign]  # called for each attribute of each item
        self._read = read
        self._otherwise = otherwise
        self._retyped = retyped

    def get_value(self, value: dict[str, Any]) -> Any:
        return super().get_value(value) if self._retyped is None else value.get(self.attr_type, self._retyped)

    def deserialize(self, value: Any) -> _T | None:
        if self._otherwise is None:
            return self._read(value)
        try:
            return self._read(value)
        except (ValueError, OverflowError, RecursionError):
            return self._otherwise(value)


def _from_json(kind: type[_T], text: str) -> _T:
    value: _T = in_utc(msgspec.json.decode(text, type=kind))
    return value


def _write_queued(place: datetime | tuple[datetime, int]) -> str:
    return render_queued(*place) if isinstance(place, tuple) else render_queued(place)


def _priority(number: str) -> int:
    return max(0, min(_count(number), MAX_PRIORITY))


def _count(number: str) -> int:
    return max(-LARGEST, min(int(Decimal(number)), LARGEST))


def _rev(number: str) -> int:
    rev = Decimal(number)
    if rev != int(rev) or abs(rev) > LARGEST:
        raise ValueError(f"rev is {shortened(number)}")
    return int(rev)


def _recurrence(text: str) -> Recurrence:
    recurrence = _from_json(Recurrence, text)
    recurrence.schedule.check()  # before it is run: its next occurrence could not be stored
    return recurrence


#: A lane is a key of the table, and keys are text.
LaneNumber = partial(_Converted[int], STRING, str, int)

#: A time as fixed-width text, so that it sorts in the index and reads well in the console.
Instant = partial(_Converted[datetime], STRING, render, parse)

#: A place in the queue as duebell writes it, by which a task can be claimed: its time and priority, or the
#: time alone. UNREADABLE for any other text in the index.
Queued = partial(_Converted[Any], STRING, _write_queued, parse_queued, otherwise=lambda _: (UNREADABLE, 0))

#: The kind of a task's past and its time; None for what duebell does not write.
PastPlace = partial(
    _Converted[Any], STRING, lambda place: render_past(*place), parse_past, otherwise=lambda _: None
)

StatusName = partial(_Converted[Status], STRING, lambda status: status.value, Status)

#: A whole number. An edit by hand may have left a fraction, which is cut off, or one beyond the largest.
Count = partial(_Converted[int], NUMBER, str, _count)

#: From 0 to 9; an edit by hand may have left any other number.
Priority = partial(_Converted[int], NUMBER, str, _priority)

#: A whole number that every write compares with the stored one, so none is read as another.
Rev = partial(_Converted[int], NUMBER, str, _rev)

#: A time in seconds since 1970, as DynamoDB's time to live has it; what is less than a second is cut off.
Expiry = partial(
    _Converted[datetime],
    NUMBER,
    lambda at: str((at - _EPOCH) // _SECOND),
    lambda number: _EPOCH + float(number) * _SECOND,
)

#: Whole milliseconds.
Duration = partial(
    _Converted[timedelta],
    NUMBER,
    lambda duration: str(duration // MILLISECOND),
    lambda number: int(number) * MILLISECOND,
)

Recurring = partial(_Converted[Recurrence], STRING, to_json, _recurrence)

Following = partial(_Converted[FollowUp], STRING, to_json, partial(_from_json, FollowUp))

Owing = partial(_Converted[Owed], STRING, to_json, partial(_from_json, Owed))

# Attributes that only inform: a task runs even if one of them cannot be read.

LastFailure = partial(
    _Converted[Failure],
    STRING,
    to_json,
    partial(_from_json, Failure),
    otherwise=lambda text: bounded(Failure(type="Unreadable", message=text)),
)

FailedAttempts = partial(
    _Converted[tuple[FailedAttempt, ...]],
    STRING,
    to_json,
    partial(_from_json, tuple[FailedAttempt, ...]),
    otherwise=lambda _: (),
)

#: Another version may have stored them as another type.
Occurrences = partial(
    _Converted[Any],
    BINARY,
    lambda occurrences: pack_occurrences(bounded_occurrences(occurrences)),
    unpack_occurrences,
    otherwise=lambda _: (),
    retyped=b"",
)

LastMessage = partial(
    _Converted[IntakeMark], STRING, to_json, partial(_from_json, IntakeMark), otherwise=lambda _: None
)

ChangedBy = partial(_Converted[str], STRING, str, fit_changed_by, retyped="")


#: Attributes as DynamoDB's API has them: each by its name, under its type.
Item = Mapping[str, Mapping[str, Any]]


class TaskItem(AttributeContainer):
    """A task as an item: the fields of Task, and `past`, which follows from those."""

    lane = LaneNumber()
    id = UnicodeAttribute()
    action = UnicodeAttribute()
    due = Instant()
    payload_json = UnicodeAttribute(attr_name="payload")
    status = StatusName()
    queued = Queued(null=True)
    priority = Priority(null=True)
    attempt = Count()
    rev = Rev()
    created_at = Instant()
    started_at = Instant(null=True)
    finished_at = Instant(null=True)
    run = UnicodeAttribute(null=True)
    lateness_ms = Count(null=True)
    begun = Count(null=True)
    snoozes = Count(null=True)
    limited_since = Instant(null=True)
    failure = LastFailure(null=True)
    failures = FailedAttempts(null=True)
    expires_at = Expiry(null=True)
    reserved_until = Instant(null=True)
    reservation = UnicodeAttribute(null=True)
    unlisted = BooleanAttribute(null=True)
    payload_dropped = Count(null=True)
    spread = Duration(null=True)
    expires_after = Duration(null=True)
    recurrence = Recurring(null=True)
    occurrences = Occurrences(null=True)
    changed_by = ChangedBy(null=True)
    intake = LastMessage(null=True)
    on_failed = UnicodeAttribute(null=True)
    then = Following(null=True)
    owes = Owing(null=True)
    follow_up_error = UnicodeAttribute(null=True)
    past = PastPlace(null=True)


def stored(**values: object) -> dict[str, dict[str, Any]]:
    """Attributes of a task's item, in the terms of DynamoDB's API; the values are given by their fields."""
    item = {}
    for field, value in values.items():
        name, type, write = _STORED[field]
        item[name] = {type: write(value)}
    return item


#: By field: the attribute's name, its type, and what writes a value.
_STORED: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    field: (each.attr_name, each.attr_type, each.serialize)
    for field, each in TaskItem.get_attributes().items()
}
