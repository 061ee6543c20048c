"""The types of a task's attributes: how each value is written to its item and read from it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

import msgspec
from pynamodb.attributes import Attribute
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
from .queue_order import parse_queued, render_queued

__all__ = [
    "UNREADABLE",
    "ChangedBy",
    "Count",
    "Duration",
    "Expiry",
    "FailedAttempts",
    "Following",
    "Instant",
    "LaneNumber",
    "LastFailure",
    "LastMessage",
    "Occurrences",
    "Owing",
    "PastPlace",
    "Priority",
    "Queued",
    "Recurring",
    "Rev",
    "StatusName",
]

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
