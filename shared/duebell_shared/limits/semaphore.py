"""The semaphore of a limited action: the attempts that all runs have started, in one item of the queue.

The rate is the generic cell rate algorithm ("virtual scheduling"): the item holds the time of the next start.
https://www.itu.int/rec/T-REC-I.371 annex A

A task that cannot be started is put back to a place in a line, once. If it cannot be started then either, as
when no run came in time, it gets a place in a second, short line: those that came late do not wait behind all
others. Only what is started counts for the limit; a place in a line promises nothing. So whatever dies or is
late, the limit holds, and a run that dies loses places and starts of this second, but no task.

Pure; time is an argument. A run changes the semaphore by compare-and-swap on its `rev`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Self

import msgspec
from msgspec.structs import replace

from duebell_shared.instants import FIRST, LATEST, Instant

from .limits import MOST_AT_A_TIME, Limit

_SECOND = timedelta(seconds=1)
_NONE = timedelta(0)

#: Tasks that have waited for their places so long were cancelled or moved.
_FORGOTTEN_AFTER = timedelta(days=1)


class Permits(msgspec.Struct, frozen=True):
    """The attempts that a run has under way, as far as it renews this until then."""

    count: int
    until: Instant


class Taken(NamedTuple):
    """The semaphore after a take, and for each task None if it may be started, else its place in a line."""

    semaphore: "Semaphore"
    places: tuple[datetime | None, ...]


class Semaphore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The semaphore of one action.

    next        the earliest time of the next start, by the rate alone
    line        the next free place in the line of those that come for the first time
    late        the next free place in the line of those that had a place before
    waiting     how many tasks have places and were not started, or more: some may have been cancelled
    per_second  the rate that these are of; None without one
    permits     by run, the attempts that it has under way; kept only where `at_most` limits them
    rev         the number of changes; stored beside the rest
    """

    next: Instant = FIRST
    line: Instant = FIRST
    late: Instant = FIRST
    waiting: int = 0
    per_second: float | None = None
    permits: Mapping[str, Permits] = {}
    rev: int = 0

    def take(
        self,
        limit: Limit,
        waited: Sequence[bool],
        *,
        now: datetime,
        run: str,
        until: datetime,
        takes: timedelta,
    ) -> Taken:
        """Start as many of these tasks as the limit allows, in order, and give the others places in a line.

        waited  for each task, whether it had a place before
        until   the end of the run's lease, and of its permits
        takes   how long an attempt takes, about: the others wait for permits by it
        """
        interval = _SECOND / limit.per_second if limit.per_second else _NONE
        for_permit = takes / limit.at_most if limit.at_most else _NONE
        step = max(interval, for_permit)
        semaphore = self._at_rate(limit.per_second, now, interval)
        start = max(semaphore.next, now - _burst(limit, interval))
        waiting = semaphore.waiting if max(semaphore.line, semaphore.late) > now - _FORGOTTEN_AFTER else 0
        # No line is longer than what waits: late ones that were started meanwhile have left their places.
        line, late = max(semaphore.line, now), min(max(semaphore.late, now), now + waiting * step)
        is_line_empty = semaphore.line <= now
        alive = {owner: one for owner, one in semaphore.permits.items() if one.until > now}
        mine = alive[run].count if run in alive else 0
        free = len(waited) if limit.at_most is None else limit.at_most - sum(p.count for p in alive.values())
        places: list[datetime | None] = []
        for has_waited in waited:
            if free > 0 and start <= now and (has_waited or is_line_empty):
                places.append(None)
                start += interval
                free -= 1
                mine += 1
                waiting -= has_waited and waiting > 0
                continue
            place = min(max(late if has_waited else line, start, now + for_permit), LATEST)
            places.append(place)
            if has_waited:
                late = min(place + step, LATEST)
            else:
                line, is_line_empty, waiting = min(place + step, LATEST), False, waiting + 1
        permits = _with(alive, run, mine if limit.at_most is not None else 0, until)
        started = start if limit.per_second else FIRST
        taken = replace(semaphore, next=started, line=line, late=late, waiting=waiting, permits=permits)
        return Taken(taken, tuple(places))

    def free(self, limit: Limit, *, now: datetime, run: str, under_way: int) -> int:
        """How many tasks that waited may be started now, beside those that the run has under way."""
        others = sum(one.count for owner, one in self.permits.items() if owner != run and one.until > now)
        free = MOST_AT_A_TIME if limit.at_most is None else limit.at_most - others - under_way
        if limit.per_second:
            behind = now - self.opens_at(limit, now)
            free = min(free, 0 if behind < _NONE else 1 + behind // (_SECOND / limit.per_second))
        return max(free, 0)

    def opens_at(self, limit: Limit, now: datetime) -> datetime:
        """The time of the next start by the rate alone; a past one if several may start at once.

        Now if the rate is another one: a task that comes then has the semaphore follow it.
        """
        if not limit.per_second or limit.per_second != self.per_second:
            return now
        return max(self.next, now - _burst(limit, _SECOND / limit.per_second))

    def renewed(self, run: str, count: int, *, until: datetime) -> Self:
        return replace(self, permits=_with(self.permits, run, count, until))

    def _at_rate(self, per_second: float | None, now: datetime, interval: timedelta) -> Self:
        """With the lines begun anew if the rate is another one, and without a burst."""
        if per_second == self.per_second:
            return self
        soonest = min(max(self.next, now), now + interval) if self.per_second else self.next
        return replace(self, per_second=per_second, next=soonest, line=FIRST, late=FIRST)


def _burst(limit: Limit, interval: timedelta) -> timedelta:
    """A second's worth of starts may come at once, at least one."""
    return (max(int(limit.per_second or 1), 1) - 1) * interval


def _with(permits: Mapping[str, Permits], run: str, count: int, until: datetime) -> dict[str, Permits]:
    others = {owner: one for owner, one in permits.items() if owner != run}
    return {**others, run: Permits(count, until)} if count > 0 else others
