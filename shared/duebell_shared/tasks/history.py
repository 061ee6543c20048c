"""The past of a task in few bytes: failed attempts, occurrences of a recurring task, and events. Pure.

The last failure is kept in full. Each failed attempt is kept as an event with its error in a line.
Occurrences and events are packed as MessagePack and compressed. Each time is its difference from the time
before it. Twenty occurrences take about 250 bytes when all is well, and 600 at most. A change by an editor,
or an earlier attempt, is kept only if it costs no write unit: see `with_fitting_events` in items.py.
"""

import math
import zlib
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, astuple, replace

from duebell_shared.instants import EPOCH, MILLISECOND, Instant, to_utc
from duebell_shared.tasks.checks import Count, Milliseconds

#: The failed attempts that a task remembers.
MAX_FAILURES = 10

#: The most characters of a shortened error, and the most bytes within JSON: a character takes up to six.
_ERROR_CHARACTERS, _ERROR_BYTES = 300, 600

#: The most bytes within JSON of a failure in full. All that a task keeps must fit beside the largest payload:
#: see items.py.
_TYPE_BYTES, _MESSAGE_BYTES, _TRACEBACK_BYTES = 240, 3_000, 8_000

#: Bytes that one character takes within JSON, at most: a control character is written as `\\u0000`.
_MOST_OF_ONE = 6


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an attempt failed: the exception's type, its message and the end of its traceback.

    module  the module that the type can be imported from; unset for a type of Python's or duebell's own
    """

    type: str
    message: str
    traceback: str = ""
    module: str | UnsetType = UNSET

    def __str__(self) -> str:
        return shortened_error(f"{self.type}: {self.message}")


def shortened_error(words: str) -> str:
    """The beginning of this text: as much as a task keeps of the error of an attempt."""
    return _beginning(words[:_ERROR_CHARACTERS], _ERROR_BYTES)


def bounded(failure: Failure) -> Failure:
    """The failure as a task keeps it: the beginning of its type and message, and the end of its traceback."""
    return Failure(
        type=_beginning(failure.type, _TYPE_BYTES),
        message=_beginning(failure.message, _MESSAGE_BYTES),
        traceback=_beginning(failure.traceback[::-1], _TRACEBACK_BYTES)[::-1],
        module=_beginning(failure.module, _TYPE_BYTES) if failure.module else UNSET,
    )


def _beginning(text: str, most: int) -> str:
    """The longest beginning of the text that takes at most `most` bytes within JSON."""
    text = text[:most].encode(errors="replace").decode()  # half of a surrogate pair has no UTF-8
    while (excess := len(msgspec.json.encode(text)) - len('""') - most) > 0:
        text = text[: len(text) - math.ceil(excess / _MOST_OF_ONE)]
    return text


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
    started_at   when its last attempt was started; if it was skipped, when that was decided
    finished_at  when that attempt ended
    lateness_ms  the lateness of the start of that attempt, in milliseconds
    attempts     the number of attempts
    result       done, failed or skipped
    missed       the number of missed occurrences before it, which it makes up for
    extra        whether it was asked for with `run_now`
    failure      why it failed, in a line; shorter if several failed for different reasons
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

#: The characters that are kept of each error: the first of these numbers with which all errors fit.
_ERROR_LENGTHS = (_ERROR_CHARACTERS, 120, 60, 25, 10, 0)


def bounded_occurrences(occurrences: Sequence[Occurrence]) -> tuple[Occurrence, ...]:
    """The last twenty, with as much of their failures' texts as fits into MAX_PACKED bytes.

    Occurrences that do not fit even without these texts are left out, the oldest first. Only occurrences that
    took years are so large.
    """
    kept = _with_fitting_errors(occurrences[-MAX_OCCURRENCES:], "failure", MAX_PACKED)
    while len(pack(kept)) > MAX_PACKED:
        kept = kept[1:]
    return kept


#: Events that a task remembers, and the bytes that they take at most.
MAX_EVENTS, MAX_PACKED_EVENTS = 20, 500

#: Events that are no verbs of an editor.
ADD, ATTEMPT, FORGOTTEN = "add", "attempt", "forgotten"

#: The order of events of the same moment; changes come last.
_AT_ONCE = {ADD: 0, FORGOTTEN: 1, ATTEMPT: 2}


class Lateness(msgspec.Struct, frozen=True):
    """The parts of an attempt's lateness, in milliseconds. Their sum is the lateness.

    rounding  until the full minute that the rule was set to
    ring      from that minute until the rule rang; more than a minute if a ring was lost
    start     until the worker had started
    queue     until the run came to the attempt
    limit     the wait for the limit of its action; if a run put the task back, all its lateness
    """

    rounding: Milliseconds = 0
    ring: Milliseconds = 0
    start: Milliseconds = 0
    queue: Milliseconds = 0
    limit: Milliseconds = 0


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a task. Times are UTC.

    at           when it was changed, or when the attempt was started
    what         `add`, a verb such as `move`, or `attempt`; `forgotten` stands for earlier events that had no
                 space
    by           the author of the change; None if unknown, and for an attempt
    attempt      its number, the first being 1; 0 if it is no attempt
    result       the result of the attempt: done, failed, expired, skipped, retried, snoozed or running; empty
                 for a change
    due          when the attempt's occurrence was due; None for a change
    ended_at     when the attempt ended; None if unknown
    run          id of the run that started it; None if unknown
    lateness_ms  the lateness of its start, in milliseconds; None if unknown
    lateness     the parts of the lateness; None for less than a second
    error        why it failed, in a line; shorter if space is short
    """

    at: Instant
    what: str
    by: str | None = None
    attempt: Count = 0
    result: str = ""
    due: Instant | None = None
    ended_at: Instant | None = None
    run: str | None = None
    lateness_ms: Milliseconds | None = None
    lateness: Lateness | None = None
    error: str | None = None


