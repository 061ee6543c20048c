"""The attempts of one run: made side by side in a pool, and counted and logged as they end.

The pool's threads claim tasks, call their actions and write the outcomes; what several are at it to claim, or
to write, at the same time goes together. Nothing is written once the lease has run out.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from random import Random
from typing import Any

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsError, AwsUnavailable, DuebellError, NotDeployed, UnreadableTask
from duebell_shared.store import AT_ONCE
from duebell_shared.task import QueueKey, Status, Task

from .action import Action
from .attempt import Attempt, Ending
from .gathering import Gathered
from .lease import Lease, LeaseLost
from .log import emit
from .metrics import Metrics
from .outcome import Unfinished, after_attempt
from .pool import Pool
from .report import Outcome, Tally
from .trouble import Trouble
from .writes import Writes

__all__ = ["Attempts"]


class Attempts:
    """What is under way in a run, and what came of what was.

    tally         what came of those that have ended
    not_deployed  why nothing more can be done in this run
    not_claimed   those whose task could not be claimed as it was queued; the run takes out what it deals with
    """

    def __init__(
        self,
        run: str,
        backend: Backend,
        actions: Mapping[str, Action[..., Any]],
        lease: Lease,
        trouble: Trouble,
        *,
        pool: Pool,
        random: Random,
        metrics: Metrics | None,
    ) -> None:
        self.tally = Tally()
        self.not_deployed: NotDeployed | None = None
        self.not_claimed: list[QueueKey] = []
        self._run = run
        self._store = backend.store
        self._clock = backend.clock
        self._sleep = backend.sleep
        self._keep = backend.settings.keeping
        self._actions = actions
        self._lease = lease
        self._trouble = trouble
        self._writes = Writes(run, backend, lease, trouble)
        self._pool = pool
        self._random = random
        self._metrics = metrics
        self._under_way: dict[Future[None], Attempt] = {}
        self._unwritten: list[Ending] = []
        self._to_claim: list[Attempt] = []
        self._starting = threading.Lock()
        self._has_left = False
        self._beginnings = Gathered(self._begin, most=AT_ONCE)
        self._outcomes = Gathered(self._record, most=AT_ONCE)

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._under_way)

    def under_way(self) -> list[QueueKey]:
        """Those that are under way, or whose outcome is still to be written."""
        unwritten = [ending.attempt for ending in self._unwritten]
        return [attempt.key for attempt in (*self._under_way.values(), *unwritten)]

    def write_again(self) -> None:
        """Have the outcomes written that could not be, but for those in lanes that are left alone now.

        The lease is still held, so nobody else has made another attempt.
        """
        left = [one for one in self._unwritten if self._trouble.again_at(one.attempt.key.lane)]
        endings = [one for one in self._unwritten if one not in left]
        self._unwritten = left
        for ending in endings:
            ending.attempt.over = Future()
            self._under_way[ending.attempt.over] = ending.attempt
        if endings:
            self._pool.submit(self._record, endings)

    def start(self, key: QueueKey, status: Status) -> None:
        """Begin an attempt at the task that is queued there with this status, when `claim` is called next."""
        attempt = Attempt(key, status)
        self._under_way[attempt.over] = attempt
        if self._to_claim and self._to_claim[0].status is not status:
            self.claim()
        self._to_claim.append(attempt)
        if len(self._to_claim) == AT_ONCE:
            self.claim()

    def claim(self) -> bool:
        """Have those claimed together that were started since the last time; False if none were."""
        attempts, self._to_claim = self._to_claim, []
        if attempts:
            self._pool.submit(self._claim, attempts)
        return bool(attempts)

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
        """Record what still runs as failed attempts: the process is about to be frozen or ended.

        What was claimed and not begun is given back, and nothing counts.
        """
        for future in [future for future in self._under_way if future.done()]:
            self._take_in(future)
        with self._starting:
            self._has_left = True
        attempts = list(self._under_way.values())
        unstarted = [attempt for attempt in attempts if not attempt.started]
        self._give_back([one.claimed for one in unstarted if one.claimed])
        self._give_back([one.begun for one in unstarted if one.begun])  # if that was stored meanwhile
        under_way = [attempt.ending or self._ending(attempt, Unfinished()) for attempt in attempts]
        endings = [ending for ending in under_way if ending]
        for ending, saved in zip(
            endings, self._writes.save(ending.change for ending in endings), strict=True
        ):
            if isinstance(saved, BaseException):
                self._note(ending.attempt.key.id, saved)
            elif saved is not None:
                self._count(ending, ending.outcome if saved else Outcome.SUPERSEDED)
        self._under_way.clear()
        self._to_claim.clear()

    def _give_back(self, claimed: Sequence[Task]) -> None:
        """Have the tasks wait as before they were claimed; but for those whose attempts are used up."""
        actions = ((task, self._actions.get(task.action)) for task in claimed)
        given = [
            (task, task.given_back()) for task, action in actions if action and not action.is_used_up(task)
        ]
        for (task, _), result in zip(given, self._writes.save(given), strict=True):
            if isinstance(result, BaseException):
                self._note(task.id, result)

    def _take_in(self, future: Future[None]) -> Task | None:
        """Count and log what came of an attempt, and return the task.

        One that AWS did not let be claimed or recorded is tried again when its lane is looked at next.
        """
        attempt = self._under_way.pop(future)
        if error := future.exception():
            self._note(attempt.key.id, error, what="unrecorded" if attempt.claimed else "not_claimed")
            self._trouble.pass_over(attempt.key, is_readable=isinstance(error, AwsError))
            if attempt.ending and isinstance(error, AwsError):
                self._unwritten.append(attempt.ending)
            return None
        if attempt.ending and attempt.outcome:
            self._count(attempt.ending, attempt.outcome)
            return None if attempt.outcome is Outcome.SUPERSEDED else attempt.ending.ended
        if not self._lease.is_held():
            raise LeaseLost
        self.not_claimed.append(attempt.key)
        return None

    def _note(self, id: str, error: BaseException, *, what: str = "unrecorded") -> None:
        """Log what went wrong with a task: it could not be claimed, or what came of it be recorded."""
        if not isinstance(error, Exception):
            raise error
        if isinstance(error, NotDeployed):
            self.not_deployed = error
        event = "unreadable" if isinstance(error, UnreadableTask) else what
        said = (
            str(error) if isinstance(error, DuebellError) else repr(error)
        )  # a bug of ours takes no other task
        emit(event, level=logging.ERROR, run=self._run, id=id, error=said)

    def _count(self, ending: Ending, outcome: Outcome) -> None:
        before, after = ending.started, ending.ended
        lateness = before.lateness_ms or 0
        failure = after.failure if outcome in {Outcome.RETRIED, Outcome.FAILED} else None
        self.tally.count(outcome, lateness)
        if self._metrics:
            self._metrics.count(before.action, outcome, lateness, self._clock())
        emit(
            "task",
            level=logging.WARNING if outcome is Outcome.FAILED else logging.INFO,
            run=self._run,
            id=before.id,
            action=before.action,
            attempt=before.attempt,
            outcome=outcome,
            lateness_ms=lateness,
            next_attempt=after.queued if outcome is Outcome.RETRIED else None,
            next_due=after.due if before.recurrence and after.queued else None,
            missed_runs=before.missed_runs or None,
            failure=failure.type if failure else None,
            message=failure.message if failure else None,
        )

    # In the pool's threads. Whatever happens there, the attempt is over at last: the run waits for that.

    def _claim(self, attempts: list[Attempt]) -> None:
        """Claim the tasks, all of the same status, and have those called that could be."""
        found = self._writes.claim([attempt.key for attempt in attempts], attempts[0].status)
        for attempt, task in zip(attempts, found, strict=True):
            if isinstance(task, BaseException):
                attempt.over.set_exception(task)
            elif task is None or not self._lease.is_held():  # it may have stood still for minutes meanwhile
                attempt.over.set_result(None)
            else:
                attempt.claimed = task
                self._pool.submit(self._act, attempt, task)

    def _act(self, attempt: Attempt, claimed: Task) -> None:
        """Perform the attempt; if it is the last, have it recorded as begun before."""
        try:
            action = self._actions.get(claimed.action)
            if action and action.is_last_attempt(claimed) and not claimed.caught_up().is_too_late:
                attempt.begun = claimed.beginning(action.attempts)
        except BaseException as error:  # noqa: BLE001 (a bug of ours)
            attempt.over.set_exception(error)
            return
        if attempt.begun:
            self._beginnings(attempt)
        else:
            self._perform(attempt, claimed)

    def _begin(self, attempts: list[Attempt]) -> None:
        """Record these last attempts as begun, and have those performed that are.

        From then on nobody else performs them. So they are performed whatever becomes of the lease.
        """
        known = [(one, one.claimed, one.begun) for one in attempts if one.claimed and one.begun]
        saved = self._writes.save([(claimed, begun) for _, claimed, begun in known])
        for (attempt, claimed, begun), result in zip(known, saved, strict=True):
            try:
                is_begun = result is True
                if isinstance(result, AwsUnavailable):
                    is_begun = self._may_be_stored(begun)
                    attempt.unsure = claimed
                if is_begun:
                    self._pool.submit(self._perform, attempt, begun)
                elif isinstance(result, BaseException):
                    attempt.over.set_exception(result)
                else:  # the lease is lost, or the task was changed meanwhile
                    attempt.over.set_result(None)
            except BaseException as error:  # noqa: BLE001 (a bug of ours, or an item that someone has edited)
                attempt.over.set_exception(error)

    def _may_be_stored(self, task: Task) -> bool:
        """Whether the task is stored so, or nobody can tell. Raises NotDeployed, UnreadableTask."""
        try:
            return self._store.get(task.lane, task.id) == task
        except AwsError:
            return True

    def _perform(self, attempt: Attempt, claimed: Task) -> None:
        """Call the action of a task, and have the outcome written; not if the run has left meanwhile."""
        try:
            task = claimed.caught_up()
            with self._starting:
                if self._has_left:
                    attempt.over.set_result(None)
                    return
                attempt.claimed = claimed
                attempt.started = task.left_running() if attempt.status is Status.RUNNING else task
            attempt.ending = self._ending(attempt, self._call(attempt.started))
        except BaseException as error:  # noqa: BLE001 (a bug of ours)
            attempt.over.set_exception(error)
        if attempt.ending:
            self._outcomes(attempt.ending)

    def _call(self, task: Task) -> BaseException | None:
        """Call the action; what it raises, whatever that is, is no more than a failed attempt."""
        action = self._actions.get(task.action)
        if action and not action.is_used_up(task) and not task.is_too_late:
            try:
                action.handle(task)
            except BaseException as raised:  # noqa: BLE001 (whatever an action raises, it fails alone)
                return raised
        return None

    def _ending(self, attempt: Attempt, error: BaseException | None) -> Ending | None:
        """What comes of the attempt that raised this, or nothing; None for one that was not begun."""
        claimed, started = attempt.claimed, attempt.started
        if claimed is None or started is None:
            return None
        ended, outcome = after_attempt(
            started,
            error,
            self._actions,
            now=self._clock(),
            keep=self._keep,
            random=self._random,
        )
        kept = ended if ended.is_kept(self._keep) else None
        return Ending(attempt, claimed, started, ended, kept, outcome)

    def _record(self, endings: list[Ending]) -> None:
        """Write what came of these attempts."""
        for ending, saved in zip(
            endings, self._writes.save(ending.change for ending in endings), strict=True
        ):
            attempt = ending.attempt
            if saved is False and attempt.unsure:  # it was not recorded as begun
                [saved] = self._writes.save([(attempt.unsure, ending.kept)])  # noqa: PLW2901
            if isinstance(saved, BaseException):
                attempt.over.set_exception(saved)
                continue
            if saved is not None:
                attempt.outcome = ending.outcome if saved else Outcome.SUPERSEDED
            attempt.over.set_result(None)
