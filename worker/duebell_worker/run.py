"""One run: everything that is due in the lanes it holds, then the lanes given back and the rule re-armed.

The run's own thread looks into the queue, hands tasks to the pool and keeps the lease. With precision
"second" it stays for what is due soon; with more due than it can do in time it hands lanes to further runs.
"""

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from random import Random

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsError, NotArmed, NotDeployed, UnreadableTask
from duebell_shared.instants import NEVER
from duebell_shared.ring_times import LEAD
from duebell_shared.run_notes import LastRun
from duebell_shared.task import QueueKey, Status, Task
from duebell_shared.twins import drop_twin

from .action import Action
from .attempts import Attempts
from .helpers import Helpers
from .lane_reader import LaneReader
from .lease import Lease, LeaseLost
from .log import emit
from .measures import measure
from .metrics import Metrics
from .pool import Pool
from .report import RunReport
from .trouble import Call, Trouble
from .watch import Watch

__all__ = ["Run"]

#: While actions run on, how long until the queue is looked into again for tasks that came due meanwhile.
_LOOK_AGAIN = timedelta(seconds=5)

#: What is due so soon is waited for always: it may be due already by the clock of who called this run.
_MOMENT = timedelta(seconds=2)

#: Seconds until the rule is tried to be set again before a run starts without its watchdog.
_ARM_AGAIN = (1.0, 4.0)

