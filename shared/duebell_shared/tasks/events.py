"""The events of a task, in few bytes: changes by editors, and earlier attempts. Pure.

The last attempt, the last failures and the occurrences have fields of their own. An event is kept only if it
costs no write unit: see `with_fitting_events` in item_size.py.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import astuple, replace

from duebell_shared.instants import Instant

from .checks import Count, Milliseconds
from .packed_occurrences import deflated, from_milliseconds, inflated, to_milliseconds

#: Events that a task remembers, and the bytes that they take at most.
MAX_EVENTS, MAX_PACKED_EVENTS = 20, 500

#: Characters that are kept of each error: the first number with which all fit.
_WORDS = (120, 60, 25, 0)

#: Events that are no verbs of an editor.
ADD, ATTEMPT, FORGOTTEN = "add", "attempt", "forgotten"

#: The order of events of the same moment; changes come last.
_AT_ONCE = {ADD: 0, FORGOTTEN: 1, ATTEMPT: 2}

#: The fields that are packed as they are.
_AS_THEY_ARE = ("what", "by", "attempt", "result", "run", "lateness_ms", "error")


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
    attempt      which one it was, the first being 1; 0 if it is none
    result       the result of the attempt: done, failed, expired, retried, snoozed or running; empty if it is
                 none
    due          when its occurrence was due; None unless the task recurs
    ended_at     when the attempt ended; None if unknown
    run          id of the run that started it; None if unknown
    lateness_ms  how late it was started, in milliseconds; None if unknown
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


class _Packed(msgspec.Struct, frozen=True, array_like=True):
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
    for words in _WORDS:
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
    packed, before = list[_Packed](), 0
    for one in events:
        at = to_milliseconds(one.at)
        packed.append(
            _Packed(
                at=at - before,
                took=None if one.ended_at is None else to_milliseconds(one.ended_at) - at,
                lateness=astuple(one.lateness) if one.lateness else None,
                **{name: getattr(one, name) for name in _AS_THEY_ARE},
            )
        )
        before = at
    return deflated(packed)


def unpack_events(packed: bytes) -> tuple[Event, ...]:
    """The events in these bytes. Raises ValueError, OverflowError for what duebell did not pack."""
    events, at = list[Event](), 0
    for one in inflated(packed, list[_Packed])[:MAX_EVENTS]:
        at += one.at
        events.append(
            Event(
                at=from_milliseconds(at),
                ended_at=None if one.took is None else from_milliseconds(at + one.took),
                lateness=None if one.lateness is None else Lateness(*one.lateness[:5]),
                **{name: getattr(one, name) for name in _AS_THEY_ARE},
            )
        )
    return tuple(events)
