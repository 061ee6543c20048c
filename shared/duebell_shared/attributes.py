"""How the fields of a task are stored as attributes of its item, in pynamodb's terms."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
from pynamodb.attributes import Attribute, NumberAttribute
from pynamodb.constants import BINARY, BOOLEAN, NUMBER, STRING

from .counts import LARGEST
from .failure import FailedAttempt, Failure, bounded
from .given import fit_changed_by
from .instants import MILLISECOND, in_utc, parse, render, to_json
from .packed_occurrences import bounded_occurrences, pack_occurrences, unpack_occurrences
from .quoting import shortened
from .recurrence import Occurrence, Recurrence
from .status import Status

__all__ = [
    "UNREADABLE",
    "ChangedByAttribute",
    "CountAttribute",
    "DurationAttribute",
    "FailureAttribute",
    "FailuresAttribute",
    "FlagAttribute",
    "InstantAttribute",
    "OccurrencesAttribute",
    "QueuedAttribute",
    "RecurrenceAttribute",
    "RevAttribute",
    "StatusAttribute",
]

#: What a `queued` reads as that is none of ours: no run can claim such an item, so none is to wake for it.
#: Between two milliseconds, so that no task is ever queued for it.
UNREADABLE = datetime.min.replace(microsecond=1, tzinfo=UTC)


class InstantAttribute(Attribute[datetime]):
    """A time as fixed-width text, so that it sorts in the index and reads well in the console."""

    attr_type = STRING

    def serialize(self, value: datetime) -> str:
        return render(value)

    def deserialize(self, value: str) -> datetime:
        return parse(value)


class QueuedAttribute(InstantAttribute):
    """A time as we write it, by which a task can be claimed; UNREADABLE for whatever else is in the index."""

    def deserialize(self, value: str) -> datetime:
        try:
            queued = super().deserialize(value)
        except ValueError:
            return UNREADABLE
        return queued if render(queued) == value else UNREADABLE


class StatusAttribute(Attribute[Status]):
    attr_type = STRING

    def serialize(self, value: Status) -> str:
        return value.value

    def deserialize(self, value: str) -> Status:
        return Status(value)


class FailureAttribute(Attribute[Failure]):
    attr_type = STRING

    def serialize(self, value: Failure) -> str:
        return to_json(value)

    def deserialize(self, value: str) -> Failure:
        try:
            return msgspec.json.decode(value, type=Failure)
        except (
            ValueError,
            RecursionError,
        ):  # it only says why an attempt failed: the task is as good as ever
            return bounded(Failure(type="Unreadable", message=value))


class CountAttribute(NumberAttribute):
    """A whole number; of one that an edit by hand has left, what is whole of it, up to the largest."""

    def deserialize(self, value: str) -> int:
        return max(-LARGEST, min(int(Decimal(value)), LARGEST))


class FlagAttribute(Attribute[bool]):
    """Whether it is so; there only if it is."""

    attr_type = BOOLEAN

    def serialize(self, value: bool) -> bool:
        return value

    def deserialize(self, value: bool) -> bool:
        return bool(value)


class RevAttribute(NumberAttribute):
    """A whole number that every write compares with what is stored: no other can be taken for it."""

    def deserialize(self, value: str) -> int:
        rev = Decimal(value)
        if rev != int(rev) or abs(rev) > LARGEST:
            raise ValueError(f"rev is {shortened(value)}")
        return int(rev)


class DurationAttribute(Attribute[timedelta]):
    """Whole milliseconds."""

    attr_type = NUMBER

    def serialize(self, value: timedelta) -> str:
        return str(value // MILLISECOND)

    def deserialize(self, value: str) -> timedelta:
        return int(value) * MILLISECOND


class RecurrenceAttribute(Attribute[Recurrence]):
    attr_type = STRING

    def serialize(self, value: Recurrence) -> str:
        return to_json(value)

    def deserialize(self, value: str) -> Recurrence:
        recurrence = msgspec.json.decode(value, type=Recurrence)
        recurrence.schedule.check()  # before it is run: what comes after it could not be written
        checked: Recurrence = in_utc(recurrence)
        return checked


class FailuresAttribute(Attribute[tuple[FailedAttempt, ...]]):
    """They only tell, and the task is as good as ever when they cannot be read."""

    attr_type = STRING

    def serialize(self, value: tuple[FailedAttempt, ...]) -> str:
        return to_json(value)

    def deserialize(self, value: str) -> tuple[FailedAttempt, ...]:
        try:
            past = msgspec.json.decode(value, type=tuple[FailedAttempt, ...])
            known: tuple[FailedAttempt, ...] = in_utc(past)
        except (ValueError, OverflowError, RecursionError):
            return ()
        return known


class OccurrencesAttribute(Attribute[tuple[Occurrence, ...]]):
    """They only tell likewise. Another version may have stored them as another type."""

    attr_type = BINARY

    def serialize(self, value: tuple[Occurrence, ...]) -> bytes:
        return pack_occurrences(bounded_occurrences(value))

    def get_value(self, value: dict[str, Any]) -> Any:
        return value.get(BINARY, b"")

    def deserialize(self, value: bytes) -> tuple[Occurrence, ...]:
        try:
            return unpack_occurrences(value)
        except (ValueError, OverflowError):
            return ()


class ChangedByAttribute(Attribute[str]):
    """Who changed the task last: it only tells, and the task is as good as ever when it cannot be read."""

    attr_type = STRING

    def get_value(self, value: dict[str, Any]) -> Any:
        return value.get(STRING, "")

    def deserialize(self, value: str) -> str | None:
        return fit_changed_by(value)
