"""A task, and the changes of it that editors and runs make. Values and pure functions only."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

import msgspec
from msgspec.structs import replace

from duebell_shared.errors import InvalidTask, TaskConflict
from duebell_shared.instants import LATEST, MILLISECOND, MOST_SKEW, NEVER, NO_TIME, Instant, render, to_utc
from duebell_shared.payloads import payload as payloads
from duebell_shared.quoting import quoted
from duebell_shared.tasks.status import History, RetentionPolicy, Verb

from .checks import NO_FOLLOW_UP, Count, Milliseconds, Priority, check_due
from .fields import STORED, checked
from .follow_up import Cause, FollowUp, Members, Owed, check_id
from .history import (
    ADD,
    ATTEMPT,
    MAX_FAILURES,
    Event,
    Failure,
    Lateness,
    Occurrence,
    Result,
    bounded,
    bounded_occurrences,
    in_order,
    shortened_error,
)
from .recurrence import PUNCTUAL, Missed, Origin, PendingOccurrence, Recurrence, delay_of, delayed
from .status import FINISHED, Status

#: The error of an attempt whose outcome was not written.
_LEFT_RUNNING = "WorkerDied: its run left it running: the process ended, or could not write the outcome"


class IntakeMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Identifies the last message of the intake queue that changed a task, to detect a repeated message.

    source  the id of the message or event; a repeated message has the same id, and no other message has it
    place   its place in the message's list; all earlier changes of the task in the list took effect
    pushed  when the message of the task's last push was sent
    """

    source: Annotated[str, msgspec.Meta(max_length=100)]
    place: int = 0
    pushed: Instant | None = None


#: The last status of a task, by the result of its last or only occurrence.
_FINAL = {Result.DONE: Status.DONE, Result.FAILED: Status.FAILED, Result.SKIPPED: Status.EXPIRED}

#: The result of the last attempt, by the status of its task. Other statuses do not tell it.
_RESULTS = {
    Status.RUNNING: "running",
    Status.DONE: "done",
    Status.FAILED: "failed",
    Status.EXPIRED: "expired",
}

#: The most bytes of a result as JSON. An item with the largest payload can hold it, or a failure in full.
MAX_RESULT = 4 * 1024

#: A task that starts later than this after its time is late. Usually the rule is set within a minute,
#: the next whole minute comes within another, and the ring within a third. The Lambda takes half a minute
#: more.
STARTS_WITHIN = timedelta(minutes=3, seconds=30)

#: A time to live is in whole seconds. It is rounded up with this, so that it is not too early.
_ALMOST_A_SECOND = timedelta(seconds=1) - MILLISECOND


def starts_by(queued: datetime) -> datetime:
    """The time by which a task queued for this time starts, if nothing goes wrong and no limit delays it."""
    return min(queued, NEVER - STARTS_WITHIN) + STARTS_WITHIN


class QueueKey(NamedTuple):
    """A task's place in the queue: when the worker shall look at it, its id, its lane and its priority."""

    queued: datetime
    id: str
    lane: int
    priority: int = 0

    @property
    def order(self) -> tuple[datetime, int]:
        """The order of the queue: by time, and of the same moment the highest priority first."""
        return self.queued, -self.priority


def queue_key(task: "Task") -> QueueKey:
    return QueueKey(queued=task.queued or NEVER, id=task.id, lane=task.lane, priority=task.priority)


