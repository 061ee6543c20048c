"""The past of a task in few bytes: failures, occurrences of one that recurs, and events. Pure.

The last failure is kept in full, and those before it in short. Occurrences and events are packed as
MessagePack, each entry as its differences from the one before it, and compressed. Twenty occurrences take
some 200 bytes when all is well, and 600 at most. An event, a change by an editor or an earlier attempt, is
kept only if it costs no write unit: see `with_fitting_events` in items.py.
"""

import math
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple, replace

from duebell_shared.instants import EPOCH, MILLISECOND, Instant, to_utc
from duebell_shared.tasks.checks import LARGEST, Count, Milliseconds

#: The failed attempts that a task remembers.
_REMEMBERED = 10

_MOST_WORDS = 300

#: Characters of an error's type and message that are kept in short.
_MOST_TYPE, _MOST_MESSAGE = 80, 200

#: The same in bytes as they are stored, within JSON, where a character takes up to six; and in full, with
#: its traceback. All that a task remembers must fit beside the largest payload: see items.py.
_TYPE_BYTES, _MESSAGE_BYTES = 160, 500
_FULL_TYPE_BYTES, _FULL_MESSAGE_BYTES, _TRACEBACK_BYTES = 240, 3_000, 8_000
_WORDS_BYTES = 600

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
        return in_a_line(f"{self.type}: {self.message}")


class FailedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that failed, in short. Times are UTC.

    due          when its occurrence was due: the task's own due date, unless it recurs
    attempt      its number, the first being 1
    started_at   when it was started; None if its run left it running, for the next start has taken its place
    finished_at  when it failed; None if its run left it running
    type         the type of the error, its first 80 characters; WorkerDied if its run left it running
    message      the error's message, its first 200 characters; fewer if they take 500 bytes
    """

    due: Instant
    attempt: Count
    started_at: Instant | None = None
    finished_at: Instant | None = None
    type: str
    message: str


def in_short(
    failure: Failure,
    due: datetime,
    attempt: int,
    started_at: datetime | None = None,
    finished_at: datetime | None = None,
) -> FailedAttempt:
    return FailedAttempt(
        due=due,
        attempt=attempt,
        started_at=started_at,
        finished_at=finished_at,
        **_short(failure.type, failure.message),
    )


def in_a_line(words: str) -> str:
    """The beginning of these words, as an occurrence that failed is remembered with."""
    return _beginning(words[:_MOST_WORDS], _WORDS_BYTES)


def bounded(failure: Failure) -> Failure:
    """The failure as a task keeps it: the beginning of its words, and the end of its traceback."""
    return Failure(
        type=_beginning(failure.type, _FULL_TYPE_BYTES),
        message=_beginning(failure.message, _FULL_MESSAGE_BYTES),
        traceback=_beginning(failure.traceback[::-1], _TRACEBACK_BYTES)[::-1],
        module=_beginning(failure.module, _FULL_TYPE_BYTES) if failure.module else UNSET,
    )


_LEFT_RUNNING = Failure(
    type="WorkerDied",
    message="its run left it running: the process ended, or could not write the outcome",
)


def attempts_left_running(due: datetime, known: int, until: int) -> Iterable[FailedAttempt]:
    """The attempts after `known` and before `until`, whose outcomes were not written."""
    for number in range(max(known + 1, until - _REMEMBERED), until):
        yield in_short(_LEFT_RUNNING, due, number)


def latest(attempts: Iterable[FailedAttempt]) -> tuple[FailedAttempt, ...]:
    return tuple(attempts)[-_REMEMBERED:]


def bounded_attempts(attempts: Iterable[FailedAttempt]) -> tuple[FailedAttempt, ...]:
    """The last attempts, each no longer than a task keeps it: another version may have kept more."""
    return tuple(replace(one, **_short(one.type, one.message)) for one in latest(attempts))


def _short(type: str, message: str) -> dict[str, str]:
    return {
        "type": _beginning(type[:_MOST_TYPE], _TYPE_BYTES),
        "message": _beginning(message[:_MOST_MESSAGE], _MESSAGE_BYTES),
    }


def _beginning(text: str, most: int) -> str:
    """As many of the text's characters as take no more bytes than this within JSON."""
    text = text[:most].encode(errors="replace").decode()  # half of a surrogate pair has no UTF-8
    while (excess := len(msgspec.json.encode(text)) - len('""') - most) > 0:
        text = text[: len(text) - math.ceil(excess / _MOST_OF_ONE)]
    return text


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
    lateness_ms  the lateness of the start of that attempt, in milliseconds
    attempts     the number of attempts
    result       done, failed or skipped
    missed       the number of missed occurrences before it, which it stands for
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

    Occurrences that do not fit even without words are left out, the oldest first. Only occurrences that took
    years are so large.
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
    return (to_utc(instant) - EPOCH) // MILLISECOND


