"""The state of a task: its fields, and its occurrences. Values and pure functions only."""

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple, Self

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from duebell_shared.counts import Count, Milliseconds, Priority
from duebell_shared.errors import TaskConflict
from duebell_shared.instants import MILLISECOND, NEVER, Instant, to_utc
from duebell_shared.keeping import History, Keeping
from duebell_shared.payloads import payload as payloads
from duebell_shared.quoting import quoted

from .failure import FailedAttempt, Failure, in_short, latest
from .follow_up import FollowUp, Owed
from .intake_mark import IntakeMark
from .owing import owing
from .recurrence import (
    PUNCTUAL,
    Missed,
    Occurrence,
    Recurrence,
    Result,
    Seat,
    Turn,
    bounded_occurrences,
    delay_of,
    delayed,
)
from .status import Status
from .verbs import Verb

__all__ = ["QueueKey", "TaskState", "queue_key"]

#: The last status of a task, by the result of its last or only occurrence.
_FINAL = {Result.DONE: Status.DONE, Result.FAILED: Status.FAILED, Result.SKIPPED: Status.EXPIRED}


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


def queue_key(task: "TaskState") -> QueueKey:
    """The task's place in the queue; at NEVER if it neither waits nor runs."""
    return QueueKey(queued=task.queued or NEVER, id=task.id, lane=task.lane, priority=task.priority)


