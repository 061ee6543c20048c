"""A recurring task's last occurrences in few bytes, so that its item takes one write unit. Pure.

Twenty occurrences take some 170 bytes when all is well, and 600 at most. They are packed the latest first,
each as what differs from the one packed before it: the time between two dues is mostly that of the two
before, and the lateness follows from the start. Words of failures share the bytes that are left; equal ones
are packed once.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from .counts import LARGEST
from .failure import in_a_line
from .instants import MILLISECOND, to_utc
from .occurrence import MAX_OCCURRENCES, Occurrence, Result
from .varints import Reader, Writer

__all__ = ["MAX_PACKED", "bounded_occurrences", "pack_occurrences", "unpack_occurrences"]

#: Bytes that a task's occurrences take at most.
MAX_PACKED = 600

#: The first byte: the form of the others.
_VERSION = 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: Most dues are whole minutes, and shorter so.
_MINUTE = timedelta(minutes=1) // MILLISECOND

#: What is unusual about an occurrence, as bits of its flags; the lowest two are its result.
_EXTRA, _MISSED, _ATTEMPTS, _FAILURE, _LATENESS, _UNSTARTED = (1 << bit for bit in range(2, 8))

_RESULTS = list(Result)

#: Bytes of the length of a failure's words, at most.
_LENGTH = 2


def bounded_occurrences(occurrences: Sequence[Occurrence], most: int = MAX_PACKED) -> tuple[Occurrence, ...]:
    """The last twenty, with as much of their failures' words as fits into so many bytes.

    The later a failure is, the more is kept of its words. What does not fit even without words is left out,
    the oldest first: only of occurrences that took years.
    """
    latest = [_in_a_line(one) for one in occurrences[-MAX_OCCURRENCES:]]
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
    packing, words, before = Writer(), list[str](), _Before()
    packing.number(_VERSION)
    for one in reversed(occurrences):
        _pack(one, packing, before)
        if one.failure is not None:
            if one.failure in words:
                packing.number(words.index(one.failure))
            else:
                packing.number(len(words))
                packing.text(one.failure.encode())
                words.append(one.failure)
    return bytes(packing.data)


def unpack_occurrences(packed: bytes) -> tuple[Occurrence, ...]:
    """The occurrences in these bytes. Raises ValueError, OverflowError for bytes that are none of ours."""
    reading, words, before = Reader(packed), list[str](), _Before()
    if reading.number() != _VERSION:
        raise ValueError("another version has packed it")
    latest_first = []
    while reading:
        flags = reading.number()
        try:
            one = _unpack(flags, reading, before)
            if flags & _FAILURE:
                if (index := reading.number()) == len(words):
                    words.append(reading.text())
                one = replace(one, failure=words[index])
        except IndexError:
            raise ValueError("it has a result, or words, that are not there") from None
        latest_first.append(one)
    return tuple(latest_first[MAX_OCCURRENCES - 1 :: -1])


class _Before:
    """What an occurrence is compared with, in milliseconds: of the one that was packed before it.

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


def _pack(one: Occurrence, packing: Writer, before: _Before) -> None:
    due, finished = _milliseconds(one.due), _milliseconds(one.finished_at)
    started = None if one.started_at is None else _milliseconds(one.started_at)
    lag = before.lag
    lateness = None if started is None else started - due - lag
    is_unusual = one.lateness_ms != lateness
    packing.number(
        _RESULTS.index(one.result)
        | _EXTRA * one.extra
        | _MISSED * bool(one.missed)
        | _ATTEMPTS * (one.attempts != 1)
        | _FAILURE * (one.failure is not None)
        | _LATENESS * is_unusual
        | _UNSTARTED * (started is None)
    )
    _pack_time(due if before.due is None else before.due - due - before.step, packing)
    before.follow(due)
    if started is not None:
        packing.signed(started - due - lag)
    packing.signed(finished - (due if started is None else started))
    if is_unusual:
        packing.number(one.lateness_ms is not None)
        if one.lateness_ms is not None:
            before.lag = (due if started is None else started) - due - one.lateness_ms
            packing.signed(before.lag)
    if one.missed:
        packing.number(one.missed)
    if one.attempts != 1:
        packing.number(one.attempts)


def _unpack(flags: int, reading: Reader, before: _Before) -> Occurrence:
    shift = _unpack_time(reading)
    due = shift if before.due is None else before.due - before.step - shift
    before.follow(due)
    lag = before.lag
    started = None if flags & _UNSTARTED else due + lag + reading.signed()
    finished = (due if started is None else started) + reading.signed()
    lateness = None if started is None else started - due - lag
    if flags & _LATENESS:
        lateness = None
        if reading.number():
            before.lag = reading.signed()
            lateness = (due if started is None else started) - due - before.lag
    return Occurrence(
        due=_instant(due),
        started_at=None if started is None else _instant(started),
        finished_at=_instant(finished),
        lateness_ms=None if lateness is None else _checked(lateness),
        missed=_checked(reading.number()) if flags & _MISSED else 0,
        attempts=_checked(reading.number()) if flags & _ATTEMPTS else 1,
        result=_RESULTS[flags & 3],
        extra=bool(flags & _EXTRA),
    )


def _pack_time(milliseconds: int, packing: Writer) -> None:
    """Write a time in minutes if it is a number of whole ones; its lowest bit says so."""
    minutes, rest = divmod(milliseconds, _MINUTE)
    packing.signed(milliseconds * 2 + 1 if rest else minutes * 2)


def _unpack_time(reading: Reader) -> int:
    time = reading.signed()
    return time // 2 if time % 2 else time // 2 * _MINUTE


def _milliseconds(instant: datetime) -> int:
    return (to_utc(instant) - _EPOCH) // MILLISECOND


def _instant(milliseconds: int) -> datetime:
    return _EPOCH + milliseconds * MILLISECOND


def _checked(number: int) -> int:
    if abs(number) > LARGEST:
        raise ValueError("a number is larger than any of a task")
    return number


def _in_a_line(one: Occurrence) -> Occurrence:
    return one if one.failure is None else replace(one, failure=in_a_line(one.failure))


def _distinct_words(occurrences: Sequence[Occurrence]) -> list[str]:
    """The words of the failures, those of the latest first, each once."""
    return list(dict.fromkeys(one.failure for one in reversed(occurrences) if one.failure is not None))


def _room_for_words(occurrences: Sequence[Occurrence], most: int) -> int:
    """How many of the bytes are left for words."""
    wordless = [one if one.failure is None else replace(one, failure="") for one in occurrences]
    lengths = _LENGTH * len(_distinct_words(occurrences))
    return most - len(pack_occurrences(wordless)) - lengths