#: How long after a renewal that failed it is tried again.
_RENEW_AGAIN = timedelta(seconds=5)


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
        lanes: tuple[int, ...] | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """Tasks run in `pool`, at most `places` at a time; of the free lanes it takes `lanes`, or all.

        One for no lanes was asked for by someone who may have set the rule elsewhere: it sets that right.

        From `stop_at` on no task is started, and at `leave_at` those that still run are given up on: a failed
        attempt, retried later. Without these it does what is due, or is in a moment, and shares nothing.
        """
        self._id = id
        self._backend = backend
        self._clock = backend.clock
        self._places = places
        self._stop_at = stop_at
        self._leave_at = leave_at
        self._head_start = backend.settings.head_start
        self._waits = bool(self._head_start) and stop_at is not None
        self._only_arms = lanes == ()
        self._lease = Lease(backend.armer, id, backend.clock, only=lanes, head_start=self._head_start)
        self._renew_at = self._lease.renew_at
        self._trouble = Trouble(id, backend.clock, rested=self._lease.resting(self._lease.lanes))
        self._reader = LaneReader(backend, self._trouble)
        self._attempts = Attempts(
            id, backend, actions, self._lease, self._trouble, pool=pool, random=random, metrics=metrics
        )
        most = backend.settings.max_runs if backend.function and stop_at else 0
        self._helpers = Helpers(id, backend, self._lease, self._reader, self._attempts, most=most)
        self._watch = Watch(id, self._lease, backend.clock)
        self._is_full = False
        self._next_due = NEVER
        self._stopped_early = False
        self.measured: dict[str, int] = {}
        self._sizes: dict[int, int] = {}
        self._measures = (
            metrics is not None and self._lease.seen.counting(backend.clock()) != self._lease.seen
        )
        self._take_sizes()

    def execute(self) -> RunReport:
        """Run what is due. Raises AwsError, NotArmed, NotDeployed, with nothing under way any more.

        What AWS refuses for one lane or task is tried again, and does not end the run. What it refuses for
        all of them is raised, most often when the lanes are given back. If they are not, another run with the
        same id goes on where this one failed, and any other one when the lease ends.
        """
        self._arm()
        lost = False
        try:
            while self._lease.lanes:
                self._run_due()
                self._run_abandoned()
                if self._attempts.not_deployed:
                    raise self._attempts.not_deployed
                if self._release():
                    break
                self._wait(-1, until=self._next_due)
        except LeaseLost:
            lost = True
            emit("lease_lost", level=logging.WARNING, run=self._id)
        armer = self._backend.armer
        record = armer.verify() if self._only_arms else armer.ensure()
        self._backend.hasten(record)
        if error := self._trouble.of_all(len(self._lease.lanes)):
            raise error
        return self._attempts.tally.report(
            run=self._id,
            lanes=len(self._lease.lanes),
            rings_at=record.rings_at,
            stopped_early=self._stopped_early,
            lost_lease=lost,
            resting=tuple(each.lane for each in self._trouble.resting(self._lease.lanes)),
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
            except NotDeployed as error:
                self._attempts.not_deployed = error
            is_all_done = self._wait(0, until=min(self._clock() + _LOOK_AGAIN, self._next_due))
            if not self._helpers.take_lanes() and is_all_done:
                return

    def _start_due(self) -> None:
        if not self._attempts:
            self._helpers.begin()
        self._attempts.write_again()
        was_full = False
        for key in self._due():
            if len(self._attempts) >= self._places:
                was_full = self._is_full = True
                self._watch.stop_taking_over()
            self._wait(self._places - 1)
            if self._is_time_to_stop():
                self._stopped_early = True
                return
            if self._helpers.are_needed() or self._helpers.take_lanes():
                self._next_due = self._clock()  # look again at once, into the lanes that are left
                return
            if not self._trouble.again_at(key.lane) and not self._was_twin(key):
                self._attempts.start(key, Status.SCHEDULED)
        self._is_full = was_full

    def _was_twin(self, key: QueueKey) -> bool:
        """Delete the task if no add was told of it. True also if nobody can tell now: it must wait."""
        record = self._lease.seen
        if not record.earlier:
            return False
        try:
            return drop_twin(self._backend.store, key, len(record.lanes), self._clock())
        except AwsError as error:
            self._trouble.failed(key.lane, Call.READ, error)
            return True
        except UnreadableTask:
            return False

    def _run_abandoned(self) -> None:
        """Start the tasks that a run left running when it died: one at a time, should one have killed it.

        Whether it has ended or runs for longer than that takes, what has come due meanwhile is next.

        What cannot be claimed that way either was changed by someone else this very moment, or is nothing
        that this version can run; it is passed over for the rest of this run, and looked at again soon.
        """
        not_claimed = self._attempts.not_claimed
        while not_claimed:
            key = not_claimed.pop(0)
            if key.lane not in self._lease.lanes or self._trouble.again_at(key.lane):
                continue
            if self._is_time_to_stop():
                self._stopped_early = True
                return
            self._attempts.start(key, Status.RUNNING)
            self._wait(0, until=self._clock() + _LOOK_AGAIN)
            self._run_due()
            if key in not_claimed:
                not_claimed.remove(key)
                emit("passed_over", level=logging.WARNING, run=self._id, id=key.id)
                self._trouble.pass_over(key)

    def _release(self) -> bool:
        """Give the lanes back, unless more is due before the rule could ring, and there is time for it.

        With precision "second" another run that waits gets them, if there is one. When the time is over it
        does too, unless there was more to do than this run has places for: that is for a successor.
        """
        self._attempts.write_again()
        self._wait(0)
        quiet = self._lease.clear()
        heads = {**quiet, **self._reader.heads(lane for lane in self._lease.lanes if lane not in quiet)}
        stays_for = self._head_start + LEAD if self._waits else _MOMENT
        next_due = self._lease.release(
            heads,
            unless_due_within=None if self._is_time_to_stop() else stays_for,
            to_taker=self._waits and not self._is_full,
            run=self._last_run(),
            sizes=self._take_sizes(),
        )
        if self._lease.counts:
            self.measured = measure(
                self._reader, self._lease.seen, heads=heads, sizes=self._sizes, now=self._clock()
            )
        self._next_due = next_due or NEVER
        return next_due is None

    def _take_sizes(self) -> dict[int, int] | None:
        """Bytes that lanes hold, as far as writes told since this was asked first; None if it is no use."""
        if self._measures:
            self._sizes |= self._backend.store.lane_sizes()
        return self._sizes if self._measures else None

    def _last_run(self) -> LastRun:
        """What the record keeps of this run; the lanes that rest of which another run knew are among it."""
        of_others = [lane for lane in self._lease.resting() if lane.lane not in self._lease.lanes]
        resting = (*self._trouble.resting(self._lease.lanes), *of_others)
        return self._attempts.tally.last_run(self._id, self._clock(), resting=resting)

    def _due(self) -> Iterator[QueueKey]:
        """The keys of all lanes that are due now and not under way, earliest first."""
        now = self._clock()
        leaving = self._helpers.lanes
        lanes = [lane for lane in self._lease.lanes if lane not in leaving]
        known = {*self._attempts.under_way(), *self._attempts.not_claimed}
        for lane in lanes:
            known |= self._trouble.passed_over(lane).keys()
        self._next_due = NEVER
        self._lease.quiet, keys = self._reader.queued(lanes, now=now)
        for key in keys:
            if key.queued > now:
                self._next_due = key.queued
                break
            if key not in known:
                yield key
        again = (at for lane in lanes if (at := self._trouble.again_at(lane)))
        self._next_due = min(self._next_due, *again, NEVER)

    def _is_time_to_stop(self) -> bool:
        has_no_time = self._stop_at is not None and self._clock() >= self._stop_at
        return self._attempts.not_deployed is not None or has_no_time or self._lease.must_leave

    def _wait(self, most: int, *, until: datetime = NEVER) -> bool:
        """Wait until at most this many tasks are under way; False if that is not so by `until`.

        Keeps the lease meanwhile, and gives up on what still runs when it is time to leave. A run that waits
        for due dates also ends its waiting when one was added, when another run can do that, or when there is
        no time left. Raises LeaseLost.
        """
        watches = self._waits and until != NEVER
        until = min(until, self._stop_at) if self._stop_at and most < 0 else until
        while True:
            now = self._clock()
            if now >= self._renew_at:
                self._renew()
            if len(self._attempts) <= most:
                return True
            if self._attempts.claim():
                continue
            if self._attempts and self._leave_at and now >= self._leave_at:
                self._stopped_early = True
                self._attempts.leave()
                return True
            has_room = len(self._attempts) < self._places
            if now >= until or (watches and self._watch.finds(until, is_idle=most < 0, has_room=has_room)):
                return False
            moments = (self._renew_at, self._leave_at, until, self._watch.at if watches else None)
            for task in self._attempts.wait(min(moment for moment in moments if moment) - now):
                self._go_on_with(task)

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

    def _go_on_with(self, task: Task) -> None:
        """Start the task's next occurrence if it is due already."""
        if (
            task.queued
            and task.queued <= self._clock()
            and not self._is_time_to_stop()
            and not self._helpers.lanes
        ):
            key = QueueKey(queued=task.queued, id=task.id, lane=task.lane)
            self._attempts.start(key, Status.SCHEDULED)