class Task(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One task, as it was when it was read. All times are UTC, in whole milliseconds.

    id           the user's own, or generated; stable for the task's life
    lane         the partition of the queue that the id's hash puts it in
    action       name of the action that handles it
    due          when it shall run; the nominal date, which retries do not change
    payload_json the payload as JSON text; `payload` is the value
    status       waiting, running, or how it ended: see Status
    queued       when the worker shall next look at it: when it is due, or was added if that was later, or
                 when it is retried; None once it is finished, or while paused
    priority     0 to 9: waiting tasks of a higher priority start first; retries keep it
    tags         labels that lists can be filtered by
    attempt      the number of attempts that runs have claimed
    begun        the number of the last attempt that its action allows, recorded just before that attempt;
                 None until then. A claim without this record does not count as the last attempt
    limited_since  since when it waits only because its action is limited or paused; None if it does not
    rev          counts the changes; every change is conditional on it
    created_at   when it was added
    started_at   when the last attempt was started
    finished_at  when it was done, failed for good or cancelled
    run          id of the run that started the last attempt
    lateness_ms  the time from `queued` to the start of the last attempt, in milliseconds
    lateness     the parts of `lateness_ms`, once the attempt has ended; None for less than a second
    failure      why the last attempt failed; of a recurring task, until an occurrence is done
    failures     the last ten failed attempts of the occurrence that was tried last, and of pending ones to be
                 retried; the latest at the end. A move or a retry drops the failures of its occurrence
    result_json  the result of its action, as JSON text; `result` is the value. None unless the action keeps
                 results and it is done. A recurring task has that of its last occurrence, until an attempt of
                 the next one fails
    result_error  why the result was not kept: it has no form in JSON, or is too large
    expires_at   when its history is deleted (by DynamoDB, within days of it); for a reserved task, when it is
                 deleted if no transaction has confirmed it
    reserved_until  the time by which a transaction must confirm it; of a reserved task only
    reservation  the name of its reservation; of a reserved task, or one that was cancelled while reserved
    unlisted     whether it is only found by its id, once it has ended without failing: see History
    payload_dropped  bytes of its payload, if that was too large to be kept when it was done; else None
    changed_by   the author of its add or last change, by an editor; None if unknown. Runs leave it as it is
    traceparent  the W3C trace context of its add; None if the application had no trace
    intake       the mark of the last message of the intake queue that changed it; None if none has
    on_failed    the action of the follow-up after a failure for good. None: the `on_failed` of its action.
                 Empty: no follow-up
    then         the task that is added when this one is done
    owes         the follow-up, by `on_failed` or `then`, that is being added. Meanwhile the task stays in the
                 queue, and cannot be changed
    batch        the id of the batch that waits for it to end; None for none
    counted      whether its batch has counted its end
    members      of a batch, the tasks that it waits for; None for any other task
    follow_up_error  why the last follow-up could not be added

    spread         the longest delay after it is due; the delay is always the same for the same id
    expires_after  the longest delay of its start. Later, it expires instead; None for any time
    recurrence     its schedule and its place in that; None for a task that runs once. `due`, `attempt` and
                   the like are those of the occurrence that it stands at
    occurrences    a recurring task's last twenty that are over, the latest at the end
    events         changes by editors and earlier attempts, the latest at the end: as many as cost nothing
    """

    id: str
    lane: int
    action: str
    due: Instant
    payload_json: str = "{}"
    status: Status = Status.SCHEDULED
    queued: Instant | None = None
    priority: Priority = 0
    tags: tuple[str, ...] = ()
    attempt: Count = 0
    rev: int = 1
    created_at: Instant
    started_at: Instant | None = None
    finished_at: Instant | None = None
    run: str | None = None
    lateness_ms: Milliseconds | None = None
    lateness: Lateness | None = None
    begun: Count | None = None
    limited_since: Instant | None = None
    failure: Failure | None = None
    failures: tuple[Event, ...] = ()
    result_json: str | None = None
    result_error: str | None = None
    expires_at: Instant | None = None
    reserved_until: Instant | None = None
    reservation: str | None = None
    unlisted: bool = False
    payload_dropped: Count | None = None
    spread: timedelta = NO_TIME
    expires_after: timedelta | None = None
    recurrence: Recurrence | None = None
    occurrences: tuple[Occurrence, ...] = ()
    changed_by: str | None = None
    traceparent: str | None = None
    intake: IntakeMark | None = None
    on_failed: str | None = None
    then: FollowUp | None = None
    owes: Owed | None = None
    follow_up_error: str | None = None
    batch: str | None = None
    counted: bool = False
    members: Members | None = None
    events: tuple[Event, ...] = ()

    def __repr__(self) -> str:
        """One short line for logs and consoles: no payload and no traceback, which may be long or secret."""
        return (
            f"Task(id={quoted(self.id)}, action={quoted(self.action)}, status={quoted(self.status.value)}, "
            f"due={quoted(render(self.due))}, attempt={self.attempt}, rev={self.rev})"
        )

    @cached_property
    def payload(self) -> Any:
        """The payload as JSON's own types; its text, where an edit by hand has left no JSON."""
        return payloads.decode_or_text(self.payload_json)

    @cached_property
    def result(self) -> Any:
        """The result of its action, as JSON's own types; None if that was None, or is not kept."""
        return None if self.result_json is None else payloads.decode_or_text(self.result_json)

    @property
    def starts_by(self) -> datetime | None:
        """The time by which it starts, if nothing goes wrong and no limit delays it. A later start is late.

        It counts the task's time and spread, and holds for both precisions. It counts neither closed hours,
        limits nor tasks before it, as that would cost reads: `Editor.why` counts the first two, and
        `Editor.simulate` all. None if it does not wait for a start.
        """
        if self.queued is None or self.status is not Status.SCHEDULED:
            return None
        return starts_by(self.queued)

    @property
    def missed_runs(self) -> int:
        """The number of occurrences before this one that were missed; it makes up for them."""
        return self.recurrence.missed_runs if self.recurrence else 0

    @property
    def runs(self) -> int:
        """The number of a recurring task's occurrences that are over, without extra and skipped ones."""
        return self.recurrence.runs if self.recurrence else 0

    @property
    def consecutive_failures(self) -> int:
        """The number of a recurring task's last occurrences that failed in a row."""
        return self.recurrence.consecutive_failures if self.recurrence else 0

    @property
    def last(self) -> Occurrence | None:
        """The latest occurrence of a recurring task that is over; None if there is none."""
        return self.occurrences[-1] if self.occurrences else None

    @property
    def history(self) -> tuple[Event, ...]:
        """The events that are kept, with its add and its last attempts; the latest is at the end."""
        return in_order((*self.events, *self._attempts(), self._added))

    @property
    def _added(self) -> Event:
        """Its add, with the author if no other change by an editor is known."""
        is_unchanged = all(one.what == ATTEMPT for one in self.events)
        return Event(at=self.created_at, what=ADD, by=self.changed_by if is_unchanged else None)

    def _attempts(self) -> Iterator[Event]:
        """The occurrences that are over, the last attempt, and the failed ones."""
        for one in self.occurrences:
            yield Event(
                at=one.started_at or one.finished_at,
                what=ATTEMPT,
                attempt=one.attempts,
                result=one.result,
                due=one.due,
                ended_at=one.finished_at,
                lateness_ms=one.lateness_ms,
                error=one.failure,
            )
        if self.status in _RESULTS:
            failure = self.failure if self.status is Status.FAILED else None
            yield from self._attempt(_RESULTS[self.status], self.finished_at, failure)
        yield from self.failures

    def _attempt(self, result: str, ended_at: datetime | None, failure: Failure | None) -> tuple[Event, ...]:
        """The attempt that was started last, if any."""
        if self.started_at is None:
            return ()
        one = Event(
            at=self.started_at,
            what=ATTEMPT,
            attempt=self.attempt,
            result=result,
            due=self.due,
            ended_at=ended_at,
            run=self.run,
            lateness_ms=self.lateness_ms,
            lateness=self.lateness,
            error=str(failure) if failure else None,
        )
        return (one,)

    def noted(self, verb: str, before: Self, *, by: str | None, now: datetime) -> Self:
        """The task with an event of its change from `before`.

        The attempts that the change removed become events, too.
        """
        added = (before._added,) if before._added.by is not None else ()
        ends = before.status in _RESULTS and self.status is not before.status
        erased = before._attempts() if ends or self.failures != before.failures else ()
        change = Event(at=to_utc(now), what=verb, by=by)
        return replace(self, events=(*in_order((*added, *before.events, *erased)), change))

    @property
    def can(self) -> tuple[Verb, ...]:
        """The verbs that its status allows."""
        return tuple(verb for verb in Verb if self._allows(verb, self.status))

    def is_kept(self, keep: RetentionPolicy) -> bool:
        """Tell whether an ended task is kept; otherwise the write that ends it deletes it."""
        is_listed = self.status is not Status.DONE or keep.history is not History.NONE
        return is_listed or self.owes is not None

    @property
    def has_ended(self) -> bool:
        """True if it has finished. A recurring task that owes a follow-up goes on, so it has not finished."""
        return self.status in FINISHED and not (self.owes and self.owes.queued)

    @property
    def can_wait(self) -> bool:
        return self.recurrence is None or self.recurrence.can_add_pending

    @property
    def is_too_late(self) -> bool:
        """True if the attempt was started too late to be made."""
        if self.started_at is None or self.lateness_ms is None:
            return False
        if self.recurrence is None:
            return self.expires_after is not None and self.lateness_ms > self.expires_after / MILLISECOND
        skips = self.recurrence.missed is Missed.SKIP and self.recurrence.origin is Origin.SCHEDULE
        return skips and self.lateness_ms > PUNCTUAL / MILLISECOND

    # Changes by editors. Each returns the changed task, or raises TaskConflict.

    def moved(self, due: datetime | timedelta, *, now: datetime) -> Self:
        """The task, due at another time, with all its attempts left.

        Of a recurring task, only this occurrence moves. A running attempt's outcome no longer applies. An
        occurrence that runs is not moved: the next would overlap.
        """
        self._must_allow(Verb.MOVE)
        due = check_due(due, now)
        if self.recurrence and self.recurrence.origin is Origin.SCHEDULE:
            self._check_can_add_pending("move an occurrence of", self.recurrence)
        if self.recurrence is None and self.status is not Status.PAUSED:
            return self._scheduled(max(self._delayed(due), now), due=due)
        others = tuple(one for one in self.failures if one.due != self.due)
        recurrence = self._with_origin(Origin.RESCHEDULED)
        moved = self._changed(due=due, attempt=0, failure=None, failures=others, recurrence=recurrence)
        if self.status is Status.PAUSED:
            return moved
        return moved._requeued(max(self._delayed(due), to_utc(now)))

    def updated(self, *, now: datetime, **given: object) -> Self:
        """The task with other values of fields that are stored on it. A failed task can be updated, too."""
        self._must_allow(Verb.UPDATE)
        changes = {STORED[name]: checked(name, value) for name, value in given.items()}
        # Problem: a task that waits for a limit may be queued a day ahead, and another action has limits of
        # its own. Solution: with another action, `queued` is set back to the time from before that wait.
        if self.limited_since:
            is_other = changes.get("action", self.action) != self.action
            changes["queued" if is_other else "limited_since"] = self.limited_since
        changed = self._changed(**changes)
        changed.check_fields()
        return changed._spread_over(now) if "spread" in changes else changed

    def _spread_over(self, now: datetime) -> Self:
        if self.queued is None or self.attempt:
            return self
        if self.recurrence is None:
            if self.started_at and self.started_at >= self.due:  # it may be snoozed
                return self
            return replace(self, queued=max(self._delayed(self.due), to_utc(now)), limited_since=None)
        is_of_schedule = self.recurrence.origin is Origin.SCHEDULE
        return replace(self._requeued(self.queued) if is_of_schedule else self, limited_since=None)

    def check_fields(self) -> None:
        """Raise InvalidTask for fields that do not go together."""
        if self.expires_after is not None and self.recurrence:
            why = "cannot be combined with a schedule: missed='skip' passes over late runs"
            raise InvalidTask("expires_after", why)
        if self.batch is not None and self.recurrence:
            raise InvalidTask("batch", "cannot be combined with a schedule: a recurring task may never end")
        if self.on_failed or self.then:
            check_id(self.id)

    def rescheduled(self, recurrence: Recurrence) -> Self:
        """With another schedule, or other rules for it, from now on: see `Recurrence.instead_of`.

        The first occurrence of the new schedule replaces the current one, unless that is late and in the new
        schedule, too. An occurrence that is to be retried, was snoozed or moved, or is extra stays.
        """
        self._must_be("reschedule", (Status.SCHEDULED, Status.PAUSED))
        if self.recurrence and self.recurrence.origin is not Origin.SCHEDULE:
            recurrence = recurrence.with_pending(
                self._as_pending(self.limited_since or self.queued or self._delayed(self.due))
            )
        at_first = self._changed(recurrence=recurrence)._at_next()
        if at_first is None:
            raise InvalidTask("schedule", "leaves nothing to run: it is over, or has run as often as it may")
        return replace(at_first, status=Status.PAUSED, queued=None) if self.queued is None else at_first

    def run_now(self, *, now: datetime) -> Self:
        """The task, due now. A recurring task runs once more, beside its schedule.

        A recurring task that already waits for such a run stays as it is.
        """
        self._must_allow(Verb.RUN_NOW)
        if self.recurrence is None:
            return self._scheduled(now, due=to_utc(now))
        is_extra = self.recurrence.origin is Origin.EXTRA and not self.attempt
        soon, waits_since = now + MOST_SKEW, self.limited_since or self.queued
        if self.recurrence.has_extra_due(soon) or (is_extra and waits_since and waits_since <= soon):
            return self  # the call was made before, or is not needed
        self._check_can_add_pending("run once more", self.recurrence)
        extra = PendingOccurrence(due=to_utc(now), queued=to_utc(now), origin=Origin.EXTRA)
        with_extra = self._changed(recurrence=self.recurrence.with_pending(extra))
        return with_extra._requeued(self.limited_since or self.queued or self.due)

    def reserved(self, reservation: str, *, until: datetime) -> Self:
        """The new task, not to be run unless a transaction confirms this reservation until then."""
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

    def cancelled(self, *, now: datetime, keep: RetentionPolicy) -> Self:
        """The cancelled task, which is never run. The outcome of a running attempt no longer applies."""
        self._must_allow(Verb.CANCEL)
        changes: dict[str, Any] = {"members": self.members and replace(self.members, open=False)}
        if self.limited_since and not self.attempt:  # the limit put it back: nothing was started
            changes |= {"started_at": None, "lateness_ms": None, "run": None}
        return self._ended_without_attempt(
            Status.CANCELLED, now=now, keep=keep, reserved_until=None, **changes
        )

    def paused(self) -> Self:
        """The paused task, which is out of the queue until it is resumed."""
        self._must_allow(Verb.PAUSE)
        return self._changed(status=Status.PAUSED, queued=None)

    def resumed(self, *, now: datetime) -> Self:
        """The resumed task, in the queue again. If its due date has passed meanwhile, it runs at once.

        The policy on missed occurrences applies to those of a recurring task that passed meanwhile.
        """
        self._must_allow(Verb.RESUME)
        queued = self._delayed(self.due)
        resumed = self._changed(status=Status.SCHEDULED, queued=queued)._requeued(queued)
        return replace(resumed, queued=max(resumed.queued or queued, to_utc(now)))

    def retried(self, *, now: datetime) -> Self:
        """A failed or expired task, to run again now, with all attempts anew. Its due date stays."""
        self._must_allow(Verb.RETRY)
        return self._scheduled(now, recurrence=self._with_origin(Origin.EXTRA), counted=False)

    # Changes of a batch, and of the tasks that it waits for.

    @property
    def is_blocked(self) -> bool:
        """True for a batch that waits for its tasks, or for more of them."""
        return self.status is Status.BLOCKED and self.members is not None

    @property
    def _is_awaited(self) -> bool:
        """True if a batch is to count the end of this task."""
        return self.batch is not None and not self.counted and self.status is not Status.RESERVED

    def joined(self, count: int) -> Self:
        """The batch, with `count` more tasks to wait for."""
        if self.members is None:
            raise TaskConflict(f"task {quoted(self.id)} is no batch: make one with `editor.batch`")
        if not self.is_blocked or not self.members.open:
            raise TaskConflict(f"batch {quoted(self.id)} is closed: it takes no more tasks")
        return self._changed(members=replace(self.members, left=self.members.left + count))

    def joining(self, batch: Self) -> Self:
        """A task that existed before this batch, as a member of it; as counted, if it has ended.

        Raises TaskConflict, InvalidTask.
        """
        if self.recurrence:
            raise InvalidTask("wait_for", f"names {quoted(self.id)}, a recurring task, which may never end")
        if self.members and (batch.batch or batch.id == self.id):
            raise TaskConflict(
                f"batch {quoted(batch.id)} cannot wait for batch {quoted(self.id)}, which may wait for it"
            )
        if self.batch is not None:
            raise TaskConflict(
                f"task {quoted(self.id)} is in batch {quoted(self.batch)} already: wait for that "
                f"batch instead"
            )
        can = [one for one in Status if one not in {Status.RUNNING, Status.RESERVED}]
        self._must_be("wait for", can, way_out=": repeat the call later")
        return self._changed(
            batch=batch.id,
            counted=self.status.is_finished,
            begun=self.begun,
            limited_since=self.limited_since,
        )

    def closed(self, *, now: datetime, keep: RetentionPolicy) -> Self:
        """The batch, which takes no more tasks; one that is closed stays as it is."""
        if self.members is None:
            raise TaskConflict(f"task {quoted(self.id)} is no batch: it cannot be closed")
        if not self.is_blocked or not self.members.open:
            return self
        return self._changed(members=replace(self.members, open=False))._unblocked(now, keep)

    def with_ended(self, ends: Sequence[Status], *, now: datetime, keep: RetentionPolicy) -> Self:
        """The blocked batch, with these ends of its tasks counted; unblocked if they were the last.

        A batch without a follow-up is done then.
        """
        members = self.members or Members()
        counts: dict[str, Any] = {end: getattr(members, end) + ends.count(end) for end in set(ends)}
        members = replace(members, left=max(members.left - len(ends), 0), **counts)
        return self._changed(members=members)._unblocked(now, keep)

    def with_retried(self, end: Status) -> Self:
        """The blocked batch, which waits again for a task that it has counted with this end."""
        members = self.members or Members()
        again: dict[str, Any] = {end: max(getattr(members, end) - 1, 0)}
        return self._changed(members=replace(members, left=members.left + 1, **again))

    def as_counted(self) -> Self:
        """The ended task, marked as counted by its batch. Its follow-up is still to be added."""
        return self._changed(counted=True)

    def _unblocked(self, now: datetime, keep: RetentionPolicy) -> Self:
        members = self.members
        if members is None or members.open or members.left:
            return self
        action = members.on_failed if members.failed and members.on_failed else self.action
        payload_json = payloads.encode({**self.payload, "batch": members.told(self.id)})
        if action == NO_FOLLOW_UP:
            told = replace(self, payload_json=payload_json)
            return replace(told._ended_without_attempt(Status.DONE, now=now, keep=keep), rev=self.rev)
        due = min(to_utc(now) + members.after, LATEST)
        return replace(
            self, status=Status.SCHEDULED, due=due, queued=due, action=action, payload_json=payload_json
        )

    # Changes by a run that has claimed it, before the attempt or instead of it.

    def caught_up(self) -> Self:
        """The task just claimed, at the occurrence to run, as others may have passed meanwhile."""
        if self.started_at is None:
            return self
        if self.recurrence is None or self.recurrence.origin is not Origin.SCHEDULE:
            return self if self.limited_since is None else self._late_since(self.limited_since)
        due, recurrence = self.recurrence.caught_up(self.due, self.started_at - self._delay)
        at_due = replace(self, due=due, recurrence=recurrence)
        return at_due._late_since(self._delayed(due))

    def left_running(self) -> Self:
        """The task just claimed from a run that died: with the attempts that were lost.

        If it failed before and those failures are not stored, only its last attempt counts as lost.
        """
        numbers = [one.attempt for one in self.failures if one.due == self.due]
        known = numbers[-1] if numbers else self.attempt - 2 if self.failure else 0
        lost = (
            Event(
                at=self.started_at or self.due,
                what=ATTEMPT,
                attempt=attempt,
                result=Result.FAILED,
                due=self.due,
                error=_LEFT_RUNNING,
            )
            for attempt in range(max(known + 1, self.attempt - MAX_FAILURES), self.attempt)
        )
        return replace(self, failures=(*self.failures, *lost)[-MAX_FAILURES:])

    def beginning(self, last: int) -> Self:
        """The task just claimed, with its last attempt recorded as begun. Earlier claims do not count."""
        return self._changed(attempt=last, begun=last, limited_since=self.limited_since)

    def given_back(self) -> Self:
        """The task just claimed, as if it had not been claimed: its attempt was not begun."""
        return self._changed(
            status=Status.SCHEDULED, attempt=self.attempt - 1, limited_since=self.limited_since
        )

    def held_back(self, until: datetime) -> Self:
        """The task just claimed, to wait until then for its action's limit. The attempt does not count.

        A recurring task stays at its occurrence, as the limit holds for all its occurrences. Occurrences that
        pass meanwhile are missed ones.
        """
        since = self.limited_since or self.queued
        return self._changed(
            status=Status.SCHEDULED, queued=to_utc(until), attempt=self.attempt - 1, limited_since=since
        )

    # Changes by the end of the attempt.

    def done(
        self,
        *,
        now: datetime,
        keep: RetentionPolicy,
        result_json: str | None = None,
        result_error: str | None = None,
    ) -> Self:
        """The attempt succeeded, with this result if that is kept, or the reason why it is not."""
        error = result_error and shortened_error(result_error)
        return self._concluded(Result.DONE, now=now, keep=keep, result_json=result_json, result_error=error)

    def to_retry(self, at: datetime, failure: Failure, *, now: datetime) -> Self:
        """The attempt failed, and another is made at `at`; the schedule's next occurrence does not wait."""
        failure = bounded(failure)
        changed = self._changed(
            status=Status.SCHEDULED,
            queued=to_utc(at),
            failure=failure,
            failures=self._failures_with("retried", failure, now),
            recurrence=self._with_origin(Origin.RESCHEDULED),
            result_json=None,
            result_error=None,
        )
        return changed._requeued(to_utc(at))

    def snoozed(self, until: datetime, payload_json: str | None = None, *, now: datetime) -> Self:
        """The task that its action put off until `until`, perhaps with another payload.

        The attempt does not count.

        The schedule's next occurrence does not wait.
        """
        changed = self._changed(
            status=Status.SCHEDULED,
            queued=to_utc(until),
            attempt=self.attempt - 1,
            payload_json=self.payload_json if payload_json is None else payload_json,
            recurrence=self._with_origin(Origin.RESCHEDULED),
            events=(*self.events, *self._attempt("snoozed", to_utc(now), None)),
        )
        return changed._requeued(to_utc(until))

    def failed(
        self,
        failure: Failure,
        *,
        now: datetime,
        keep: RetentionPolicy,
        attempt: int | None = None,
        on_failed: str | None = None,
    ) -> Self:
        """The attempt failed and no other is made. `on_failed` is that of its action."""
        return self._concluded(
            Result.FAILED,
            now=now,
            keep=keep,
            on_failed=on_failed if self.on_failed is None else self.on_failed,
            failure=bounded(failure),
            attempt=self.attempt if attempt is None else attempt,
        )

    def expired(self, *, now: datetime, keep: RetentionPolicy) -> Self:
        """The attempt was not made, because it came too late."""
        return self._concluded(Result.SKIPPED, now=now, keep=keep, attempt=max(self.attempt - 1, 0))

    # Occurrences of a recurring task. These are parts of a change: they leave `rev` as it is.

    def _at_next(self) -> Self | None:
        """The task at the occurrence that comes next; None when none is left, or the task does not recur."""
        if self.recurrence is None:
            return None
        one, recurrence = self.recurrence.take_next(self._delay)
        if one is None:
            return None
        return replace(
            self,
            status=Status.SCHEDULED,
            due=one.due,
            queued=one.queued,
            attempt=one.attempt,
            recurrence=recurrence,
        )

    def _requeued(self, queued: datetime) -> Self:
        """The task at the occurrence that comes first, if its current one waits until `queued`."""
        if self.recurrence is None:
            return self
        if self.recurrence.origin is Origin.SCHEDULE:
            recurrence = replace(self.recurrence, next_due=self.due)
        else:
            recurrence = self.recurrence.with_pending(self._as_pending(queued))
        changed = replace(self, recurrence=recurrence)
        return changed._at_next() or self

    def _as_pending(self, queued: datetime) -> PendingOccurrence:
        origin = self.recurrence.origin if self.recurrence else Origin.RESCHEDULED
        return PendingOccurrence(
            due=self.due,
            queued=queued,
            attempt=self.attempt,
            origin=origin,
            missed=self.missed_runs,
        )

    def _with_origin(self, origin: Origin) -> Recurrence | None:
        if self.recurrence is None or self.recurrence.origin is Origin.EXTRA:
            return self.recurrence
        return replace(self.recurrence, origin=origin)

    @cached_property
    def _delay(self) -> timedelta:
        return delay_of(self.id, self.spread)

    def _delayed(self, due: datetime) -> datetime:
        return delayed(due, self._delay)

    def _scheduled(self, queued: datetime, **changes: Any) -> Self:
        return self._changed(
            status=Status.SCHEDULED,
            queued=to_utc(queued),
            attempt=0,
            failure=None,
            failures=(),
            result_json=None,
            result_error=None,
            finished_at=None,
            expires_at=None,
            follow_up_error=None,
            **changes,
        )

    def _concluded(
        self,
        result: Result,
        *,
        now: datetime,
        keep: RetentionPolicy,
        on_failed: str | None = None,
        **changes: Any,
    ) -> Self:
        if result is not Result.SKIPPED:  # what is skipped leaves the last result and failure
            changes = {"result_json": None, "result_error": None, "failure": None, **changes}
        over = replace(self, **changes)
        new = over.failure if result is Result.FAILED and over.attempt == self.attempt else None
        over = replace(over, failures=self._failures_with(Result.FAILED, new, now))
        if self.recurrence:
            over = replace(
                over,
                recurrence=self.recurrence.concluded(result),
                occurrences=bounded_occurrences((*self.occurrences, over._record(result, now))),
            )
        if following := over._at_next():
            ended = following._changed(unlisted=keep.history is not History.ALL)
        else:
            ended = over._finished(_FINAL[result], now=now, keep=keep)
        cause, action = Cause.FAILED, on_failed
        if result is Result.DONE:
            cause, action = Cause.DONE, self.then.action if self.then else None
        if not action or result is Result.SKIPPED:
            if not self._is_awaited:
                return ended
            action = ""
        return replace(ended._with_follow_up_owed(cause, action, over, now), status=_FINAL[result])

    def _with_follow_up_owed(self, cause: Cause, action: str, before: "Task", now: datetime) -> Self:
        """The task that has ended, or goes on, and owes a follow-up for the attempt in `before`."""
        owed = Owed(
            cause=cause,
            action=action,
            at=to_utc(now),
            due=before.due,
            attempts=before.attempt,
            queued=self.queued,
            expires_at=self.expires_at,
        )
        return replace(
            self,
            queued=min(before.queued or owed.at, owed.at),  # a parked task's place is hours ahead
            expires_at=None,
            owes=owed,
            follow_up_error=None,
        )

    def follow_up_settled(self, error: str | None = None) -> Self:
        """The task after its follow-up was added, or given up with `error`. It has ended, or goes on."""
        if (owed := self.owes) is None:
            return self
        return self._changed(
            status=self.status if owed.queued is None else Status.SCHEDULED,
            queued=owed.queued,
            expires_at=owed.expires_at,
            owes=None,
            follow_up_error=error,
        )

    def told_as_failed(
        self, *, due: datetime, attempts: int, at: datetime, error: Mapping[str, str] | None
    ) -> dict[str, Any]:
        """The payload of the task that follows the failure of this one, at `at`."""
        return {
            "id": self.id,
            "action": self.action,
            "due": render(due),
            "attempts": attempts,
            "failed_at": render(at),
            "error": error,
            "payload": self.payload,
        }

    def _record(self, result: Result, now: datetime) -> Occurrence:
        return Occurrence(
            due=self.due,
            started_at=self.started_at,
            finished_at=to_utc(now),
            lateness_ms=self.lateness_ms,
            attempts=self.attempt,
            result=result,
            missed=self.missed_runs,
            extra=self.recurrence is not None and self.recurrence.origin is Origin.EXTRA,
            failure=str(self.failure) if self.failure and result is Result.FAILED else None,
        )

    def _failures_with(self, result: str, failure: Failure | None, now: datetime) -> tuple[Event, ...]:
        """The failed attempts of this occurrence and of pending ones; with this one, if it failed."""
        pending = self.recurrence.pending if self.recurrence else ()
        dues = {self.due, *(one.due for one in pending)}
        kept = tuple(one for one in self.failures if one.due in dues)
        this = self._attempt(result, to_utc(now), failure) if failure else ()
        return (*kept, *this)[-MAX_FAILURES:]

    def _finished(self, status: Status, *, now: datetime, keep: RetentionPolicy, **changes: Any) -> Self:
        expires_at = (now + keep.retention).replace(microsecond=0)  # DynamoDB's time to live: whole seconds
        finished = self._changed(
            status=status,
            queued=None,
            finished_at=to_utc(now),
            expires_at=expires_at,
            unlisted=keep.history is not History.ALL,
            **changes,
        )
        size = len(self.payload_json.encode())
        if status is not Status.DONE or size <= keep.payload:
            return finished
        return replace(finished, payload_json="null", payload_dropped=size)

    def _ended_without_attempt(
        self, status: Status, *, now: datetime, keep: RetentionPolicy, **changes: Any
    ) -> Self:
        """The task that ends without an attempt. If a batch waits for it, its end is still to be counted."""
        ended = self._finished(status, now=now, keep=keep, **changes)
        return ended._with_follow_up_owed(Cause.DONE, "", self, now) if self._is_awaited else ended

    def has_expired(self, now: datetime) -> bool:
        """Tell whether it is history that DynamoDB has yet to delete."""
        return self.expires_at is not None and self.expires_at <= now

    def _changed(
        self, *, begun: int | None = None, limited_since: datetime | None = None, **changes: Any
    ) -> Self:
        """The task with these changes and the next `rev`.

        Each change clears `begun` and `limited_since`, unless it gives their values.
        """
        return replace(self, rev=self.rev + 1, begun=begun, limited_since=limited_since, **changes)

    def _must_allow(self, verb: Verb) -> None:
        allowed = [one for one in Status if self._allows(verb, one)]
        self._must_be(verb.rules.words, allowed, way_out=self._way_out(verb))

    def _way_out(self, verb: Verb) -> str:
        """The end of a refusal: the reason, or the command to use instead; empty if there is neither."""
        if self.status is Status.RESERVED:
            return ": its transaction is not committed yet"
        if not verb.rules.instead or not self._allows(other := Verb(verb.rules.instead), self.status):
            return ""
        return f": use `{other.replace('_', '-')}` instead"

    def _allows(self, verb: Verb, status: Status) -> bool:
        return self.owes is None and verb.applies_to(status, recurs=self.recurrence is not None)

    def check_owes_nothing(self, words: str) -> None:
        """Raise TaskConflict if a follow-up is being added: the change would lose it."""
        if self.owes:
            raise TaskConflict(
                f"cannot {words} task {quoted(self.id)}: its follow-up is being added. Try again in a moment"
            )

    def check_can_be_replaced(self) -> None:
        """Raise TaskConflict if no other task can replace this one."""
        self.check_owes_nothing("replace")
        if self.is_blocked or (self._is_awaited and not self.status.is_finished):
            what = "it is a batch" if self.is_blocked else f"batch {quoted(self.batch)} waits for it"
            raise TaskConflict(
                f"cannot replace task {quoted(self.id)}: {what}. Cancel it, or choose another id"
            )

    def _must_be(self, words: str, statuses: Collection[Status], *, way_out: str = "") -> None:
        self.check_owes_nothing(words)
        if self.status not in statuses:
            raise TaskConflict(
                f"cannot {words} task {quoted(self.id)}: it is {self.status}, and this needs it "
                f"{' or '.join(statuses)}{way_out}"
            )

    def _check_can_add_pending(self, verb: str, recurrence: Recurrence) -> None:
        if not recurrence.can_add_pending:
            raise TaskConflict(f"cannot {verb} {quoted(self.id)}: too many of its occurrences wait already")

    def _late_since(self, since: datetime) -> Self:
        started_at = self.started_at or since
        return replace(self, lateness_ms=round((started_at - since) / MILLISECOND))
