"""A task, and the changes of it that editors and runs make. Values and pure functions only."""

from datetime import datetime, timedelta
from typing import Self

from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import MILLISECOND, MOST_SKEW, render, to_utc
from duebell_shared.keeping import Keeping
from duebell_shared.quoting import quoted

from .claimed_task import ClaimedTask
from .failure import FailedAttempt, Failure, bounded
from .fields import STORED, checked
from .follow_up import check_follow_ups
from .given import check_due
from .recurrence import (
    Recurrence,
    Result,
    Seat,
    Turn,
)
from .status import Status
from .task_state import QueueKey, queue_key
from .verbs import Verb

__all__ = ["FailedAttempt", "Failure", "QueueKey", "Status", "Task", "queue_key"]

#: A time to live is in whole seconds: rounded up by this, it is none too early.
_ALMOST_A_SECOND = timedelta(seconds=1) - MILLISECOND


class Task(ClaimedTask, frozen=True, kw_only=True, dict=True):
    """One task, as it was when it was read. All times are UTC, in whole milliseconds.

    id           the user's own, or generated; stable for the task's life
    lane         the partition of the queue that the id's hash puts it in
    action       name of the action that handles it
    due          when it shall run; the nominal date, which retries do not change
    payload_json the payload as JSON text; `payload` is the value
    status       waiting, running, or how it ended: see Status
    queued       when the worker shall next look at it: when it is due, or was added if that was later, or
                 when it is retried; None once it is finished, or while paused
    priority     0 to 9: of what waits, higher ones go first; retries keep it
    attempt      how many attempts have been claimed by runs
    begun        the last attempt that its action allows, recorded just before it is made; None until then, so
                 that a claim of a run that died does not count as that attempt
    snoozes      how often its action has put this occurrence off with Snooze; such attempts do not count
    limited_since  since when it waits only because its action is limited or paused; None if it does not
    rev          counts the changes; every change is conditional on it
    created_at   when it was added
    started_at   when the last attempt was started
    finished_at  when it was done, failed for good or cancelled
    run          id of the run that started the last attempt
    lateness_ms  how long after `queued` the last attempt was started, in milliseconds
    failure      why the last attempt failed; of a recurring task, until an occurrence is done
    failures     the failed attempts of the occurrence that was tried last, and of those that wait aside to be
                 retried; the last ten, the latest at the end. None of those before a move or a retry
    expires_at   when its history is deleted (by DynamoDB, within days of it); so is a reserved task that
                 nothing has confirmed by then
    reserved_until  how long the transaction that confirms it has time; of a reserved task only
    reservation  the name of its reservation; of a reserved task, and of one that was cancelled as such
    unlisted     whether it is found by its id only when it has ended and did not fail: see History
    payload_dropped  bytes of the payload that it had until it was done and that was too large to be kept
    changed_by   who added it or changed it last, by an editor; None if unknown. Runs leave it as it is
    intake       the mark of the last message of the intake queue that changed it; None if none has
    on_failed    the action of the task that is added when this one has failed for good; None for that of its
                 action, if it has one, and empty for none
    then         the task that is added when this one is done
    owes         the follow-up, by `on_failed` or `then`, that is being added. Meanwhile the task stays in the
                 queue, and cannot be changed
    follow_up_error  why the last follow-up could not be added; while the task owes one, why the last try
                 failed

    spread         it is looked at up to so much after it is due, always the same for the same id
    expires_after  when it cannot be started within so much of its time, it expires instead of running late
    recurrence     how it recurs and where in that it stands; None for a task that runs once. `due`, `attempt`
                   and the like are then those of the occurrence that it stands at
    occurrences    a recurring task's last twenty that are over, the latest at the end
    """

    def __repr__(self) -> str:
        """One short line for logs and consoles: no payload and no traceback, which may be long or secret."""
        return (
            f"Task(id={quoted(self.id)}, action={quoted(self.action)}, status={quoted(self.status.value)}, "
            f"due={quoted(render(self.due))}, attempt={self.attempt}, rev={self.rev})"
        )

    # Changes by editors. Each returns the changed task, or raises TaskConflict.

    def moved(self, due: datetime | timedelta, *, now: datetime) -> Self:
        """Due at another time, with all attempts to come; of a recurring task, this occurrence only.

        A running attempt's outcome no longer applies. An occurrence that runs is not moved: the next would
        overlap it.
        """
        self._must_allow(Verb.MOVE)
        due = check_due(due, now)
        if self.recurrence and self.recurrence.turn is Turn.IN_LINE:
            self._check_room("move an occurrence of", self.recurrence)
        if self.recurrence is None and self.status is not Status.PAUSED:
            return self._scheduled(max(self._delayed(due), now), due=due)
        others = tuple(one for one in self.failures if one.due != self.due)
        alone = self._with_turn(Turn.ALONE)
        moved = self._changed(due=due, attempt=0, snoozes=0, failure=None, failures=others, recurrence=alone)
        if self.status is Status.PAUSED:
            return moved
        return moved._requeued(max(self._delayed(due), to_utc(now)))

    def updated(self, *, now: datetime, **given: object) -> Self:
        """With other values of fields that are kept on the task; a failed task too, to be retried.

        With another spread, an attempt that was not tried yet waits accordingly.
        """
        self._must_allow(Verb.UPDATE)
        changes = {STORED[name]: checked(name, value) for name, value in given.items()}
        # Another action has limits of its own. The place in the line, or where the task was parked, may be a
        # day ahead.
        if self.limited_since:
            is_other = changes.get("action", self.action) != self.action
            changes["queued" if is_other else "limited_since"] = self.limited_since
        changed = self._changed(**changes)
        changed.check_fields()
        return changed._spread_over(now) if "spread" in changes else changed

    def _spread_over(self, now: datetime) -> Self:
        """With a new spread: what waits to be tried for the first time is looked at accordingly."""
        if self.queued is None or self.attempt or self.snoozes:
            return self
        if self.recurrence is None:
            return replace(self, queued=max(self._delayed(self.due), to_utc(now)), limited_since=None)
        is_in_line = self.recurrence.turn is Turn.IN_LINE
        return replace(self._requeued(self.queued) if is_in_line else self, limited_since=None)

    def check_fields(self) -> None:
        """Raise InvalidTask for fields that do not go together."""
        if self.expires_after is not None and self.recurrence:
            raise InvalidTask(
                "expires_after",
                "goes without a schedule",
                way_out="there, missed='skip' passes over what is late",
                code="schedule-expires",
            )
        check_follow_ups(self.id, self.on_failed, self.then)

    def rescheduled(self, recurrence: Recurrence, *, now: datetime) -> Self:
        """With another schedule, or other rules for it, from now on.

        An occurrence of the old schedule that was not tried yet gives way to the new one's first, unless it
        is one of its too. One that is to be retried, was snoozed or moved, or is extra stays; so does the
        retry of a task that ran once until now.
        """
        self._must_be("reschedule", (Status.SCHEDULED, Status.PAUSED))
        recurrence = recurrence.instead_of(self.recurrence, self.due, now)
        is_retry = self.recurrence is None and (self.attempt > 0 or self.snoozes > 0)
        if is_retry or (self.recurrence and self.recurrence.turn is not Turn.IN_LINE):
            recurrence = recurrence.put_aside(self._seat(self.queued or self._delayed(self.due)))
        seated = self._changed(recurrence=recurrence, expires_after=None)._at_next()
        if seated is None:
            raise InvalidTask("schedule", "leaves nothing to run: it is over, or has run as often as it may")
        return replace(seated, status=Status.PAUSED, queued=None) if self.queued is None else seated

    def run_now(self, *, now: datetime) -> Self:
        """A recurring task once more, now, beside its schedule; one that runs once, now, not when due.

        A recurring task that waits to be run once more already stays as it is.
        """
        self._must_allow(Verb.RUN_NOW)
        if self.recurrence is None:
            return self._scheduled(now, due=to_utc(now))
        is_extra = self.recurrence.turn is Turn.EXTRA and not self.attempt
        soon = now + MOST_SKEW
        if self.recurrence.has_extra_due(soon) or (is_extra and self.queued and self.queued <= soon):
            return self  # the call was made before, or is not needed
        self._check_room("run once more", self.recurrence)
        extra = Seat(due=to_utc(now), queued=to_utc(now), turn=Turn.EXTRA)
        with_extra = self._changed(recurrence=self.recurrence.put_aside(extra))
        return with_extra._requeued(self.queued or self.due)

    def reserved(self, reservation: str, *, until: datetime) -> Self:
        """The new task, not to be run unless a transaction confirms this reservation.

        Clocks may be a minute apart. So it counts as expired only so long after `until`, by any clock.
        """
        expires_at = (to_utc(until) + MOST_SKEW + _ALMOST_A_SECOND).replace(microsecond=0)
        return replace(
            self,
            status=Status.RESERVED,
            reservation=reservation,
            reserved_until=to_utc(until),
            expires_at=expires_at,
        )

    def confirmed(self) -> Self:
        """The reserved task, now to be run. `queued` stays: the rule rings for it already."""
        self._must_be("confirm", (Status.RESERVED,))
        return self._changed(status=Status.SCHEDULED, reservation=None, reserved_until=None, expires_at=None)

    def cancelled(self, *, now: datetime, keep: Keeping) -> Self:
        """Never to run; a running attempt is not stopped, but its outcome no longer applies."""
        self._must_allow(Verb.CANCEL)
        return self._finished(Status.CANCELLED, now=now, keep=keep, reserved_until=None)

    def paused(self) -> Self:
        """Out of the queue until it is resumed."""
        self._must_allow(Verb.PAUSE)
        return self._changed(status=Status.PAUSED, queued=None)

    def resumed(self, *, now: datetime) -> Self:
        """Back in the queue; if its due date has passed meanwhile, it runs at once.

        The policy on missed occurrences applies to those of a recurring task that passed meanwhile.
        """
        self._must_allow(Verb.RESUME)
        queued = self._delayed(self.due)
        seated = self._changed(status=Status.SCHEDULED, queued=queued)._requeued(queued)
        return replace(seated, queued=max(seated.queued or queued, to_utc(now)))

    def retried(self, *, now: datetime) -> Self:
        """A failed or expired task once more, now, with all attempts to come. Its due date stays."""
        self._must_allow(Verb.RETRY)
        return self._scheduled(now, recurrence=self._with_turn(Turn.EXTRA))

    # Changes by runs.

    def done(self, *, now: datetime, keep: Keeping) -> Self:
        """The attempt succeeded."""
        return self._concluded(Result.DONE, now=now, keep=keep, failure=None)

    def to_retry(self, at: datetime, failure: Failure, *, now: datetime) -> Self:
        """The attempt failed, and another is made at `at`; the schedule's next occurrence does not wait."""
        failure = bounded(failure)
        changed = self._changed(
            status=Status.SCHEDULED,
            queued=to_utc(at),
            failure=failure,
            failures=self._failures_with(failure, now),
            recurrence=self._with_turn(Turn.ALONE),
        )
        return changed._requeued(to_utc(at))

    def snoozed(self, until: datetime, payload_json: str | None = None) -> Self:
        """Not started before `until`, perhaps with another payload. The attempt does not count.

        The schedule's next occurrence does not wait.
        """
        changed = self._changed(
            status=Status.SCHEDULED,
            queued=to_utc(until),
            attempt=self.attempt - 1,
            snoozes=self.snoozes + 1,
            payload_json=self.payload_json if payload_json is None else payload_json,
            recurrence=self._with_turn(Turn.ALONE),
        )
        return changed._requeued(to_utc(until))

    def failed(
        self,
        failure: Failure,
        *,
        now: datetime,
        keep: Keeping,
        attempt: int | None = None,
        on_failed: str | None = None,
    ) -> Self:
        """The attempt failed and no other is made. `on_failed` is that of its action."""
        return self._concluded(
            Result.FAILED,
            now=now,
            keep=keep,
            failure=bounded(failure),
            attempt=self.attempt if attempt is None else attempt,
            on_failed=on_failed if self.on_failed is None else self.on_failed,
        )

    def expired(self, *, now: datetime, keep: Keeping) -> Self:
        """The attempt was not made, for it came too late."""
        return self._concluded(
            Result.SKIPPED,
            now=now,
            keep=keep,
            failure=self.failure,
            attempt=max(self.attempt - 1, 0),
        )
