"""A recurring task's last occurrences in few bytes, so that its item takes one write unit. Pure.

Twenty occurrences take some 200 bytes when all is well, and 600 at most: MessagePack, the latest first, each
as its differences from the one before it in the list, compressed.
"""

import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from duebell_shared.instants import MILLISECOND, Instant, to_utc

from .checks import LARGEST, Count, Milliseconds
from .failure import in_a_line

_T = TypeVar("_T")

#: The last occurrences that a recurring task remembers.
MAX_OCCURRENCES = 20


class Result(StrEnum):
    """The result of an occurrence."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """An occurrence that is over. Times are UTC.

    due          when it was due
    started_at   when its last attempt was started; when it was passed over, if it was skipped
    finished_at  when that ended
    lateness_ms  how late that attempt was started, in milliseconds
    attempts     how many were made
    result       done, failed or skipped
    missed       how many occurrences before it were missed, and it stands for
    extra        whether it was asked for with `run_now`
    failure      why it failed, in a line; less of it if several failed for different reasons
    """

    due: Instant
    started_at: Instant | None
    finished_at: Instant
    lateness_ms: Milliseconds | None
    attempts: Count
    result: Result
    missed: Count = 0
    extra: bool = False
    failure: str | None = None


#: Bytes that a task's occurrences take at most.
MAX_PACKED = 600

#: The first byte: the form of the others.
_VERSION = b"\x02"

#: Bytes before they are compressed, at most.
_MOST_UNPACKED = 64 * 1024

#: Characters that are kept of each failure's words: the first number with which all fit.
_WORDS = (300, 120, 60, 25, 10, 0)

#: The fields that are packed as they are.
_AS_THEY_ARE = ("attempts", "result", "missed", "extra", "failure")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Packed(msgspec.Struct, frozen=True, array_like=True):
    """An occurrence, with its times in milliseconds.

    due       before the due of the one packed before it; of the first, since 1970
    started   after the due
    finished  after the start, or after the due if it was never started
    lag       by how much the lateness is less than `started`, as with a spread
    """

    due: int
    started: int | None
    finished: int
    lag: int | None
    attempts: Count
    result: Result
    missed: Count
    extra: bool
    failure: str | None


def bounded_occurrences(occurrences: Sequence[Occurrence]) -> tuple[Occurrence, ...]:
    """The last twenty, with as much of their failures' words as fits into MAX_PACKED bytes.

    What does not fit even without words is left out, the oldest first: only of occurrences that took years.
    """
    kept = tuple(occurrences[-MAX_OCCURRENCES:])
    for most in _WORDS:
        kept = tuple(
            one if one.failure is None else replace(one, failure=in_a_line(one.failure)[:most])
            for one in kept
        )
        if len(pack_occurrences(kept)) <= MAX_PACKED:
            return kept
    while len(pack_occurrences(kept)) > MAX_PACKED:
        kept = kept[1:]
    return kept


def pack_occurrences(occurrences: Sequence[Occurrence]) -> bytes:
    """These occurrences in bytes. Times are kept to the millisecond."""
    packed, before = list[_Packed](), 0
    for one in reversed(occurrences):
        due, finished = to_milliseconds(one.due), to_milliseconds(one.finished_at)
        started = None if one.started_at is None else to_milliseconds(one.started_at) - due
        packed.append(
            _Packed(
                due=before - due if packed else due,
                started=started,
                finished=finished - due - (started or 0),
                lag=None if one.lateness_ms is None else (started or 0) - one.lateness_ms,
                **{name: getattr(one, name) for name in _AS_THEY_ARE},
            )
        )
        before = due
    return deflated(packed)


def deflated(values: Sequence[object]) -> bytes:
    """These values in bytes: MessagePack, compressed."""
    return _VERSION + zlib.compress(msgspec.msgpack.encode(values), 9, wbits=-15)


def inflated(packed: bytes, type: type[_T]) -> _T:
    """The values in these bytes. Raises ValueError for what `deflated` did not make."""
    if not packed.startswith(_VERSION):
        raise ValueError("another version has packed it")
    try:
        text = zlib.decompressobj(wbits=-15).decompress(packed[len(_VERSION) :], _MOST_UNPACKED)
    except zlib.error as error:
        raise ValueError("it is not compressed as duebell does it") from error
    return msgspec.msgpack.decode(text, type=type)


def unpack_occurrences(packed: bytes) -> tuple[Occurrence, ...]:
    """The occurrences in these bytes. Raises ValueError, OverflowError for what duebell did not pack."""
    latest_first, before = list[Occurrence](), 0
    for one in inflated(packed, list[_Packed])[:MAX_OCCURRENCES]:
        due = before - one.due if latest_first else one.due
        began = due + (one.started or 0)
        latest_first.append(
            Occurrence(
                due=from_milliseconds(due),
                started_at=None if one.started is None else from_milliseconds(began),
                finished_at=from_milliseconds(began + one.finished),
                lateness_ms=None if one.lag is None else _lateness((one.started or 0) - one.lag),
                **{name: getattr(one, name) for name in _AS_THEY_ARE},
            )
        )
        before = due
    return tuple(reversed(latest_first))


def to_milliseconds(instant: datetime) -> int:
    """The milliseconds since 1970."""
    return (to_utc(instant) - _EPOCH) // MILLISECOND


def from_milliseconds(milliseconds: int) -> datetime:
    """The instant so long after 1970. Raises OverflowError beyond the calendar."""
    return _EPOCH + milliseconds * MILLISECOND


def _lateness(number: int) -> int:
    if abs(number) > LARGEST:
        raise ValueError("a number is larger than any of a task")
    return number
