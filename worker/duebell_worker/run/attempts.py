"""The attempts of one run: its own thread starts them, waits for them, counts and logs them."""

import logging
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Any

from duebell_shared.errors import AwsError, DuebellError, NotDeployed, UnreadableTask
from duebell_shared.instants import NEVER
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.tasks.checks import RESERVED
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task, queue_key
from duebell_worker.log import LogLine

from .attempt import Attempt, Ended
from .context import RunContext
from .lanes import PAUSE, Lanes
from .lease import Lease, LeaseLost
from .performer import Performer
from .report import Outcome, Tally, parts_of

#: Outcomes after which the same occurrence is tried again.
_AGAIN = {Outcome.RETRIED, Outcome.SNOOZED, Outcome.LIMITED}

#: The time between two looks for attempts whose time-out is over.
_LOOK_AGAIN = timedelta(seconds=1)

#: The time between two reads of the running tasks whose actions are stoppable.
_READ_TASKS = timedelta(seconds=3)

#: The most tasks under way in batches, beside the tasks that take places.
_IN_BATCHES = 100


class Attempts:
    """The attempts that are under way, and the results of those that have ended.

    not_deployed  the error after which nothing more can be done in this run
    not_claimed   tasks whose claim was refused; the run removes each that it handles
    superseded    whether an outcome was superseded, since the run read the queue
    has_left      whether no action is called any more: see `leave`
    put_back      the tasks that are in the queue again after an attempt, with the time of the next one. They
                  are few: only attempts that ended since the run read the queue count
    """

    def __init__(self, context: RunContext, lease: Lease, lanes: Lanes) -> None:
        self.tally = Tally()
        self.not_deployed: NotDeployed | None = None
        self.not_claimed: list[QueueKey] = []
        self.superseded = False
        self.has_left = False
        self.put_back: dict[tuple[int, str], QueueKey] = {}
        self._context = context
        self._lease = lease
        self._lanes = lanes
        self._trouble = lanes.trouble
        self._performer = Performer(context, lease, lanes)
        self.limiter = self._performer.limiter
        self._under_way: dict[Future[Ended | None], Attempt] = {}
        self._claims: set[Future[None]] = set()
        users = [action for name, action in context.actions.items() if not name.startswith(RESERVED)]
        self._must_watch = any(action.timeout or action.stoppable for action in users)
        self._read_tasks_at = context.now()
        self._to_claim: list[Attempt] = []
        self._unrecorded: list[Attempt] = []

    def begin_read(self) -> None:
        """Forget the changes that the read of the queue that begins now will see."""
        self.superseded = False
        self.put_back.clear()

    def __len__(self) -> int:
        return len(self._under_way)

    @property
    def has_place(self) -> bool:
        """True if another task can be started.

        Tasks that are sent in batches take no place, because no thread waits for each. Memory limits their
        number.
        """
        places = self._context.free_places
        if len(self._under_way) < places:
            return True
        in_places = sum(attempt.has_place for attempt in self._under_way.values())
        return in_places < places and len(self._under_way) < places + _IN_BATCHES

    @property
    def has_lost_all(self) -> bool:
        """True if attempts for which no run waits any more have taken the last place."""
        return bool(self._context.overrunning) and self._context.free_places <= 0

    def watch(self) -> datetime:
        """End attempts whose time-out is over, and tell others to stop; return when to look again.

        Problem: an attempt begins in a thread of the pool, unknown to the run's own. Solution: the run looks
        every second, if its actions have time-outs or are stoppable.
        """
        if not self._must_watch or not self._under_way:
            return NEVER
        now = self._context.now()
        self._tell_to_stop(now)
        late = [one for one in self._under_way.values() if one.ends_by and one.ends_by <= now]
        if late:
            self._performer.time_out(late)
        return now + _LOOK_AGAIN

    def _tell_to_stop(self, now: datetime) -> None:
        """Tell attempts to stop: all when no time is left; else the attempts whose tasks were changed."""
        running = [one for one in self._under_way.values() if one.stop and not one.stop.is_set()]
        if self._context.is_out_of_time:
            self._tell_all_to_stop()
        elif not running:
            self._read_tasks_at = now + _READ_TASKS
        elif now >= self._read_tasks_at:
            self._read_tasks_at = now + _READ_TASKS
            found = self._lanes.tasks_of([attempt.key for attempt in running])
            for attempt in running:
                task = found.get(attempt.key)
                if task and task.rev not in {stored.rev for stored in attempt.stored}:
                    attempt.tell_to_stop()

    @property
    def is_claiming(self) -> bool:
        """True if some of the tasks that were started have yet to be claimed."""
        return any(not attempt.stored for attempt in self._under_way.values())

    def lanes_of_ahead(self) -> set[int]:
        """Return the lanes of the tasks under way that were started before their places in the queue."""
        return {attempt.key.lane for attempt in self._under_way.values() if attempt.is_ahead}

    def under_way(self) -> list[QueueKey]:
        """Return the tasks that are under way, or whose outcome is still to be recorded."""
        return [attempt.key for attempt in (*self._under_way.values(), *self._unrecorded)]

    def start(self, key: QueueKey, status: Status, *, is_ahead: bool = False) -> None:
        """Begin an attempt at the queued task, if it has this status, with the next call of `claim`."""
        self.put_back.pop((key.lane, key.id), None)
        attempt = Attempt(key, status, self._context.wake, is_ahead=is_ahead)
        self._under_way[attempt.over] = attempt
        if self._to_claim and self._to_claim[0].status is not status:
            self.claim()
        self._to_claim.append(attempt)
        if len(self._to_claim) == AT_ONCE:
            self.claim()

    def claim(self) -> bool:
        """Have a thread claim the tasks that were started since the last call; False if none were."""
        attempts, self._to_claim = self._to_claim, []
        if attempts:
            claim = self._context.pool.submit(self._performer.claim, attempts)
            if self._context.deliver:  # then a claim may free places
                self._claims.add(claim)
        return bool(attempts)

    def add_follow_ups(self, found: Mapping[QueueKey, Task]) -> set[QueueKey]:
        """Add the follow-ups that these tasks owe, as they are now; return the keys of tasks that owed."""
        ended = {key: task for key, task in found.items() if task.owes and queue_key(task) == key}
        for task in self._performer.follow_ups.add(list(ended.values())) if ended else ():
            self._note_queued(task)  # it goes on with its next occurrence, or could not be written now
        return set(ended)

    def record_again(self) -> None:
        """Have a thread record the outcomes whose writes failed, except in lanes that are in trouble now.

        The lease is still held, so no other run has made another attempt.
        """
        in_trouble = [one for one in self._unrecorded if self._trouble.again_at(one.key.lane)]
        attempts = [one for one in self._unrecorded if one not in in_trouble]
        self._unrecorded = in_trouble
        for attempt in attempts:
            attempt.over = Future()
            self._under_way[attempt.over] = attempt
        if attempts and self.has_lost_all:  # no thread is left
            self._performer.record(attempts)
        elif attempts:
            self._context.pool.submit(self._performer.record, attempts)

    def wait(self, patience: timedelta) -> list[Task]:
        """Wait at most this long until attempts have ended; return their tasks that are queued again.

        Raises LeaseLost.
        """
        if not self._under_way:
            self._context.backend.sleep(max(patience.total_seconds(), 0))
            return []
        awaited: Collection[Future[Any]] = [*self._under_way, *self._claims]
        over = self._context.pool.wait(awaited, patience)
        self._claims.difference_update(over)
        ended = [self._take_result(future) for future in over if future in self._under_way]
        return [task for task in ended if task and task.queued and not task.owes]

    def leave(self) -> None:
        """End all attempts: the process is about to be frozen or ended; see `Performer.leave`."""
        self.tally.stopped_early = self.has_left = True
        self._tell_all_to_stop()
        for future in [future for future in self._under_way if future.done()]:
            self._take_result(future)
        for attempt, recorded in self._performer.leave(list(self._under_way.values())):
            if isinstance(recorded, BaseException):
                self._log_error(LogLine.UNRECORDED, attempt, recorded)
            elif recorded:
                self._count(recorded)
        self._under_way.clear()
        self._to_claim.clear()

    def abandon(self) -> int:
        """Leave the attempts to their threads, as the lease is lost; return how many still run.

        They keep their places, so that the process never runs more actions at a time than it has places.
        Their outcomes are not recorded.
        """
        self._tell_all_to_stop()
        running = [attempt for attempt in self._under_way.values() if attempt.is_running]
        overrunning = self._context.overrunning
        overrunning[:] = [one for one in overrunning if one.keeps_place]
        overrunning += [attempt for attempt in running if attempt not in overrunning]
        return len(running)

    def _tell_all_to_stop(self) -> None:
        for attempt in self._under_way.values():
            attempt.tell_to_stop()

    def _take_result(self, future: Future[Ended | None]) -> Task | None:
        """Count and log the outcome of an attempt, and return the task.

        A claim or a record that AWS refused is tried again when the lane is read next.
        """
        attempt = self._under_way.pop(future)
        if error := future.exception():
            self._log_error(LogLine.UNRECORDED if attempt.stored else LogLine.NOT_CLAIMED, attempt, error)
            is_of_aws = isinstance(error, AwsError)
            self._trouble.skip(attempt.key, until=self._context.now() + PAUSE if is_of_aws else None)
            if attempt.ended and is_of_aws:
                self._unrecorded.append(attempt)
            return None
        if recorded := future.result():
            self._count(recorded)
            task = recorded.task
            if recorded.outcome is Outcome.SUPERSEDED:
                self.superseded = True
                return None
            self._note_queued(task)
            return task
        if not self._lease.is_held():
            raise LeaseLost
        # The claim was refused. If a task was started ahead of its place, somebody has changed it: the queue
        # tells when it is due. If it is under way, this run has claimed it.
        if not attempt.is_ahead and attempt.key not in self.under_way():
            self.not_claimed.append(attempt.key)
        return None

    def _note_queued(self, task: Task) -> None:
        if task.queued:
            self.put_back[task.lane, task.id] = queue_key(task)

    def _log_error(self, line: LogLine, attempt: Attempt, error: BaseException) -> None:
        if not isinstance(error, Exception):
            raise error
        if isinstance(error, NotDeployed):
            self.not_deployed = error
        if isinstance(error, UnreadableTask):
            line = LogLine.UNREADABLE
        said = str(error) if isinstance(error, DuebellError) else repr(error)  # a bug of ours
        self._context.log(line, id=attempt.key.id, error=said)

    def _count(self, ended: Ended) -> None:
        before, after, outcome = ended.started, ended.task, ended.outcome
        lateness = before.lateness_ms or 0
        failure = after.failure if outcome in {Outcome.RETRIED, Outcome.FAILED} else None
        parts = parts_of(before)
        self.tally.count(outcome, lateness, parts)
        if (metrics := self._context.metrics) and outcome is not Outcome.LIMITED:
            metrics.count(before.action, outcome, lateness, parts, self._context.now())
        self._context.log(
            LogLine.TASK,
            level=logging.WARNING if outcome is Outcome.FAILED else logging.INFO,
            id=before.id,
            action=before.action,
            attempt=before.attempt,
            outcome=outcome,
            lateness_ms=lateness,
            next_attempt=after.queued if outcome in _AGAIN else None,
            limited_since=after.limited_since or before.limited_since,
            next_due=after.due if before.recurrence and after.queued else None,
            missed_runs=before.missed_runs or None,
            failure=failure.type if failure else None,
            message=failure.message if failure else None,
        )
