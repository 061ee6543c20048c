"""A recurring task's last occurrences in few bytes, so that its item takes one write unit. Pure.

Twenty occurrences take some 170 bytes when all is well, and 600 at most. They are one array of MessagePack,
the latest first, each as its differences from the one before it in the array: the time between two dues is
mostly that of the two before, and the lateness follows from the start. Words of failures share the bytes
that are left; equal ones are packed once.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from duebell_shared.instants import MILLISECOND, Instant, to_utc
from duebell_shared.tasks.failure import in_a_line

from .checks import LARGEST, Count, Milliseconds

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
    failure      why it failed, in a line; of several that failed, the older ones keep less of it
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
_VERSION = b"\x01"

_Part = int | str | None

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: The unusual things about an occurrence, as bits of its flags; the lowest two are its result.
_EXTRA, _MISSED, _ATTEMPTS, _FAILURE, _LATENESS = (1 << bit for bit in range(2, 7))

_RESULTS = list(Result)

#: Bytes that the length of a failure's words takes at most, beyond that of no words.
_LENGTH = 2


def bounded_occurrences(occurrences: Sequence[Occurrence], most: int = MAX_PACKED) -> tuple[Occurrence, ...]:
    """The last twenty, with as much of their failures' words as fits into `most` bytes.

    The later a failure is, the more is kept of its words. What does not fit even without words is left out,
    the oldest first: only of occurrences that took years.
    """
    latest = [
        one if one.failure is None else replace(one, failure=in_a_line(one.failure))
        for one in occurrences[-MAX_OCCURRENCES:]
    ]
    if len(pack_occurrences(latest)) <= most:
        return tuple(latest)
    while (room := _room_for_words(latest, most)) < 0 and latest:
        latest = latest[1:]
    words: dict[str, str] = {}
    wanted = _distinct_words(latest)
    for place, text in enumerate(wanted):
        share = room * 2 // (len(wanted) - place + 1)
        kept = text.encode()[:share].decode(errors="ignore")
        words[text] = kept
        room -= len(kept.encode())
    return tuple(one if one.failure is None else replace(one, failure=words[one.failure]) for one in latest)


def pack_occurrences(occurrences: Sequence[Occurrence]) -> bytes:
    """These occurrences in bytes. Times are kept to the millisecond."""
    packed, before = list[_Part](), _Before()
    words: dict[str, int] = {}
    for one in reversed(occurrences):
        packed += _pack(one, before)
        if one.failure is not None:
            packed.append(words.get(one.failure, one.failure))
            words.setdefault(one.failure, len(words))
    return _VERSION + msgspec.msgpack.encode(packed)


def unpack_occurrences(packed: bytes) -> tuple[Occurrence, ...]:
    """The occurrences in these bytes. Raises ValueError, OverflowError for what duebell did not pack."""
    if not packed.startswith(_VERSION):
        raise ValueError("another version has packed it")
    parts: Iterator[Any] = iter(msgspec.msgpack.decode(packed[len(_VERSION) :], type=list[_Part]))
    latest_first, words, before = list[Occurrence](), list[str](), _Before()
    try:
        for flags in parts:
            one = _unpack(flags, parts, before)
            if flags & _FAILURE:
                if isinstance(text := next(parts), str):
                    words.append(text)
                else:
                    text = words[text]
                one = replace(one, failure=text)
            latest_first.append(one)
    except (IndexError, StopIteration, TypeError) as error:
        raise ValueError("it ends too early, or has a part of another kind") from error
    return tuple(latest_first[MAX_OCCURRENCES - 1 :: -1])


class _Before:
    """The values that an occurrence is compared with, in milliseconds: of the one packed before it.

    due   since 1970; None at first
    step  from that one's due to the due of the one packed before it
    lag   how much later than due that one was to be started, as with a spread
    """

    due: int | None = None
    step: int = 0
    lag: int = 0

    def follow(self, due: int) -> None:
        """Have the next one compared with what is due then."""
        if self.due is not None:
            self.step = self.due - due
        self.due = due


def _pack(one: Occurrence, before: _Before) -> Iterator[_Part]:
    due, finished = _milliseconds(one.due), _milliseconds(one.finished_at)
    started = None if one.started_at is None else _milliseconds(one.started_at)
    lag = before.lag
    is_unusual = one.lateness_ms != (None if started is None else started - due - lag)
    yield (
        _RESULTS.index(one.result)
        | _EXTRA * one.extra
        | _MISSED * bool(one.missed)
        | _ATTEMPTS * (one.attempts != 1)
        | _FAILURE * (one.failure is not None)
        | _LATENESS * is_unusual
    )
    yield due if before.due is None else before.due - due - before.step
    before.follow(due)
    yield None if started is None else started - due - lag
    begun = due if started is None else started
    yield finished - begun
    if is_unusual:
        if one.lateness_ms is not None:
            before.lag = begun - due - one.lateness_ms
        yield None if one.lateness_ms is None else before.lag
    if one.missed:
        yield one.missed
    if one.attempts != 1:
        yield one.attempts


def _unpack(flags: int, parts: Iterator[Any], before: _Before) -> Occurrence:
    shift = next(parts)
    due = shift if before.due is None else before.due - before.step - shift
    before.follow(due)
    late = next(parts)
    started = None if late is None else due + before.lag + late
    begun = due if started is None else started
    finished = begun + next(parts)
    lateness = late
    if flags & _LATENESS:
        lateness = None
        if (lag := next(parts)) is not None:
            before.lag = lag
            lateness = begun - due - lag
    return Occurrence(
        due=_instant(due),
        started_at=None if started is None else _instant(started),
        finished_at=_instant(finished),
        lateness_ms=None if lateness is None else _checked(lateness),
        missed=_checked(next(parts)) if flags & _MISSED else 0,
        attempts=_checked(next(parts)) if flags & _ATTEMPTS else 1,
        result=_RESULTS[flags & 3],
        extra=bool(flags & _EXTRA),
    )


def _milliseconds(instant: datetime) -> int:
    return (to_utc(instant) - _EPOCH) // MILLISECOND


def _instant(milliseconds: int) -> datetime:
    return _EPOCH + milliseconds * MILLISECOND


def _checked(number: int) -> int:
    if abs(number) > LARGEST:
        raise ValueError("a number is larger than any of a task")
    return number


def _distinct_words(occurrences: Sequence[Occurrence]) -> list[str]:
    """The words of the failures, those of the latest first, each once."""
    return list(dict.fromkeys(one.failure for one in reversed(occurrences) if one.failure is not None))


def _room_for_words(occurrences: Sequence[Occurrence], most: int) -> int:
    """The bytes that are left for words."""
    wordless = [one if one.failure is None else replace(one, failure="") for one in occurrences]
    lengths = _LENGTH * len(_distinct_words(occurrences))
    return most - len(pack_occurrences(wordless)) - lengths
