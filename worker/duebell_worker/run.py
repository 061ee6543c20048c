"""One run: everything that is due in the lanes it holds, then the lanes given back and the rule re-armed.

The run's own thread looks into the queue, hands tasks to a bounded pool and keeps the lease; the pool's
threads claim a task, call its action and write the outcome. Nothing is written once the lease has run out.
"""

import heapq
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from datetime import datetime, timedelta
from random import Random

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsError, NotArmed, NotDeployed, UnreadableTask
from duebell_shared.task import QueueKey, Status, Task

from .action import Action
from .lease import Lease, LeaseLost
from .log import emit
from .metrics import Metrics
from .outcome import Unfinished, after_attempt
from .pool import Pool
from .report import Outcome, RunReport, Tally

__all__ = ["Run"]

#: While actions run on, how long until the queue is looked into again for tasks that came due meanwhile.
_LOOK_AGAIN = timedelta(seconds=5)

#: How long until what could not be claimed is tried again.
_PASSED_OVER = timedelta(minutes=5)

#: Seconds until the rule is tried to be set again before a run starts without its watchdog.
_ARM_AGAIN = (1.0, 4.0)

#: How long after a renewal that failed it is tried again.
_RENEW_AGAIN = timedelta(seconds=5)


class _Attempt:
    """One task in the pool: what it is, what it was claimed as and is run as, and what came of it."""

    def __init__(self, key: QueueKey, status: Status) -> None:
        self.key = key
        self.status = status
        self.claimed: Task | None = None
        self.started: Task | None = None
        self.ended: Task | None = None
        self.outcome: Outcome | None = None