def bounded_events(events: Sequence[Event], most: int = MAX_PACKED_EVENTS) -> tuple[Event, ...]:
    """The last events, with as much of their errors as fits into `most` bytes; the oldest are left out."""
    kept = tuple(events)
    if len(kept) > MAX_EVENTS:
        kept = _without_oldest(kept, len(kept) - MAX_EVENTS + 1)
    kept = _with_fitting_errors(kept, "error", most)
    while kept and len(pack(kept)) > most:
        kept = _without_oldest(kept, 1 + (kept[0].what == FORGOTTEN)) if kept[1:] else ()
    return kept


def _without_oldest(events: tuple[Event, ...], count: int) -> tuple[Event, ...]:
    return (Event(at=events[count - 1].at, what=FORGOTTEN), *events[count:])


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events by time. Each attempt and the add come once: of several, the first one given is kept."""
    found = dict[object, Event]()
    for number, one in enumerate(events):
        found.setdefault((one.at, one.what, one.attempt) if one.what in _AT_ONCE else number, one)
    return tuple(sorted(found.values(), key=lambda one: (one.at, _AT_ONCE.get(one.what, 3))))


_Entry = TypeVar("_Entry", Occurrence, Event)


def _with_fitting_errors(entries: Sequence[_Entry], field: str, most: int) -> tuple[_Entry, ...]:
    """The entries, with as much of the text in this field as fits into `most` bytes."""
    kept = tuple(entries)
    for characters in _ERROR_LENGTHS:
        kept = tuple(_shortened(one, field, characters) for one in kept)
        if len(pack(kept)) <= most:
            break
    return kept


def _shortened(entry: _Entry, field: str, characters: int) -> _Entry:
    words = getattr(entry, field)
    return replace(entry, **{field: shortened_error(words)[:characters]}) if words else entry


#: The first byte, which tells the format of the other bytes.
_VERSION = b"\x03"

#: The most bytes before compression.
_MOST_UNPACKED = 64 * 1024

#: The fields of an occurrence or an event that are times.
_TIMES = {"at", "due", "started_at", "finished_at", "ended_at"}


def pack(entries: Iterable[Occurrence | Event]) -> bytes:
    """These occurrences or events in bytes. Times are kept to the millisecond.

    Each time of an entry is packed as its difference from the time before it. The first time: from the first
    of the entry before. A lateness is packed as its difference from the delay of the start: mostly 0.
    """
    rows, before = [], 0
    for one in entries:
        row, times = list[Any](), [before]
        for name, value in asdict(one).items():
            if name in _TIMES and value is not None:
                times.append((to_utc(value) - EPOCH) // MILLISECOND)
                row.append(times[-1] - times[-2])
            elif name == "lateness_ms" and value is not None:
                row.append(value - _delay(times))
            else:
                row.append(astuple(value) if isinstance(value, Lateness) else value)
        rows.append(row)
        before = times[1]
    return _VERSION + zlib.compress(msgspec.msgpack.encode(rows), 9, wbits=-15)


def unpack(packed: bytes, type: type[_Entry]) -> tuple[_Entry, ...]:
    """The first twenty of these entries. Raises ValueError, OverflowError for what duebell did not pack."""
    if not packed.startswith(_VERSION):
        raise ValueError("another version has packed it")
    try:
        text = zlib.decompressobj(wbits=-15).decompress(packed[len(_VERSION) :], _MOST_UNPACKED)
    except zlib.error as error:
        raise ValueError("it is not compressed as duebell does it") from error
    entries, before = [], 0
    for row in msgspec.msgpack.decode(text, type=list[list[Any]])[:MAX_OCCURRENCES]:
        fields, times = dict(zip(type.__struct_fields__, row, strict=True)), [before]
        for name, value in fields.items():
            if name in _TIMES and value is not None:
                times.append(times[-1] + msgspec.convert(value, int))
                fields[name] = EPOCH + times[-1] * MILLISECOND
            elif name == "lateness_ms" and value is not None:
                fields[name] = msgspec.convert(value, int) + _delay(times)
            elif name == "lateness" and value is not None:
                parts = msgspec.convert(value, list)
                fields[name] = dict(zip(Lateness.__struct_fields__, parts, strict=True))
        entries.append(fields)
        before = times[1] if times[1:] else before
    return msgspec.convert(entries, tuple[type, ...])  # type: ignore[valid-type]


def _delay(times: Sequence[int]) -> int:
    """Milliseconds between the first two times of an entry; `times` begins with one of the entry before."""
    return abs(times[2] - times[1]) if times[2:] else 0
