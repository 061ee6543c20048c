"""The long-running process: waits until something is due, runs it as a Lambda's run does, and waits again.

It claims lanes by the arming record, as every run does, and no protocol of its own. While it waits it holds
nothing: it reads the record from time to time, and claims lanes just before something is due in them. The
rule stays armed for that, so that the Lambda does it when the process is gone.
"""

import logging
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from duebell_shared.backoff import pauses
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsError, NotArmed, NotDeployed
from duebell_shared.instants import NEVER
from duebell_worker.log import emit
from duebell_worker.run.attempt import Attempt
from duebell_worker.run.lease import LEASE, new_run_id
from duebell_worker.worker import Worker

#: Half a minute of grace is usual where containers are stopped; the rest is for giving the lanes back.
DRAIN = timedelta(seconds=20)

#: A task that is added for now starts within this time.
LOOK_EVERY = timedelta(seconds=1)


class State(StrEnum):
    """The state of a process."""

    WAITING = "waiting"
    RUNNING = "running"
    DRAINING = "draining"


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a process. Times are UTC.

    is_well    whether it read or wrote the arming record not long ago
    state      what it does
    looked_at  when it read or wrote the record last; None if it never did
    run        the id of the run that is under way
    error      the error of its last call, if that failed
    """

    is_well: bool
    state: State
    looked_at: datetime | None = None
    run: str | None = None
    error: str | None = None


#: A process claims lanes this long before something is due in them: time enough to set the rule, and to try
#: that again.
_AHEAD = timedelta(seconds=10)

#: A run that has nothing under way ends after this time, even if the next one begins at once: only the end of
#: a run measures the queue, and says in the arming record and the log what came of it.
_LONGEST_STAY = timedelta(minutes=5)

#: However seldom it looks, a process notices within this time that it is to end.
_NOTICE = timedelta(seconds=1)


@dataclass(eq=False)
class Host:
    """The state of a process that its runs share. Another thread may call `drain`.

    clock       the process's clock
    look_every  the time between two reads of the arming record
    looked_at   when the arming record was read or written last
    stop_at     from then on no task is started; None until the process is told to end
    leave_at    attempts that still run then are ended as failed, and retried later
    unfinished  how many attempts were ended so
    """

    clock: Callable[[], datetime]
    look_every: timedelta
    looked_at: datetime | None = None
    stop_at: datetime | None = None
    leave_at: datetime | None = None
    unfinished: int = 0
    _outliving: list[Attempt] = field(default_factory=list)

    @property
    def outliving(self) -> list[Attempt]:
        """The attempts that still run, although their run lost its lease. Their outcomes are not recorded.

        Problem: no run waits for them. Solution: they keep their places, so that the process never runs more
        actions at a time than it has places; and when it ends, they have the time that others have.
        """
        self._outliving = [attempt for attempt in self._outliving if attempt.is_running]
        return self._outliving

    @property
    def kept_places(self) -> int:
        """The number of places that attempts keep whose run lost its lease."""
        return sum(attempt.has_place for attempt in self.outliving)

    def keep(self, attempts: Iterable[Attempt]) -> None:
        """Note the attempts that are under way in a run that lost its lease."""
        self._outliving += attempts

    def looked(self) -> None:
        """Note that the arming record was read or written now."""
        self.looked_at = self.clock()

    def drain(self, patience: timedelta) -> None:
        """Start no task from now on, and leave what still runs after this time."""
        # In this order: a run that sees the first looks at the second.
        self.leave_at = self.clock() + patience
        self.stop_at = self.leave_at - patience

    def wake_at(self, now: datetime) -> datetime:
        """The time until which a run may wait before it checks whether the process is to end."""
        return now + _NOTICE

    def claim_at(self, record: ArmingRecord, now: datetime) -> datetime:
        """The time to claim the lanes that are free: before something is due in them.

        With precision "second", the rule rings ahead of due dates: the process comes before that, or else the
        Lambda would hold the lanes.
        """
        due = NEVER if record.is_relaned(now) else record.free_due(now)
        ahead = self.ahead(record)
        return max(due - ahead, now)

    def ahead(self, record: ArmingRecord) -> timedelta:
        """The time between the claim of a lane and what is due in it."""
        return record.head_start + _AHEAD

    def is_long(self, began: datetime) -> bool:
        """Tell whether a run that began then is to end once nothing is under way."""
        return self.clock() >= began + _LONGEST_STAY


class Process:
    """Runs what is due until it is told to drain. `drain` and `health` may be called by other threads."""

    def __init__(
        self, worker: Worker, *, look_every: timedelta = LOOK_EVERY, drain_for: timedelta = DRAIN
    ) -> None:
        """`look_every` is the time between two reads of the arming record, a read unit each.

        `drain_for` is how long actions that run when it is told to end may go on. Raises InvalidSettings.
        """
        self._worker = worker
        self._backend = worker.backend
        self._drain_for = drain_for
        self._host = Host(self._backend.clock, look_every)
        self._run_id: str | None = None
        self._is_running = False
        self._pauses = _pauses()
        self._error: str | None = None

    def run(self) -> bool:
        """Run what is due until `drain` was called; return whether all attempts came to their end.

        Makes the worker known first. A failure is logged, and what failed is tried again, but for the first
        look. Raises AwsError, NotDeployed and NotArmed if that fails, or if the lanes could not be given back
        in the end: then they are free when the lease is over.
        """
        self._look()
        self._worker.register()
        emit("process_started", look_every=self._host.look_every.total_seconds())
        while self._host.stop_at is None:
            try:
                pause = self._go_on()
            except (AwsError, NotArmed, NotDeployed) as error:
                pause = self._failed(error)
            else:
                self._pauses, self._error = _pauses(), None
            self._wait(pause)
        if self._run_id:  # the run failed, and may hold lanes still
            self._run()
        self._wait_for_outliving()
        unfinished = self._host.unfinished + len(self._host.outliving)
        emit("process_ended", unfinished=unfinished)
        return not unfinished

    def drain(self) -> None:
        """Start no task from now on, give those that run their time, and end."""
        if self._host.stop_at is None:
            self._host.drain(self._drain_for)
            emit("process_drains", ends_by=self._host.leave_at)

    def health(self) -> Health:
        """Tell how the process is. It is not well if it could not look for the time of a lease."""
        looked_at = self._host.looked_at
        patience = LEASE + self._host.look_every
        state = State.RUNNING if self._is_running else State.WAITING
        return Health(
            is_well=looked_at is not None and self._now() - looked_at < patience,
            state=State.DRAINING if self._host.stop_at else state,
            looked_at=looked_at,
            run=self._run_id if self._is_running else None,
            error=self._error,
        )

    def _go_on(self) -> timedelta:
        """Look, and make a run if it is time. Returns how long to wait before the next look."""
        claim_in = self._look() - self._now()
        if not self._has_place:
            return self._host.look_every
        if claim_in > timedelta(0):
            return min(claim_in, self._host.look_every)
        # Without a pause only after a run that had something to do: the next one might find the lanes held
        # again, or the same task that it cannot run.
        return timedelta(0) if self._run() else self._host.look_every

    def _look(self) -> datetime:
        """Read the arming record. Returns when to claim lanes: now, if a run that failed holds some."""
        record = self._backend.armer.read()
        self._host.looked()
        now = self._now()
        return now if self._run_id else self._host.claim_at(record, now)

    def _wait(self, time: timedelta) -> None:
        """Wait for this time, or until the process is to end."""
        until = self._now() + time
        while self._host.stop_at is None and (now := self._now()) < until:
            self._backend.sleep((min(until, self._host.wake_at(now)) - now).total_seconds())

    def _wait_for_outliving(self) -> None:
        """Give actions whose run lost its lease the time that those of other runs have, too."""
        leave_at = self._host.leave_at or self._now()
        while self._host.outliving and (now := self._now()) < leave_at:
            self._backend.sleep((min(leave_at, self._host.wake_at(now)) - now).total_seconds())

    @property
    def _has_place(self) -> bool:
        """True if a run could start a task, or one that failed has lanes to give back."""
        return bool(self._run_id) or self._host.kept_places < self._worker._concurrency  # noqa: SLF001

    def _run(self) -> bool:
        """Make a run, or go on with the one that failed. Returns whether it had anything to do."""
        self._run_id = self._run_id or new_run_id(uuid.uuid4().hex)
        self._is_running = True
        try:
            report = self._worker._run(self._run_id, self._backend, None, host=self._host)  # noqa: SLF001 (its own package)
        finally:
            self._is_running = False
        self._run_id = None
        return report.attempts > 0

    def _failed(self, error: Exception) -> timedelta:
        """Log a failure. Returns the pause until the next try."""
        pause = next(self._pauses)
        self._error = str(error)
        emit(
            "run_failed" if self._run_id else "look_failed",
            level=logging.ERROR,
            run=self._run_id,
            error=self._error,
            trying_again_in=pause,
        )
        return timedelta(seconds=pause)

    def _now(self) -> datetime:
        return self._backend.clock()


def _pauses() -> Iterator[float]:
    """Seconds until what failed is tried again, from the first failure in a row on."""
    return pauses(1.0, 32.0, tries=sys.maxsize)
