"""The parts of a task's lateness: what it waited for between its time and its start. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from duebell_shared.instants import MILLISECOND, ceil_to_minute

from .checks import Milliseconds

_MINUTE = timedelta(minutes=1)

#: Attempts that start sooner have no parts: nothing is stored for them.
_WORTH_TELLING = timedelta(seconds=1)

#: The rule rings at most so long after a time: it is set at least a minute ahead, and to whole minutes.
_ROUNDED_BY = 2 * _MINUTE


class Wake(NamedTuple):
    """The start of a run.

    began    when its handler was called
    rang_at  when the bell rang, as its event says; None if the run was called directly
    """

    began: datetime
    rang_at: datetime | None = None


class Lateness(msgspec.Struct, frozen=True):
    """What an attempt waited for after its time, in milliseconds.

    rounding  for the full minute that the rule was set to
    ring      for the ring, from that minute on; more than a minute if a ring was lost
    start     for the worker to start
    queue     for its turn in the run
    limit     for the limit of its action
    """

    rounding: Milliseconds = 0
    ring: Milliseconds = 0
    start: Milliseconds = 0
    queue: Milliseconds = 0
    limit: Milliseconds = 0


#: The parts in words, for a sentence.
WORDS = {
    "rounding": "until the full minute",
    "ring": "until the rule rang",
    "start": "until the worker had started",
    "queue": "until its turn in the run",
    "limit": "for the limit of its action",
}


def lateness_of(
    started: datetime, late: timedelta, wake: Wake, *, limited: timedelta = timedelta(0)
) -> Lateness | None:
    """The parts of `late`, by which the attempt was `started` after its time; None if that is under a second.

    limited  how long it waited for its action's limit
    """
    if late < _WORTH_TELLING:
        return None
    since = started - late
    left = late // MILLISECOND

    def part(duration: timedelta) -> int:
        nonlocal left
        taken = min(max(duration // MILLISECOND, 0), left)
        left -= taken
        return taken

    limit = part(limited)
    rounding = ring = start = 0
    if wake.began > since:
        if wake.rang_at and wake.rang_at > since:
            minute = wake.rang_at.replace(second=0, microsecond=0)
            # A later ring is no ring that the rule was set to at first: an earlier one was lost.
            is_first = minute - since <= _ROUNDED_BY
            rounding = part((minute if is_first else ceil_to_minute(since)) - since)
            ring = part(wake.rang_at - since - rounding * MILLISECOND)
        start = part(wake.began - since - (rounding + ring) * MILLISECOND)
    return Lateness(rounding, ring, start, left, limit)


def percentiles(parts: Sequence[Lateness]) -> dict[str, dict[str, int]]:
    """The 50th, 90th and 99th percentile of each part that is not always 0, in milliseconds."""
    found = {}
    for name in WORDS:
        values = sorted(getattr(one, name) for one in parts)
        if values and values[-1]:
            found[name] = {f"p{rank}": values[-(-len(values) * rank // 100) - 1] for rank in (50, 90, 99)}
    return found


def in_words(parts: Iterable[tuple[str, int]]) -> str:
    """These parts, each with its milliseconds: `29.0 s until the full minute, 31.2 s until the rule rang`."""
    return ", ".join(f"{ms / 1000:,.1f} s {WORDS[name]}" for name, ms in parts if ms)
