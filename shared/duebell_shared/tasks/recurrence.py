"""The recurrence of a task: its schedule, its current occurrence, and those that wait out of order.

A recurring task is one item. It stands at one occurrence. The write that ends this occurrence also takes the
next, so the chain can neither break nor fork. An occurrence that must wait longer than the next is *pending*.
"""

import zlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

import msgspec
from msgspec.structs import replace

from duebell_shared.instants import LATEST, MILLISECOND, Instant
from duebell_shared.schedules.schedule import Schedule
from duebell_shared.tasks.history import Result

from .checks import Count

#: The widest window that tasks can be spread over.
MAX_SPREAD = timedelta(days=1)

#: The most pending occurrences: each is stored in the task's item, which holds 400 KB at most.
MAX_PENDING = 20

#: With Missed.SKIP, an occurrence that starts later than this is skipped. A rule rings up to two minutes
#: after a due date, and a run that died adds a lease.
PUNCTUAL = timedelta(minutes=5)

#: The most occurrences that Missed.ALL makes up for; the earlier ones are only counted.
_MOST_CAUGHT_UP = 100


class Missed(StrEnum):
    """The policy on occurrences that came while nothing could run.

    ONCE   the task runs once, now, for the last of them, and is told how many it missed
    ALL    it runs for each of them, in order; for the last hundred if there are more
    SKIP   it skips each that is more than five minutes late, and goes on with the next
    """

    ONCE = "once"
    ALL = "all"
    SKIP = "skip"


class Origin(StrEnum):
    """The origin of the occurrence that a task stands at.

    SCHEDULE     the schedule's next occurrence, not tried yet; the policy on missed occurrences applies to it
    RESCHEDULED  an occurrence that is retried or was moved, so that the schedule does not apply to it
    EXTRA        an occurrence by `run_now`, which is not in the schedule
    """

    SCHEDULE = "schedule"
    RESCHEDULED = "rescheduled"
    EXTRA = "extra"


class PendingOccurrence(msgspec.Struct, frozen=True, kw_only=True):
    """An occurrence that waits: its due date, its place in the queue, and its attempts so far."""

    due: Instant
    queued: Instant
    attempt: Count = 0
    origin: Origin = Origin.SCHEDULE
    missed: Count = 0


class Recurrence(msgspec.Struct, frozen=True, kw_only=True):
    """A task's schedule, and the occurrence that the task stands at. Times are UTC.

    schedule              when it recurs
    missed                the policy on occurrences that came while nothing could run
    max_runs              the number of occurrences after which it ends; None for no limit
    runs                  the number of occurrences that are over, without extra and skipped ones
    consecutive_failures  how many of these failed in a row; 0 after an extra occurrence that is done
    next_due              the schedule's next occurrence after the one that the task stands at
    origin                why it stands at that occurrence
    missed_runs           the number of missed occurrences before that occurrence, which makes up for them
    pending               occurrences that wait out of order: to be retried, moved, or extra
    declared              whether the worker's code declares it, so that `Editor.sync` changes and cancels it
    """

    schedule: Schedule
    missed: Missed = Missed.ONCE
    max_runs: Count | None = None
    runs: Count = 0
    consecutive_failures: Count = 0
    next_due: Instant | None = None
    origin: Origin = Origin.SCHEDULE
    missed_runs: Count = 0
    pending: tuple[PendingOccurrence, ...] = ()
    declared: bool = False

    @property
    def runs_left(self) -> int | None:
        """The number of occurrences left after the one that the task stands at; None for no limit."""
        if self.max_runs is None:
            return None
        return max(0, self.max_runs - self._taken - (self.origin is not Origin.EXTRA))

    @property
    def can_add_pending(self) -> bool:
        return len(self.pending) < MAX_PENDING

    def has_extra_due(self, now: datetime) -> bool:
        """Tell whether an occurrence that was asked for with `run_now` waits for its first attempt."""
        return any(
            one.origin is Origin.EXTRA and not one.attempt and one.queued <= now for one in self.pending
        )

    def with_pending(self, one: PendingOccurrence) -> Self:
        return replace(self, pending=(*self.pending, one))

    def instead_of(self, before: "Recurrence", due: datetime, now: datetime) -> Self:
        """This recurrence in place of `before`, whose task stands at `due`: it begins after `now`.

        If `before` stands at an occurrence of its schedule, and this schedule has it too, that occurrence
        stays if it has come due, or if the schedule is the same. If the task stands at a moved, retried or
        extra one, and the schedule is the same, the schedule goes on where `before` was, so that a moved
        occurrence does not come twice.
        """
        is_of_schedule = before.origin is Origin.SCHEDULE
        stays = due <= now or before.schedule == self.schedule
        if is_of_schedule and stays and self.schedule.next_after(due - MILLISECOND) == due:
            return replace(self, next_due=due)
        if not is_of_schedule and before.schedule == self.schedule:
            # An import of the calendar since may have made this day a holiday.
            after = before.next_due
            return replace(self, next_due=after and self.schedule.next_after(after - MILLISECOND))
        return replace(self, next_due=self.schedule.next_after(now))

    def take_next(self, delay: timedelta) -> tuple[PendingOccurrence | None, Self]:
        """Take the earliest occurrence: the schedule's next, `delay` after its due date, or a pending one."""
        pending = list(self.pending)
        if self.next_due and (self.max_runs is None or self._taken < self.max_runs):
            pending.append(PendingOccurrence(due=self.next_due, queued=delayed(self.next_due, delay)))
        if not pending:
            return None, self
        first = min(pending, key=lambda one: one.queued)
        taken = replace(self, origin=first.origin, missed_runs=first.missed)
        if first.origin is Origin.SCHEDULE:
            return first, replace(taken, next_due=self.schedule.next_after(first.due))
        return first, replace(taken, pending=tuple(one for one in self.pending if one is not first))

    def caught_up(self, due: datetime, until: datetime) -> tuple[datetime, Self]:
        """The due date to run, by the policy, if occurrences from `due` to `until` have passed."""
        if self.origin is not Origin.SCHEDULE or self.next_due is None or self.next_due > until:
            return due, self
        keep = 1
        if self.missed is Missed.ALL:
            keep = _MOST_CAUGHT_UP
            if self.schedule.count(due, until) < keep:
                return due, self
        kept = self.schedule.latest(due, until, keep)
        if not kept:  # a newer calendar has made `next_due` a holiday
            return due, replace(self, next_due=self.schedule.next_after(due))
        missed = self.missed_runs + self.schedule.count(due, kept[0])
        return kept[0], replace(self, missed_runs=missed, next_due=self.schedule.next_after(kept[0]))

    def concluded(self, result: Result) -> Self:
        """With the current occurrence ended. An extra one only ends a row of failures, if it is done."""
        if result is Result.SKIPPED:
            return self
        counts = self.origin is not Origin.EXTRA
        failures = self.consecutive_failures + counts if result is Result.FAILED else 0
        return replace(self, runs=self.runs + counts, consecutive_failures=failures)

    @property
    def _taken(self) -> int:
        return self.runs + sum(one.origin is not Origin.EXTRA for one in self.pending)


def delay_of(id: str, spread: timedelta) -> timedelta:
    """The delay by the spread for the task with this id, always the same."""
    if not spread:
        return spread
    share = zlib.crc32(b"spread:" + id.encode()) / 2**32
    return min(max(spread, timedelta(0)), MAX_SPREAD) * share // MILLISECOND * MILLISECOND


def delayed(due: datetime, delay: timedelta) -> datetime:
    """The due date with this delay; at most the last time that a rule can ring for."""
    return due if due >= LATEST else min(due + delay, LATEST)
