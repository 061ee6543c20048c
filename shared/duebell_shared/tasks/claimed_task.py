"""A task that a run has claimed, until its attempt is over. Values and pure functions only."""

from datetime import datetime
from typing import Self

from msgspec.structs import replace

from duebell_shared.instants import MILLISECOND, to_utc

from .failure import attempts_left_running, latest
from .recurrence import Turn
from .status import Status
from .task_state import TaskState

__all__ = ["ClaimedTask"]


class ClaimedTask(TaskState, frozen=True, kw_only=True, dict=True):
    """The changes of a task by a run that has claimed it, before the attempt or instead of it."""

    def caught_up(self) -> Self:
        """The task just claimed, at the occurrence to run, as others may have passed meanwhile."""
        if self.started_at is None:
            return self
        if self.recurrence is None or self.recurrence.turn is not Turn.IN_LINE:
            return self if self.limited_since is None else self._late_since(self.limited_since)
        due, recurrence = self.recurrence.caught_up(self.due, self.started_at - self._delay)
        at_due = replace(self, due=due, recurrence=recurrence)
        return at_due._late_since(self._delayed(due))  # noqa: SLF001 - of the same class

    def left_running(self) -> Self:
        """The task just claimed from a run that died: with the attempts that were lost.

        If it failed before and those failures are not stored, only its last attempt counts as lost.
        """
        numbers = [one.attempt for one in self.failures if one.due == self.due]
        known = numbers[-1] if numbers else self.attempt - 2 if self.failure else 0
        lost = attempts_left_running(self.due, known, self.attempt)
        return replace(self, failures=latest((*self.failures, *lost)))

    def beginning(self, last: int) -> Self:
        """The task just claimed, with its last attempt recorded as begun.

        Claims of runs that died before they began it are not counted. What waited for its action's limit
        says so still: if this run dies, its place tells nothing.
        """
        return self._changed(attempt=last, begun=last, limited_since=self.limited_since)

    def given_back(self) -> Self:
        """The task just claimed as if it had not been: its attempt was not begun."""
        return self._changed(
            status=Status.SCHEDULED, attempt=self.attempt - 1, limited_since=self.limited_since
        )

    def held_back(self, until: datetime) -> Self:
        """The task just claimed, to wait until then for its action's limit. The attempt does not count.

        An occurrence in line stays in line: those of its schedule that pass meanwhile are missed ones.
        """
        since = self.limited_since or self.queued
        held = self._changed(
            status=Status.SCHEDULED, queued=to_utc(until), attempt=self.attempt - 1, limited_since=since
        )
        if self.recurrence is None or self.recurrence.turn is Turn.IN_LINE:
            return held
        seated = held._requeued(to_utc(until))  # noqa: SLF001 - of the same class
        is_same = (seated.due, seated.queued) == (held.due, held.queued)
        return seated if is_same else replace(seated, limited_since=None)

    def _late_since(self, since: datetime) -> Self:
        """With its lateness from then on."""
        started_at = self.started_at or since
        return replace(self, lateness_ms=round((started_at - since) / MILLISECOND))
