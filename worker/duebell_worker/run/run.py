"""One run: claims lanes, runs everything that is due in them, gives them back and re-arms the rule.

The run's own thread reads the queue, hands tasks to the pool and keeps the lease. With precision "second" it
stays for tasks that are due soon. If more is due than it can do in time, it hands lanes to further runs.
"""

from collections.abc import Collection
from contextlib import closing
from datetime import datetime, timedelta

import msgspec

from duebell_shared.bell.expression import LEAD
from duebell_shared.bell.run_rules import MOMENT, READ_AGAIN
from duebell_shared.errors import AwsError, NotDeployed, UnreadableTask
from duebell_shared.instants import NEVER
from duebell_shared.queue.places import lane_of
from duebell_shared.queue.store import drop_stray_copy
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task, queue_key
from duebell_worker.log import LogLine, emit
from duebell_worker.metrics import queue_metrics
from duebell_worker.run.attempts import Attempts
from duebell_worker.run.context import RunContext
from duebell_worker.run.lanes import Call, Lanes, ReadAhead, Trouble
from duebell_worker.run.lease import LeaseLost
from duebell_worker.run.out_of_order import HeldTasks, Unclaimed
from duebell_worker.run.report import RunReport
from duebell_worker.run.waits import AHEAD, Shares, Waits, arm_watchdog, claimed_lease

#: The run of a process ends after this time, even if the next one begins at once. Only the end of a run
#: measures the queue, and notes its results in the arming record and the log.
_LONGEST_STAY = timedelta(minutes=5)


def execute(context: RunContext, lanes: Collection[int] | None = None) -> RunReport:
    """Run what is due in all free lanes, or in the free ones of `lanes`; log and measure the run.

    In the end it closes the pool. An empty `lanes` runs no task: it only sets the rule, which somebody may
    have set to another time.

    Raises AwsError, NotArmed, NotDeployed, with nothing under way any more. A call that AWS refuses for one
    lane or task is tried again, and does not end the run. If AWS refuses a kind of call for all lanes, the
    run raises this error, most often when it gives the lanes back. If the lanes are not given back, another
    run with the same id can go on at once, and any other run when the lease ends.
    """
    began, rule = context.now(), context.backend.rule
    puts = rule.puts
    measured: dict[str, int] = {}
    with closing(context.pool):
        if lanes == ():
            report = _set_rule(context)
        else:
            run = _Run(context, lanes)
            report, measured = run.execute(), run.measured
        _outlast_late_setting(context)
    emit(LogLine.RUN, **msgspec.structs.asdict(report))
    if context.metrics:
        now = context.now()
        context.metrics.end(
            now,
            RunDuration=round((now - began).total_seconds() * 1000),
            PutRuleCalls=rule.puts - puts,
            **measured,
            **({"LaneTrouble": len(report.resting)} if report.resting else {}),
        )
    return report


def _set_rule(context: RunContext) -> RunReport:
    """Set the rule by the record and the queue."""
    armer, head_start = context.backend.armer, context.backend.settings.head_start
    armer.change(lambda record: record.ringing_ahead(head_start))
    record = armer.verify()
    armer.start_run_if_late(record)
    return RunReport(run=context.id, lanes=0, rings_at=record.rings_at)


def _outlast_late_setting(context: RunContext) -> None:
    """Wait until no unanswered setting of the rule can take effect any more, and set the rule right.

    Problem: a PutRule that nobody answered may take effect minutes later, and park the rule that another
    process has set since. Solution: the run that made it stays, as long as its time allows.
    """
    may_change_for = context.backend.rule.may_change_for()
    if not may_change_for or context.host or not context.stop_at:
        return
    stays_for = min(may_change_for, context.stop_at - context.now())
    if stays_for > timedelta(0):
        context.backend.sleep(stays_for.total_seconds())
        _set_rule(context)


