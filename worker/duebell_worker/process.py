"""The long-running process: waits until something is due, runs it as a Lambda's run does, and waits again.

It claims lanes by the arming record, as every run does. While it waits it holds nothing: it reads the record
from time to time, and claims lanes just before something is due in them. The rule stays armed for the same
tasks, so that the Lambda runs them if the process is gone.
"""

import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from duebell_shared.backoff import pauses
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.errors import AwsError, NotArmed, NotDeployed
from duebell_worker.log import LogLine, emit
from duebell_worker.run.lease import new_run_id
from duebell_worker.run.waits import LOOK_EVERY, time_to_claim
from duebell_worker.worker import Worker

#: Half a minute of grace is usual where containers are stopped; the rest is for giving the lanes back.
DRAIN = timedelta(seconds=20)


class State(StrEnum):
    """The state of a process."""

    WAITING = "waiting"
    RUNNING = "running"
    DRAINING = "draining"


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a process.

    is_well    whether it read or wrote the arming record not long ago
    error      the error of its last call, if that failed
    lost_places  the number of its places that are lost to attempts which still run after their time-out
    """

    is_well: bool
    state: State
    error: str | None = None
    lost_places: int = 0


class Process:
    """Runs what is due until it is told to drain. `drain` and `health` may be called by other threads.

    Its runs share with it:

    stop_at     from then on no task is started; None until the process is told to end
    leave_at    attempts that still run then are ended as failed, and retried later
    unfinished  the number of attempts that were ended so
    is_worn_out  whether it ends because half of its places are lost; then another must be started
    """

    def __init__(self, worker: Worker, *, drain_for: timedelta = DRAIN) -> None:
        """`drain_for` is the time that actions have when the process must end. Raises InvalidSettings."""
        self.stop_at: datetime | None = None
        self.leave_at: datetime | None = None
        self.unfinished = 0
        self.is_worn_out = False
        self._worker = worker
        self._backend = worker.backend
        self._now = worker.backend.clock
        self._drain_for = drain_for
        self._looked_at: datetime | None = None
        self._run_id: str | None = None
        self._is_running = False
        self._pauses = _pauses()
        self._error: str | None = None

    def run(self) -> bool:
        """Run what is due until `drain` was called; return whether all attempts have ended.

        Makes the worker known first. A failure is logged, and the failed call is tried again, except for the
        first read of the record. Raises AwsError, NotDeployed and NotArmed if that read fails, or if the
        lanes could not be given back in the end. Such lanes are free when the lease is over.
        """
        self._read_record()
        self._worker.register()
        emit(LogLine.PROCESS_STARTED)
        while self.stop_at is None:
            try:
                pause = self._go_on()
            except (AwsError, NotArmed, NotDeployed) as error:
                pause = self._failed(error)
            else:
                self._pauses, self._error = _pauses(), None
            self._wait(pause, lambda: self.stop_at is not None)
        if self._run_id:  # the run failed, and may hold lanes still
            self._run()
        # Actions whose run lost its lease have as much time as the actions of other runs.
        now = self._now()
        self._wait((self.leave_at or now) - now, lambda: not self._abandoned)
        unfinished = self.unfinished + self._abandoned
        emit(LogLine.PROCESS_ENDED, unfinished=unfinished)
        return not unfinished

    @property
    def _abandoned(self) -> int:
        """The number of actions that still run within their time-out, although their run lost its lease."""
        return self._worker.kept_places - self._worker.lost_places

    def drain(self) -> None:
        """Start no task from now on, give running tasks their time, and end."""
        if self.stop_at is None:
            now = self._now()
            # In this order: a run that sees `stop_at` then reads the new `leave_at`.
            self.leave_at = now + self._drain_for
            self.stop_at = now
            emit(LogLine.PROCESS_DRAINS, ends_by=self.leave_at)

    def health(self) -> Health:
        """Tell how the process is. It is not well if it could not read the record for the time of a lease."""
        looked_at = self._looked_at
        state = State.RUNNING if self._is_running else State.WAITING
        return Health(
            is_well=looked_at is not None and self._now() - looked_at < LEASE + LOOK_EVERY,
            state=State.DRAINING if self.stop_at else state,
            error=self._error,
            lost_places=self._worker.lost_places,
        )

    # For its runs.

    def note_lost_places(self) -> None:
        """End if attempts that still run after their time-out keep half of the places, or more."""
        lost, places = self._worker.lost_places, self._worker._concurrency  # noqa: SLF001
        if 2 * lost >= places and not self.is_worn_out:
            self.is_worn_out = True
            emit(LogLine.PLACES_LOST, lost=lost, places=places)
            self.drain()

    def note_contact(self) -> None:
        self._looked_at = self._now()
        self.note_lost_places()

    def _go_on(self) -> timedelta:
        """Read the record, and make a run if it is time. Returns how long to wait before the next read."""
        claim_in = self._read_record() - self._now()
        could_start = self._run_id or self._worker.kept_places < self._worker._concurrency  # noqa: SLF001
        if not could_start:
            return LOOK_EVERY
        if claim_in > timedelta(0):
            return min(claim_in, LOOK_EVERY)
        # A pause follows a run that had nothing to do. The next run might find the lanes held again, or the
        # same task that it cannot run.
        return timedelta(0) if self._run() else LOOK_EVERY

    def _read_record(self) -> datetime:
        """Read the arming record. Returns when to claim lanes: now, if a run that failed holds some."""
        record = self._backend.armer.read()
        self.note_contact()
        now = self._now()
        return now if self._run_id else time_to_claim(record, now)

    def _wait(self, left: timedelta, is_over: Callable[[], bool]) -> None:
        """Wait so long, whatever the clock is set to meanwhile, or until `is_over`."""
        while left > timedelta(0) and not is_over():
            step = min(left, LOOK_EVERY)
            self._backend.sleep(step.total_seconds())
            left -= step

    def _run(self) -> bool:
        """Make a run, or go on with the one that failed. Returns whether it had anything to do."""
        self._run_id = self._run_id or new_run_id(uuid.uuid4().hex)
        self._is_running = True
        try:
            report = self._worker._run(self._run_id, self._backend, None, host=self)  # noqa: SLF001 (its own package)
        finally:
            self._is_running = False
        self._run_id = None
        return report.attempts > 0

    def _failed(self, error: Exception) -> timedelta:
        """Log a failure. Returns the pause until the next try."""
        pause = next(self._pauses)
        self._error = str(error)
        line = LogLine.RUN_FAILED if self._run_id else LogLine.LOOK_FAILED
        emit(line, run=self._run_id, error=self._error, trying_again_in=pause)
        return timedelta(seconds=pause)


def _pauses() -> Iterator[float]:
    """Seconds until a failed call is tried again, after each failure in a row."""
    return pauses(1.0, 32.0, tries=sys.maxsize)