def from_milliseconds(milliseconds: int) -> datetime:
    """The instant so long after 1970. Raises OverflowError beyond the calendar."""
    return EPOCH + milliseconds * MILLISECOND


def _lateness(number: int) -> int:
    if abs(number) > LARGEST:
        raise ValueError("a number is larger than any of a task")
    return number


#: Events that a task remembers, and the bytes that they take at most.
MAX_EVENTS, MAX_PACKED_EVENTS = 20, 500

#: Characters that are kept of each error: the first number with which all fit.
_CHARACTERS = (120, 60, 25, 0)

#: Events that are no verbs of an editor.
ADD, ATTEMPT, FORGOTTEN = "add", "attempt", "forgotten"

#: The order of events of the same moment; changes come last.
_AT_ONCE = {ADD: 0, FORGOTTEN: 1, ATTEMPT: 2}

#: The fields that are packed as they are.
_PACKED_AS_THEY_ARE = ("what", "by", "attempt", "result", "run", "lateness_ms", "error")


class Lateness(msgspec.Struct, frozen=True):
    """The parts of an attempt's lateness, in milliseconds. They add up to it.

    rounding  until the full minute that the rule was set to
    ring      from that minute until the rule rang; more than a minute if a ring was lost
    start     until the worker had started
    queue     until the attempt's turn in the run
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
    what         `add`, a verb such as `move`, or `attempt`; `forgotten` stands for earlier ones that had no
                 space
    by           the author of the change; None if unknown, and for an attempt
    attempt      its number, the first being 1; 0 if it is no attempt
    result       the result of the attempt: done, failed, expired, retried, snoozed or running; empty if it is
                 none
    due          when its occurrence was due; None unless the task recurs
    ended_at     when the attempt ended; None if unknown
    run          id of the run that started it; None if unknown
    lateness_ms  the lateness of its start, in milliseconds; None if unknown
    lateness     the parts of that; None for less than a second
    error        why it failed, in a line; less of it if space is short
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


class _PackedEvent(msgspec.Struct, frozen=True, array_like=True):
    """An event. `at` is in milliseconds after the one before it, and `took` after its own `at`."""

    at: int
    what: str
    by: str | None
    attempt: Count
    result: str
    took: int | None
    run: str | None
    lateness_ms: Milliseconds | None
    lateness: tuple[Milliseconds, ...] | None
    error: str | None


def bounded_events(events: Sequence[Event], most: int = MAX_PACKED_EVENTS) -> tuple[Event, ...]:
    """The last events, with as much of their errors as fits into so many bytes; the oldest are left out."""
    kept = tuple(events)
    if len(kept) > MAX_EVENTS:
        kept = _without_oldest(kept, len(kept) - MAX_EVENTS + 1)
    for words in _CHARACTERS:
        kept = tuple(replace(one, error=one.error[:words]) if one.error else one for one in kept)
        if len(pack_events(kept)) <= most:
            return kept
    while kept and len(pack_events(kept)) > most:
        kept = _without_oldest(kept, 1 + (kept[0].what == FORGOTTEN)) if kept[1:] else ()
    return kept


def _without_oldest(events: tuple[Event, ...], count: int) -> tuple[Event, ...]:
    return (Event(at=events[count - 1].at, what=FORGOTTEN), *events[count:])


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events by time, each attempt and the add once: the first one given counts."""
    found = dict[object, Event]()
    for number, one in enumerate(events):
        found.setdefault((one.at, one.what, one.attempt) if one.what in _AT_ONCE else number, one)
    return tuple(sorted(found.values(), key=lambda one: (one.at, _AT_ONCE.get(one.what, 3))))


def pack_events(events: Iterable[Event]) -> bytes:
    """These events in bytes. Times are kept to the millisecond."""
    packed, before = list[_PackedEvent](), 0
    for one in events:
        at = to_milliseconds(one.at)
        packed.append(
            _PackedEvent(
                at=at - before,
                took=None if one.ended_at is None else to_milliseconds(one.ended_at) - at,
                lateness=astuple(one.lateness) if one.lateness else None,
                **{name: getattr(one, name) for name in _PACKED_AS_THEY_ARE},
            )
        )
        before = at
    return deflated(packed)


def unpack_events(packed: bytes) -> tuple[Event, ...]:
    """The events in these bytes. Raises ValueError, OverflowError for what duebell did not pack."""
    events, at = list[Event](), 0
    for one in inflated(packed, list[_PackedEvent])[:MAX_EVENTS]:
        at += one.at
        events.append(
            Event(
                at=from_milliseconds(at),
                ended_at=None if one.took is None else from_milliseconds(at + one.took),
                lateness=None if one.lateness is None else Lateness(*one.lateness[:5]),
                **{name: getattr(one, name) for name in _PACKED_AS_THEY_ARE},
            )
        )
    return tuple(events)