class Run:
    """One run of the worker; made for it, and not used again."""

    def __init__(
        self,
        id: str,
        backend: Backend,
        actions: Mapping[str, Action],
        *,
        pool: Pool,
        places: int,
        random: Random,
        stop_at: datetime | None,
        leave_at: datetime | None,
        metrics: Metrics | None = None,
    ) -> None:
        """Tasks run in `pool`, at most `places` at a time.

        From `stop_at` on no task is started, and at `leave_at` those that still run are given up on: a failed
        attempt, retried later.
        """
        self._id = id
        self._backend = backend
        self._store = backend.store
        self._clock = backend.clock
        self._actions = actions
        self._pool = pool
        self._places = places
        self._random = random
        self._stop_at = stop_at
        self._leave_at = leave_at
        self._metrics = metrics
        self._lease = Lease(backend.armer, id, backend.clock)
        self._renew_at = self._lease.renew_at
        self._tally = Tally()
        self._under_way: dict[Future[None], _Attempt] = {}
        self._not_claimed: list[QueueKey] = []
        self._passed_over: set[QueueKey] = set()
        self._trouble: AwsError | NotDeployed | None = None
        self._stopped_early = False

    def execute(self) -> RunReport:
        """Run what is due. Raises AwsError, NotArmed, NotDeployed, with nothing under way any more.

        Another run with the same id goes on where this one failed; any other one does when the lease ends.
        """
        self._arm()
        lost = False
        try:
            while self._lease.lanes:
                self._run_due()
                self._run_abandoned()
                if self._trouble:
                    raise self._trouble
                if self._release():
                    break
        except LeaseLost:
            lost = True
            emit("lease_lost", level=logging.WARNING, run=self._id)
        record = self._backend.armer.ensure()
        return self._tally.report(
            run=self._id,
            lanes=len(self._lease.lanes),
            rings_at=record.rings_at,
            stopped_early=self._stopped_early,
            lost_lease=lost,
        )

    def _arm(self) -> None:
        """Set the rule to be this run's watchdog, before anything runs that could kill the process.

        Without one, at last, what is due runs all the same: better that than nothing while the rule cannot be
        set, and Lambda invokes again what ends in an error, as this will.
        """
        for pause in (*_ARM_AGAIN, None):
            try:
                self._lease.arm()
            except (NotArmed, AwsError) as error:
                emit("not_armed", level=logging.ERROR, run=self._id, error=str(error), trying_again_in=pause)
            else:
                return
            if pause is not None:
                self._backend.sleep(pause)

    def _run_due(self) -> None:
        """Start what is due, and what comes due while it runs; return when all of it has ended."""
        while True:
            try:
                self._start_due()
            except (AwsError, NotDeployed) as error:
                self._trouble = error
            if self._wait_until_under_way(0, for_at_most=_LOOK_AGAIN):
                return

    def _start_due(self) -> None:
        for key in self._due():
            self._wait_until_under_way(self._places - 1)
            if self._is_time_to_stop():
                self._stopped_early = True
                return
            self._start(key, Status.SCHEDULED)

    def _run_abandoned(self) -> None:
        """Start the tasks that a run left running when it died: one at a time, should one have killed it.

        What cannot be claimed that way either was changed by someone else this very moment, or is nothing
        that this version can run; it is passed over for the rest of this run, and looked at again soon.
        """
        for key in self._take_not_claimed():
            if self._is_time_to_stop():
                self._stopped_early = True
                return
            self._start(key, Status.RUNNING)
            self._wait_until_under_way(0)
            for passed_over in self._take_not_claimed():
                emit("passed_over", level=logging.WARNING, run=self._id, id=passed_over.id)
                self._passed_over.add(passed_over)

    def _release(self) -> bool:
        """Give the lanes back, unless more has come due meanwhile and there is time for it."""
        self._lease.clear()
        heads = {lane: self._head(lane) for lane in self._lease.lanes}
        return self._lease.release(heads, even_if_due=self._is_time_to_stop())

    def _head(self, lane: int) -> datetime:
        """When the lane must be looked at next. What was passed over in it must not keep this run going."""
        head = self._store.head(lane)
        passed_over = {key for key in self._passed_over if key.lane == lane}
        if head > self._clock() or not passed_over:
            return head
        return min(self._store.head(lane, skipping=passed_over), self._clock() + _PASSED_OVER)

    def _due(self) -> Iterator[QueueKey]:
        """The keys of all lanes that are due now and not under way, earliest first."""
        now = self._clock()
        under_way = [attempt.key for attempt in self._under_way.values()]
        for key in heapq.merge(*(self._store.queued(lane, before=now) for lane in self._lease.lanes)):
            if key not in under_way and key not in self._not_claimed and key not in self._passed_over:
                yield key

    def _is_time_to_stop(self) -> bool:
        return self._trouble is not None or (self._stop_at is not None and self._clock() >= self._stop_at)

    def _take_not_claimed(self) -> list[QueueKey]:
        keys, self._not_claimed = self._not_claimed, []
        return keys

    def _start(self, key: QueueKey, status: Status) -> None:
        attempt = _Attempt(key, status)
        self._under_way[self._pool.submit(self._make, attempt)] = attempt

    def _wait_until_under_way(self, most: int, *, for_at_most: timedelta | None = None) -> bool:
        """Wait until at most this many tasks are under way; False if that takes longer than it may.

        Keeps the lease meanwhile, and gives up on what still runs when it is time to leave. Raises LeaseLost.
        """
        give_up = self._clock() + for_at_most if for_at_most else None
        while True:
            now = self._clock()
            if now >= self._renew_at:
                self._renew()
            if len(self._under_way) <= most:
                return True
            if self._leave_at and now >= self._leave_at:
                self._leave_unfinished()
                return True
            if give_up and now >= give_up:
                return False
            until = min(moment for moment in (self._renew_at, self._leave_at, give_up) if moment)
            for future in self._pool.wait(self._under_way, until - now):
                self._take_in(future)

    def _renew(self) -> None:
        try:
            self._lease.renew()
        except (AwsError, NotArmed) as error:
            if not self._lease.is_held():
                raise LeaseLost from error
            emit("not_renewed", level=logging.WARNING, run=self._id, error=str(error))
            self._renew_at = self._clock() + _RENEW_AGAIN
        else:
            self._renew_at = self._lease.renew_at

    def _take_in(self, future: Future[None]) -> None:
        """Count and log what came of an attempt; trouble with AWS ends the run once all has ended."""
        attempt = self._under_way.pop(future)
        try:
            future.result()
        except UnreadableTask as error:
            emit("unreadable", level=logging.ERROR, run=self._id, id=attempt.key.id, error=str(error))
        except (AwsError, NotDeployed) as error:
            self._trouble = error
            emit("unrecorded", level=logging.ERROR, run=self._id, id=attempt.key.id, error=str(error))
        except Exception as error:  # noqa: BLE001 (a bug of ours; it is not to take the other tasks with it)
            emit("unrecorded", level=logging.ERROR, run=self._id, id=attempt.key.id, error=repr(error))
        if attempt.outcome:
            self._count(attempt)
            if attempt.outcome is not Outcome.SUPERSEDED:
                self._go_on_with(attempt.ended)
        elif not self._lease.is_held():
            raise LeaseLost
        elif self._trouble is None:
            self._not_claimed.append(attempt.key)

    def _go_on_with(self, task: Task | None) -> None:
        """Start the task's next occurrence if it is due already."""
        if task and task.queued and task.queued <= self._clock() and not self._is_time_to_stop():
            self._start(QueueKey(queued=task.queued, id=task.id, lane=task.lane), Status.SCHEDULED)

    def _count(self, attempt: _Attempt) -> None:
        before, after = attempt.started, attempt.ended
        if before is None or after is None or attempt.outcome is None:  # given up on before it was claimed
            return
        lateness = before.lateness_ms or 0
        failure = after.failure if attempt.outcome in {Outcome.RETRIED, Outcome.FAILED} else None
        self._tally.count(attempt.outcome, lateness)
        if self._metrics:
            self._metrics.count(before.action, attempt.outcome, lateness, self._clock())
        emit(
            "task",
            level=logging.WARNING if attempt.outcome is Outcome.FAILED else logging.INFO,
            run=self._id,
            id=before.id,
            action=before.action,
            attempt=before.attempt,
            outcome=attempt.outcome,
            lateness_ms=lateness,
            next_attempt=after.queued if attempt.outcome is Outcome.RETRIED else None,
            next_due=after.due if before.recurrence and after.queued else None,
            missed_runs=before.missed_runs or None,
            failure=failure.type if failure else None,
            message=failure.message if failure else None,
        )

    def _leave_unfinished(self) -> None:
        """Record what still runs as failed attempts: the process is about to be frozen or ended."""
        self._stopped_early = True
        for future in [future for future in self._under_way if future.done()]:
            self._take_in(future)
        for attempt in self._under_way.values():
            if attempt.started:
                self._end(attempt, Unfinished())
                self._count(attempt)
        self._under_way.clear()

    # In the pool's threads.

    def _make(self, attempt: _Attempt) -> None:
        """Claim the task, call its action, write the outcome."""
        if not self._lease.is_held():
            return
        claimed = self._store.claim(attempt.key, run=self._id, now=self._clock(), status=attempt.status)
        if claimed is None or not self._lease.is_held():  # it may have stood still for minutes meanwhile
            return
        attempt.claimed, attempt.started = claimed, claimed.caught_up()
        task = attempt.started
        action = self._actions.get(task.action)
        error: BaseException | None = None
        if action and task.attempt <= action.attempts and not task.is_too_late:
            try:
                action(task)
            except BaseException as raised:  # noqa: BLE001 (whatever an action raises, it fails alone)
                error = raised
        self._end(attempt, error)

    def _end(self, attempt: _Attempt, error: BaseException | None) -> None:
        """Write what came of the attempt, unless the task was changed meanwhile, or the lease is lost."""
        claimed, started = attempt.claimed, attempt.started
        if claimed is None or started is None:
            return
        ended, outcome = after_attempt(
            started,
            error,
            self._actions,
            now=self._clock(),
            retention=self._backend.settings.retention,
            random=self._random,
        )
        if not self._lease.is_held():
            return
        is_ours = self._store.save(claimed, ended)
        attempt.ended, attempt.outcome = ended, outcome if is_ours else Outcome.SUPERSEDED