class _Run:
    """A run that holds its lanes.

    measured  the metrics of the queue, by name; empty until the run has ended, or if it does not measure
    """

    def __init__(self, context: RunContext, lanes: Collection[int] | None) -> None:
        self._context = context
        self._backend = context.backend
        self._lease = lease = claimed_lease(context, lanes)
        self._trouble = Trouble(context.id, context.now, last=lease.seen.last_run, lanes=lease.lanes)
        self._lanes = Lanes(context, lease, self._trouble)
        self._attempts = Attempts(context, lease, self._lanes)
        self._limiter = self._attempts.limiter
        self._held = HeldTasks(context, self._attempts, self._lanes)
        self._unclaimed = Unclaimed(context, self._lanes, self._attempts)
        self._shares = Shares(context, lease, self._lanes, self._attempts)
        self._waits = Waits(
            context,
            lease,
            self._attempts,
            go_on_with=self._go_on_with,
            start_held=self._start_held,
            next_start=self._held.next_start,
        )
        self._is_full = False
        self._began = context.now()
        self._measures = context.metrics is not None and lease.seen.counting(self._began) != lease.seen
        self._sizes = self._backend.store.lane_sizes() if self._measures else {}
        self.measured: dict[str, int] = {}

    def execute(self) -> RunReport:
        """Run what is due, give the lanes back and re-arm the rule."""
        arm_watchdog(self._context, self._lease)
        lost = False
        try:
            while self._lease.lanes:
                self._run_due()
                self._run_left_running()
                if self._attempts.not_deployed:
                    raise self._attempts.not_deployed
                next_due = self._release()
                if next_due is None:
                    break
                if not self._context.waits_for_due:  # then it sees added tasks only when it reads the lanes
                    next_due = min(next_due, self._context.now() + READ_AGAIN)
                self._waits.wait_for_due(next_due)
        except LeaseLost:
            lost = True
            self._context.log(LogLine.LEASE_LOST, still_running=self._attempts.abandon())
        self._limiter.close()
        record = self._backend.armer.ensure(None if lost else self._lease.seen)
        self._backend.armer.start_run_if_late(record)
        lanes = self._lease.lanes
        if error := self._trouble.error_of_all(len(lanes)):
            raise error
        return RunReport(
            run=self._context.id,
            lanes=len(lanes),
            rings_at=record.rings_at,
            stopped_early=self._attempts.tally.stopped_early,
            lost_lease=lost,
            resting=tuple(each.lane for each in self._trouble.resting(lanes)),
            **self._attempts.tally.results(),
        )

    def _run_due(self) -> None:
        """Start what is due, and what comes due while it runs; return when all of it has ended."""
        while True:
            try:
                next_due = self._start_due()
            except NotDeployed as error:
                self._attempts.not_deployed, next_due = error, NEVER
            is_idle = self._waits.wait_until_idle(by=min(self._context.now() + READ_AGAIN, next_due))
            if not self._shares.hand_over() and is_idle:
                return
            self._unclaimed.go_on(self._may_start_left_running)

    def _start_due(self) -> datetime:
        """Start what is due now, by priority and due date; return when to read the lanes again."""
        if not self._attempts:
            self._shares.measure_from_now()
        self._attempts.record_again()
        was_full = False
        now = self._context.now()
        leaving = self._shares.lanes
        lanes = [lane for lane in self._lease.lanes if lane not in leaving]
        known = {*self._attempts.under_way(), *self._attempts.not_claimed}
        known = known.union(*(self._trouble.skipped(lane) for lane in lanes))
        self._lease.heads = None
        self._attempts.begin_read()
        self._lanes.released = self._limiter.refresh(self._lease.seen)
        self._held.begin_read(now)
        parked = self._lanes.parked(lanes)
        self._lease.quiet, keys = self._lanes.queued(lanes, now=now)
        begun_ahead = self._attempts.lanes_of_ahead()  # their tasks may be read at places that they have left
        for lane in {*parked, *begun_ahead}:
            self._lease.quiet.pop(lane, None)
        ahead = ReadAhead(keys, now=now, skipping=known, parked=parked.values())
        while ahead:
            if not self._attempts.has_place:
                was_full = self._is_full = True
                self._waits.stop_taking_over()
                ahead.read_on()
            has_place = self._waits.wait_for_place()
            if self._is_time_to_stop:
                self._attempts.tally.stopped_early = True
                return NEVER
            if self._shares.change_lanes():
                return self._context.now()
            if has_place and self._may_start(key := ahead.pop(), Status.SCHEDULED):
                self._attempts.start(key, Status.SCHEDULED)
        next_due = ahead.next_due
        self._is_full = was_full
        # A task started before its place is still in the queue there, and would be taken for its lane's head.
        heads = {lane: self._lease.quiet.get(lane, next_due) for lane in lanes}
        self._lease.heads = None if parked or begun_ahead else heads
        self._held.find(lanes, self._lease.died)
        self._start_held()
        return min(next_due, *(at for lane in lanes if (at := self._trouble.again_at(lane))), NEVER)

    def _run_left_running(self) -> None:
        """Start the tasks that a run left running when it died: one at a time, as one may have killed it.

        After each of them, even if it still runs, the tasks that have come due meanwhile are started.
        """
        while self._unclaimed.start_next(self._may_start_left_running):
            self._waits.wait_until_idle(by=self._context.now() + READ_AGAIN)
            self._run_due()
            self._unclaimed.skip_refused()

    def _may_start_left_running(self, key: QueueKey) -> bool:
        if not self._may_start(key, Status.RUNNING):
            return False
        self._attempts.tally.stopped_early |= self._is_time_to_stop
        return not self._is_time_to_stop

    def _go_on_with(self, task: Task) -> None:
        """Start the task's next occurrence if it is due already; remember a task that waits for a limit."""
        self._held.remember(task)
        if not task.queued or task.queued > self._context.now() or self._is_time_to_stop:
            return
        key = queue_key(task)
        if self._may_start(key, Status.SCHEDULED):
            self._attempts.start(key, Status.SCHEDULED)

    def _start_held(self) -> None:
        """Start tasks before their places in the line, if the limits of their actions allow it by now."""
        if not self._held or self._attempts.is_claiming or self._is_time_to_stop:
            return
        for key in self._held.take():
            if self._may_start(key, Status.SCHEDULED):
                # The head of its lane may have been this task.
                self._lease.quiet.pop(key.lane, None)
                self._lease.heads = None
                self._attempts.start(key, Status.SCHEDULED, is_ahead=True)

    @property
    def _is_time_to_stop(self) -> bool:
        """True if no task is started any more in this run."""
        attempts = self._attempts
        must_stop = attempts.not_deployed is not None or attempts.has_left or attempts.has_lost_all
        return must_stop or self._context.is_out_of_time or self._lease.must_leave

    def _may_start(self, key: QueueKey, status: Status) -> bool:
        """Tell whether to claim this task: its lane is held, no trouble is known, and it is no stray copy."""
        lane = key.lane
        is_held = lane in self._lease.lanes and lane not in self._shares.lanes
        is_ready = is_held and not self._trouble.again_at(lane) and key not in self._trouble.skipped(lane)
        return is_ready and not (status is Status.SCHEDULED and self._drop_if_stray_copy(key))

    def _drop_if_stray_copy(self, key: QueueKey) -> bool:
        """Delete the task if it is a stray copy. True also if that is unknown, so that the task waits."""
        record = self._lease.seen
        if not record.earlier or lane_of(key.id, len(record.lanes)) == key.lane:
            return False
        try:
            is_stray = drop_stray_copy(self._backend.store, key, len(record.lanes), self._context.now())
            self._trouble.note(Call.COPY, [(key.lane, is_stray)])
        except AwsError as error:
            self._trouble.failed(key.lane, Call.COPY, error)
            return True
        except UnreadableTask:
            return False
        return is_stray

    def _release(self) -> datetime | None:
        """Give the lanes back, unless more is due before the rule could ring and there is time to run it.

        Returns when the lanes must be read, if they are still held.
        """
        self._attempts.record_again()
        self._waits.wait_until_idle()
        if (known := self._known_heads()) and self._give_back(known, unless_added=True) is None:
            return None
        quiet = self._lease.clear()
        # An action may have been resumed since the lanes were read. Then its parked tasks are due.
        if self._limiter.is_outdated(self._lease.seen):
            self._lanes.released = self._limiter.refresh(self._lease.seen)
        return self._give_back(
            {**quiet, **self._lanes.heads(lane for lane in self._lease.lanes if lane not in quiet)}
        )

    def _known_heads(self) -> dict[int, datetime] | None:
        """Return the lanes' heads after this run, as known from its last read; None if they must be read.

        The last read of the lanes saw the earliest task that was not due. All tasks before it have been
        started and have ended. So a lane that had due tasks has no earlier task, except those that the run
        has put back. If another process changed a running task, the heads must be read: that process may have
        died before it lowered the lane's due.
        """
        heads, attempts = self._lease.heads, self._attempts
        is_unsure = attempts.superseded or attempts.tally.stopped_early
        if heads is None or is_unsure or self._trouble.was_any:
            return None
        if heads.keys() != set(self._lease.lanes):
            return None
        for key in attempts.put_back.values():
            heads[key.lane] = min(key.queued, heads.get(key.lane, NEVER))
        return heads

    def _give_back(self, heads: dict[int, datetime], *, unless_added: bool = False) -> datetime | None:
        """Give the lanes back at these heads, or keep them; returns as `_release`.

        With precision "second", a run that takes lanes over gets them. If this run had more to do than it has
        places for, it needs a successor of its own instead.
        """
        heads = self._held.heads_with(heads)
        if self._measures:  # the sizes in the answers to writes
            self._sizes |= self._backend.store.lane_sizes()
        waits = self._context.waits_for_due
        stays_for = self._backend.settings.head_start + LEAD if waits else MOMENT
        if self._context.host:
            is_long = self._context.now() >= self._began + _LONGEST_STAY
            stays_for = MOMENT if is_long else self._lease.seen.head_start + AHEAD + LEAD
        elif self._context.stop_at:
            stays_for = max(stays_for, self._limiter.stays_for())
        last = self._lease.seen.last_run
        of_others = [one for one in (last.resting if last else ()) if one.lane not in self._lease.lanes]
        resting = (*self._trouble.resting(self._lease.lanes), *of_others)
        next_due = self._lease.release(
            heads,
            unless_due_within=None if self._is_time_to_stop else stays_for,
            unless_added=unless_added,
            to_taker=waits and not self._is_full,
            run=self._attempts.tally.last_run(self._context.id, self._context.now(), resting),
            sizes=self._sizes if self._measures else None,
        )
        if self._lease.counts:
            self.measured = queue_metrics(
                self._lanes.counts, self._lease.seen, heads=heads, sizes=self._sizes, now=self._context.now()
            )
        return next_due
