"""The recurrence of a task: its schedule, its place in that, and the occurrences that wait out of order.

A recurring task is one item. It stands at one occurrence, and when that is over it takes the next by the same
write: the chain can neither break nor fork. An occurrence that must wait longer than the next is put *aside*.
"""

import zlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Self

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from duebell_shared.instants import LATEST, MILLISECOND, Instant
from duebell_shared.schedules.schedule import Schedule
from duebell_shared.tasks.packed_occurrences import Result

from .checks import Count

#: The widest window that tasks can be spread over.
MAX_SPREAD = timedelta(days=1)

#: Occurrences that can wait aside; each is kept on the task, and a task is one item of 400 KB.
MAX_ASIDE = 20

#: With Missed.SKIP, an occurrence that starts later than this is skipped. A rule rings up to two minutes
#: after a due date, and a run that died delays by a lease more.
PUNCTUAL = timedelta(minutes=5)

#: The most occurrences that Missed.ALL makes up for; the earlier ones are only counted.
_MOST_CAUGHT_UP = 100


class Missed(StrEnum):
    """The policy on occurrences that passed while nothing could run.

    ONCE   the task runs once, now, for the last of them, and is told how many it missed
    ALL    it runs for each of them, in order; for the last hundred if there are more
    SKIP   it runs for none that is more than five minutes late, and goes on with the next
    """

    ONCE = "once"
    ALL = "all"
    SKIP = "skip"


class Turn(StrEnum):
    """The reason why a task stands at its occurrence.

    IN_LINE  the schedule's next, not tried yet; the policy on missed ones applies to it
    ALONE    one that is retried, or was moved, so that the schedule does not apply to it
    EXTRA    asked for with `run_now`; it is none of the schedule's
    """

    IN_LINE = "in_line"
    ALONE = "alone"
    EXTRA = "extra"


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """An occurrence to come: when it is due, when it is looked at, its attempts and snoozes so far."""

    due: Instant
    queued: Instant
    attempt: Count = 0
    turn: Turn = Turn.IN_LINE
    missed: Count = 0
    snoozes: Count | UnsetType = UNSET


class Next(NamedTuple):
    seat: Seat | None
    recurrence: "Recurrence"


class Recurrence(msgspec.Struct, frozen=True, kw_only=True):
    """A task's schedule, and where in it the task stands. Times are UTC.

    schedule              when it recurs
    missed                the policy on occurrences that passed while nothing could run
    max_runs              the number of occurrences after which it ends; None for no limit
    runs                  occurrences that are over, neither extra nor skipped ones counted
    consecutive_failures  how many of the last of these failed in a row; 0 after an extra one that is done
    next_due              the schedule's next occurrence after the one that the task stands at
    turn                  why it stands at that one
    missed_runs           how many occurrences before that one were missed; it makes up for them
    aside                 occurrences that wait beside: to be retried, moved, or extra
    declared              whether the worker's code declares it, so that `Editor.sync` changes and cancels it
    """

    schedule: Schedule
    missed: Missed = Missed.ONCE
    max_runs: Count | None = None
    runs: Count = 0
    consecutive_failures: Count = 0
    next_due: Instant | None = None
    turn: Turn = Turn.IN_LINE
    missed_runs: Count = 0
    aside: tuple[Seat, ...] = ()
    declared: bool = False

    @property
    def runs_left(self) -> int | None:
        """The schedule's occurrences after the one that the task stands at; None for no limit."""
        if self.max_runs is None:
            return None
        return max(0, self.max_runs - self._begun - (self.turn is not Turn.EXTRA))

    @property
    def has_room(self) -> bool:
        return len(self.aside) < MAX_ASIDE

    def has_extra_due(self, now: datetime) -> bool:
        """Tell whether an occurrence that was asked for with `run_now` waits aside for its first attempt."""
        return any(seat.turn is Turn.EXTRA and not seat.attempt and seat.queued <= now for seat in self.aside)

    def put_aside(self, seat: Seat) -> Self:
        return replace(self, aside=(*self.aside, seat))

    def instead_of(self, before: "Recurrence | None", due: datetime, now: datetime) -> Self:
        """In place of `before`, which stands at `due`: at this schedule's first occurrence from now on.

        An occurrence in line at `due` stays if this schedule has it, too. If the schedule is the same, it
        goes on where `before` was, so that an occurrence that was moved does not come twice.
        """
        is_in_line = before is not None and before.turn is Turn.IN_LINE
        if is_in_line and self.schedule.next_after(due - MILLISECOND) == due:
            return replace(self, next_due=due)
        if before is not None and not is_in_line and before.schedule == self.schedule:
            return replace(self, next_due=before.next_due)
        return replace(self, next_due=self.schedule.first(now))

    def take_next(self, delay: timedelta) -> Next:
        """Take the earliest occurrence: the schedule's next, `delay` after its due date, or one set aside."""
        seats = list(self.aside)
        if self.next_due and not self._is_used_up:
            seats.append(Seat(due=self.next_due, queued=delayed(self.next_due, delay)))
        if not seats:
            return Next(None, self)
        first = min(seats, key=lambda seat: seat.queued)
        taken = replace(self, turn=first.turn, missed_runs=first.missed)
        if first.turn is Turn.IN_LINE:
            return Next(first, replace(taken, next_due=self.schedule.next_after(first.due)))
        return Next(first, replace(taken, aside=tuple(seat for seat in self.aside if seat is not first)))

    def caught_up(self, due: datetime, until: datetime) -> tuple[datetime, Self]:
        """The due date to run, by the policy, when `due` and others up to `until` have passed."""
        if self.turn is not Turn.IN_LINE or self.next_due is None or self.next_due > until:
            return due, self
        keep = 1
        if self.missed is Missed.ALL:
            keep = _MOST_CAUGHT_UP
            if self.schedule.count(due, until) < keep:
                return due, self
        kept = self.schedule.latest(due, until, keep)
        missed = self.missed_runs + self.schedule.count(due, kept[0])
        return kept[0], replace(self, missed_runs=missed, next_due=self.schedule.next_after(kept[0]))

    def concluded(self, result: Result) -> Self:
        """With the occurrence that the task stands at over. An extra one counts only as a success."""
        if result is Result.SKIPPED:
            return self
        counts = self.turn is not Turn.EXTRA
        failures = self.consecutive_failures + counts if result is Result.FAILED else 0
        return replace(self, runs=self.runs + counts, consecutive_failures=failures)

    @property
    def _begun(self) -> int:
        return self.runs + sum(seat.turn is not Turn.EXTRA for seat in self.aside)

    @property
    def _is_used_up(self) -> bool:
        return self.max_runs is not None and self._begun >= self.max_runs


def delay_of(id: str, spread: timedelta) -> timedelta:
    """The delay by the spread for the task with this id, always the same."""
    if not spread:
        return spread
    share = zlib.crc32(b"spread:" + id.encode()) / 2**32
    return min(max(spread, timedelta(0)), MAX_SPREAD) * share // MILLISECOND * MILLISECOND


def delayed(due: datetime, delay: timedelta) -> datetime:
    """The due date with this delay; at most the last time that a rule can ring for."""
    return due if due >= LATEST else min(due + delay, LATEST)
