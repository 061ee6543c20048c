"""The attempts of one run: made side by side in a pool, and counted and logged as they end.

The pool's threads claim a task, call its action and write the outcome. Nothing is written once the lease has
run out.
"""

import logging
from collections.abc import Mapping
from concurrent.futures import Future
from datetime import timedelta
from random import Random

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsError, NotDeployed, UnreadableTask
from duebell_shared.task import QueueKey, Status, Task

from .action import Action
from .lease import Lease, LeaseLost
from .log import emit
from .metrics import Metrics
from .outcome import Unfinished, after_attempt
from .pool import Pool
from .report import Outcome, Tally

__all__ = ["Attempts"]


class _Attempt:
    """One task in the pool: what it is, what it was claimed as and is run as, and what came of it."""

    def __init__(self, key: QueueKey, status: Status) -> None:
        self.key = key
        self.status = status
        self.claimed: Task | None = None
        self.started: Task | None = None
        self.ended: Task | None = None
        self.outcome: Outcome | None = None


class Attempts:
    """What is under way in a run, and what came of what was.

    tally    what came of those that have ended
    trouble  why nothing more can be done in this run
    """

    def __init__(
        self,
        run: str,
        backend: Backend,
        actions: Mapping[str, Action],
        lease: Lease,
        *,
        pool: Pool,
        random: Random,
        metrics: Metrics | None,
    ) -> None:
        self.tally = Tally()
        self.trouble: AwsError | NotDeployed | None = None
        self._run = run
        self._store = backend.store
        self._clock = backend.clock
        self._sleep = backend.sleep
        self._retention = backend.settings.retention
        self._actions = actions
        self._lease = lease
        self._pool = pool
        self._random = random
        self._metrics = metrics
        self._under_way: dict[Future[None], _Attempt] = {}
        self._not_claimed: list[QueueKey] = []

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._under_way)

    def under_way(self) -> list[QueueKey]:
        """Those that are under way."""
        return [attempt.key for attempt in self._under_way.values()]

    def not_claimed(self) -> list[QueueKey]:
        """Those whose task could not be claimed as it was queued, since `take_not_claimed`."""
        return self._not_claimed

    def take_not_claimed(self) -> list[QueueKey]:
        """The same, and they are the caller's concern from now on."""
        keys, self._not_claimed = self._not_claimed, []
        return keys

    def start(self, key: QueueKey, status: Status) -> None:
        """Begin an attempt at the task that is queued there with this status."""
        attempt = _Attempt(key, status)
        self._under_way[self._pool.submit(self._make, attempt)] = attempt

    def wait(self, patience: timedelta) -> list[Task]:
        """Wait until some have ended, but no longer than this; the tasks that are in the queue again.

        Raises LeaseLost.
        """
        if not self._under_way:
            self._sleep(max(patience.total_seconds(), 0))
            return []
        ended = [self._take_in(future) for future in self._pool.wait(self._under_way, patience)]
        return [task for task in ended if task and task.queued]

    def leave(self) -> None:
        """Record what still runs as failed attempts: the process is about to be frozen or ended."""
        for future in [future for future in self._under_way if future.done()]:
            self._take_in(future)
        for attempt in self._under_way.values():
            if attempt.started:
                self._end(attempt, Unfinished())
                self._count(attempt)
        self._under_way.clear()

    def _take_in(self, future: Future[None]) -> Task | None:
        """Count and log what came of an attempt, and return the task; trouble with AWS ends the run later."""
        attempt = self._under_way.pop(future)
        try:
            future.result()
        except UnreadableTask as error:
            emit("unreadable", level=logging.ERROR, run=self._run, id=attempt.key.id, error=str(error))
        except (AwsError, NotDeployed) as error:
            self.trouble = error
            emit("unrecorded", level=logging.ERROR, run=self._run, id=attempt.key.id, error=str(error))
        except Exception as error:  # noqa: BLE001 (a bug of ours; it is not to take the other tasks with it)
            emit("unrecorded", level=logging.ERROR, run=self._run, id=attempt.key.id, error=repr(error))
        if attempt.outcome:
            self._count(attempt)
            return None if attempt.outcome is Outcome.SUPERSEDED else attempt.ended
        if not self._lease.is_held():
            raise LeaseLost
        if self.trouble is None:
            self._not_claimed.append(attempt.key)
        return None

    def _count(self, attempt: _Attempt) -> None:
        before, after = attempt.started, attempt.ended
        if before is None or after is None or attempt.outcome is None:  # given up on before it was claimed
            return
        lateness = before.lateness_ms or 0
        failure = after.failure if attempt.outcome in {Outcome.RETRIED, Outcome.FAILED} else None
        self.tally.count(attempt.outcome, lateness)
        if self._metrics:
            self._metrics.count(before.action, attempt.outcome, lateness, self._clock())
        emit(
            "task",
            level=logging.WARNING if attempt.outcome is Outcome.FAILED else logging.INFO,
            run=self._run,
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

    # In the pool's threads.

    def _make(self, attempt: _Attempt) -> None:
        """Claim the task, call its action, write the outcome."""
        if not self._lease.is_held():
            return
        claimed = self._store.claim(attempt.key, run=self._run, now=self._clock(), status=attempt.status)
        if claimed is None or not self._lease.is_held():  # it may have stood still for minutes meanwhile
            return
        task = claimed.caught_up()
        if attempt.status is Status.RUNNING:
            task = task.left_running()
        attempt.claimed, attempt.started = claimed, task
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
            retention=self._retention,
            random=self._random,
        )
        if not self._lease.is_held():
            return
        is_ours = self._store.save(claimed, ended)
        attempt.ended, attempt.outcome = ended, outcome if is_ours else Outcome.SUPERSEDED