class TaskState(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The fields of a task, as `Task` describes them, and the parts that its changes are made of."""

    id: str
    lane: int
    action: str
    due: Instant
    payload_json: str = "{}"
    status: Status = Status.SCHEDULED
    queued: Instant | None = None
    priority: Priority = 0
    attempt: Count = 0
    rev: int = 1
    created_at: Instant
    started_at: Instant | None = None
    finished_at: Instant | None = None
    run: str | None = None
    lateness_ms: Milliseconds | None = None
    begun: Count | None = None
    snoozes: Count = 0
    limited_since: Instant | None = None
    failure: Failure | None = None
    failures: tuple[FailedAttempt, ...] = ()
    expires_at: Instant | None = None
    reserved_until: Instant | None = None
    reservation: str | None = None
    unlisted: bool = False
    payload_dropped: Count | None = None
    spread: timedelta = timedelta(0)
    expires_after: timedelta | None = None
    recurrence: Recurrence | None = None
    occurrences: tuple[Occurrence, ...] = ()
    changed_by: str | None = None
    intake: IntakeMark | None = None
    on_failed: str | None = None
    then: FollowUp | None = None
    owes: Owed | None = None
    follow_up_error: str | None = None

    @cached_property
    def payload(self) -> Any:
        """The payload as JSON's own types; its text, where an edit by hand has left no JSON."""
        return payloads.decode_or_text(self.payload_json)

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
        """The last occurrence of a recurring task that is over."""
        return self.occurrences[-1] if self.occurrences else None

    @property
    def can(self) -> tuple[Verb, ...]:
        """The verbs that its status allows."""
        return tuple(verb for verb in Verb if self._allows(verb, self.status))

    def is_kept(self, keep: Keeping) -> bool:
        """Tell whether an ended task is kept; otherwise the write that ends it deletes it."""
        is_listed = self.status is not Status.DONE or keep.history is not History.NONE
        return is_listed or self.owes is not None

    @property
    def can_wait(self) -> bool:
        """True if the occurrence can be retried later: a recurring task has room for some that wait."""
        return self.recurrence is None or self.recurrence.has_room

    @property
    def is_too_late(self) -> bool:
        """True if the attempt was started too late to be made."""
        if self.started_at is None or self.lateness_ms is None:
            return False
        if self.recurrence is None:
            return self.expires_after is not None and self.lateness_ms > self.expires_after / MILLISECOND
        skips = self.recurrence.missed is Missed.SKIP and self.recurrence.turn is Turn.IN_LINE
        return skips and self.lateness_ms > PUNCTUAL / MILLISECOND

    # Occurrences of a recurring task. These are parts of a change: they leave `rev` as it is.

    def _at_next(self) -> Self | None:
        """At the occurrence whose turn is next; None when none is left, or the task does not recur."""
        if self.recurrence is None:
            return None
        seat, recurrence = self.recurrence.take_next(self._delay)
        if seat is None:
            return None
        return replace(
            self,
            status=Status.SCHEDULED,
            due=seat.due,
            queued=seat.queued,
            attempt=seat.attempt,
            snoozes=seat.snoozes or 0,
            recurrence=recurrence,
        )

    def _requeued(self, queued: datetime) -> Self:
        """With its occurrence waiting until `queued`, and at the one that is first then."""
        if self.recurrence is None:
            return self
        if self.recurrence.turn is Turn.IN_LINE:
            recurrence = replace(self.recurrence, next_due=self.due)
        else:
            recurrence = self.recurrence.put_aside(self._seat(queued))
        seated = replace(self, recurrence=recurrence)
        return seated._at_next() or self

    def _seat(self, queued: datetime) -> Seat:
        turn = self.recurrence.turn if self.recurrence else Turn.ALONE
        return Seat(
            due=self.due,
            queued=queued,
            attempt=self.attempt,
            turn=turn,
            missed=self.missed_runs,
            snoozes=self.snoozes or UNSET,
        )

    def _with_turn(self, turn: Turn) -> Recurrence | None:
        """The recurrence with the task's occurrence in this turn; an extra one stays extra."""
        if self.recurrence is None or self.recurrence.turn is Turn.EXTRA:
            return self.recurrence
        return replace(self.recurrence, turn=turn)

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
            snoozes=0,
            failure=None,
            failures=(),
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
        keep: Keeping,
        failure: Failure | None,
        attempt: int | None = None,
        on_failed: str | None = None,
    ) -> Self:
        """With this occurrence over: at the next one, or finished; perhaps owing a follow-up."""
        new = failure if result is Result.FAILED and attempt in (None, self.attempt) else None
        over = replace(
            self,
            failure=failure,
            failures=self._failures_with(new, now),
            attempt=self.attempt if attempt is None else attempt,
        )
        if self.recurrence:
            over = replace(
                over,
                recurrence=self.recurrence.concluded(result),
                occurrences=bounded_occurrences((*self.occurrences, over._record(result, now))),
            )
        if seated := over._at_next():
            ended = seated._changed(unlisted=keep.history is not History.ALL)
        else:
            ended = over._finished(_FINAL[result], now=now, keep=keep)
        return owing(over, ended, result, on_failed=on_failed, now=now)

    def _record(self, result: Result, now: datetime) -> Occurrence:
        return Occurrence(
            due=self.due,
            started_at=self.started_at,
            finished_at=to_utc(now),
            lateness_ms=self.lateness_ms,
            attempts=self.attempt,
            result=result,
            missed=self.missed_runs,
            extra=self.recurrence is not None and self.recurrence.turn is Turn.EXTRA,
            failure=str(self.failure) if self.failure and result is Result.FAILED else None,
        )

    def _failures_with(self, failure: Failure | None, now: datetime) -> tuple[FailedAttempt, ...]:
        """The failed attempts of this occurrence and those that wait aside; with this one, if it failed."""
        aside = self.recurrence.aside if self.recurrence else ()
        dues = {self.due, *(seat.due for seat in aside)}
        kept = tuple(one for one in self.failures if one.due in dues)
        if failure is None:
            return kept
        this = in_short(failure, self.due, self.attempt, self.started_at, to_utc(now))
        return latest((*kept, this))

    def _finished(self, status: Status, *, now: datetime, keep: Keeping, **changes: Any) -> Self:
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

    def _changed(
        self, *, begun: int | None = None, limited_since: datetime | None = None, **changes: Any
    ) -> Self:
        return replace(self, rev=self.rev + 1, begun=begun, limited_since=limited_since, **changes)

    def _must_allow(self, verb: Verb) -> None:
        allowed = [one for one in Status if self._allows(verb, one)]
        self._must_be(verb.rule.words, allowed, way_out=self._way_out(verb))

    def _way_out(self, verb: Verb) -> str:
        """The end of a refusal: the reason, or the command to use instead; empty if there is neither."""
        if self.status is Status.RESERVED:
            return ": its transaction is not committed yet"
        if not verb.rule.instead or not self._allows(other := Verb(verb.rule.instead), self.status):
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

    def _must_be(self, words: str, statuses: Collection[Status], *, way_out: str = "") -> None:
        self.check_owes_nothing(words)
        if self.status not in statuses:
            raise TaskConflict(
                f"cannot {words} task {quoted(self.id)}: it is {self.status}, and this needs it "
                f"{' or '.join(statuses)}{way_out}"
            )

    def _check_room(self, verb: str, recurrence: Recurrence) -> None:
        if not recurrence.has_room:
            raise TaskConflict(f"cannot {verb} {quoted(self.id)}: too many of its occurrences wait already")
