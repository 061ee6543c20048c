"""The waits of a run: for a place, until it is idle, for what is due next; and how runs share lanes.

While it waits, a run keeps its lease and takes in the attempts that end. It watches the arming record for
tasks that are added, and for other runs that wait as well. With more due than it can do in time, it hands
shares of its lanes to further runs.

Problem: runs that shared a burst would each wait for tasks that are due soon in their own lanes, and each
costs money. Solution: the first run with a free place says in the arming record that it takes lanes over.
Each other run gives its lanes to that run when it only waits, or when its time is over.
"""

import math
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial

from duebell_shared.backoff import pause
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.run_rules import MEASURING, WATCH, done_in_time
from duebell_shared.errors import AwsError, NotArmed
from duebell_shared.instants import NEVER
from duebell_shared.tasks.task import Task
from duebell_worker.log import LogLine
from duebell_worker.run.attempts import Attempts
from duebell_worker.run.context import RunContext
from duebell_worker.run.lanes import Lanes
from duebell_worker.run.lease import Lease, LeaseLost, request_of

#: Tries to set the rule before the tasks run.
_ARM_TRIES = 3


def claimed_lease(context: RunContext, lanes: Collection[int] | None) -> Lease:
    """Claim the free lanes, or the free ones of `lanes`; log and count the runs that died with them.

    If another try of this invocation holds lanes, wait first until that lease has ended.
    """
    backend = context.backend
    # Only the Lambda sets the head start, as the rule rings for it. Its runs have a time limit, and no host.
    is_in_lambda = context.stop_at is not None and context.host is None
    head_start = backend.settings.head_start if is_in_lambda else None
    claim = partial(Lease.claim, backend.armer, context.id, backend.clock, only=lanes, head_start=head_start)
    lease = claim()
    if lease.claim_at:
        # The run waits with the watchdog armed, as long as its time allows.
        log = partial(context.log, request=request_of(context.id))
        log(LogLine.WAITS_FOR_LEASE, lease_ends=lease.claim_at)
        arm_watchdog(context, lease)
        until = min(lease.claim_at, context.stop_at or NEVER)
        while (left := until - context.now()).total_seconds() > 0:  # waits longer if the clock is set back
            context.backend.sleep(left.total_seconds())
        lease = claim(has_waited=True)
    log_died(context, lease)
    return lease


def log_died(context: RunContext, lease: Lease) -> None:
    for run, lease_ended in lease.died.items():
        request = request_of(run)
        context.log(LogLine.RUN_DIED, died=run, request=request, lease_ended=lease_ended)
    if lease.died and context.metrics:  # at once: what killed the other run may kill this one
        context.metrics.write(context.now(), DeadRuns=len(lease.died))


def arm_watchdog(context: RunContext, lease: Lease) -> None:
    """Set the rule to ring at the end of the lease, before anything runs that could kill the process.

    If the rule cannot be set, what is due runs without a watchdog; the run then ends in an error, and
    Lambda invokes it again.
    """
    for tries in range(_ARM_TRIES):
        if tries:
            context.backend.sleep(pause(tries - 1, 1.0, 4.0, 4.0))
        try:
            lease.arm()
        except (NotArmed, AwsError) as error:
            context.log(LogLine.NOT_ARMED, error=str(error))
        else:
            return


#: A process that has waited this long for a place decides whether to hand lanes over.
_LONG = timedelta(seconds=5)

#: A renewal that failed is tried again after this pause.
_RENEW_AGAIN = timedelta(seconds=5)

#: The time between two reads of the record by a process. Within it, a task that is added for now starts, and
#: the process notices that it is to end.
LOOK_EVERY = timedelta(seconds=1)

#: A process claims lanes this long before something is due in them: time enough to set the rule, and to try
#: that again.
AHEAD = timedelta(seconds=10)


def time_to_claim(record: ArmingRecord, now: datetime) -> datetime:
    """The time when a process claims the lanes that are free: before something is due in them.

    With precision "second", the rule rings ahead of due dates: the process comes before that, or else the
    Lambda would hold the lanes.
    """
    due = NEVER if record.is_being_relaned(now) else record.free_due(now)
    return max(due - record.head_start - AHEAD, now)


class Waits:
    """The waits of one run. Each raises LeaseLost."""

    def __init__(
        self,
        context: RunContext,
        lease: Lease,
        attempts: Attempts,
        *,
        go_on_with: Callable[[Task], None],
        start_held: Callable[[], None],
        next_start: Callable[[], datetime],
    ) -> None:
        """`lease` and `attempts` are those of the run.

        go_on_with  is called with each task that is in the queue again after an attempt
        start_held  starts tasks that wait for a limit, after attempts have ended and at `next_start`
        next_start  returns the time at which a rate may let one of these tasks start
        """
        self._context = context
        self._lease = lease
        self._attempts = attempts
        self._go_on_with = go_on_with
        self._start_held = start_held
        self._next_start = next_start
        self._renew_at = lease.renew_at
        self._watch_at = context.now()
        self._watch_every = LOOK_EVERY if context.host else WATCH
        self._must_read = False

    def wait_for_place(self) -> bool:
        """Wait until another task can be started.

        False if a long-running process still waits after some seconds: its actions may take hours. It does
        not watch the record meanwhile: a task added now would count as seen by the read under way.
        """
        by = self._context.now() + _LONG if self._context.host else NEVER
        return self._wait(lambda: self._attempts.has_place or self._attempts.has_lost_all, by, watches=False)

    def wait_until_idle(self, *, by: datetime = NEVER) -> bool:
        """Wait until nothing is under way; False if something still is at `by`, or a task is due before."""
        return self._wait(lambda: not self._attempts, by)

    def wait_for_due(self, due: datetime) -> None:
        """Wait for this due date with nothing under way, at most until the run's time is over.

        It ends sooner when a task was added that is due before, when another run can wait instead, or when
        the process is to end.
        """
        self._wait(lambda: False, min(due, self._context.stop_at or NEVER), is_idle=True)

    def stop_taking_over(self) -> None:
        """Let other runs keep their lanes: this one has all that it can do."""
        try:
            self._lease.stop_taking_over()
        except (AwsError, NotArmed) as error:
            self._context.warn(LogLine.NOT_WATCHED, error)

    def _wait(
        self,
        is_over: Callable[[], bool],
        by: datetime = NEVER,
        *,
        is_idle: bool = False,
        watches: bool = True,
    ) -> bool:
        watches = watches and self._context.waits_for_due and by != NEVER
        host = self._context.host
        while True:
            now = self._context.now()
            leave_at = self._context.leave_at or NEVER
            if now >= self._renew_at:
                self._renew()
            look_at = self._attempts.watch()
            if is_over():
                return True
            if self._attempts.claim():
                continue
            if self._attempts and (now >= leave_at or self._attempts.has_lost_all):
                self._attempts.leave()
                return True
            if now >= by or (is_idle and self._context.is_out_of_time):
                return False
            if watches and self._must_end(by, is_idle=is_idle):
                return False
            notice_at = now + LOOK_EVERY if host else NEVER
            start_at = NEVER if is_idle else self._next_start()
            watch_at = self._watch_at if watches else NEVER
            wake_at = min(self._renew_at, leave_at, by, look_at, notice_at, start_at, watch_at)
            for task in self._attempts.wait(wake_at - now):
                self._go_on_with(task)
            if not is_idle:
                self._start_held()

    def _renew(self) -> None:
        try:
            self._lease.renew()
        except (AwsError, NotArmed) as error:
            if not self._lease.is_held():
                raise LeaseLost from error
            self._context.warn(LogLine.NOT_RENEWED, error)
            self._renew_at = self._context.now() + _RENEW_AGAIN
        else:
            self._renew_at = self._lease.renew_at
            self._attempts.limiter.renew()
            self._note_contact()

    def _must_end(self, by: datetime, *, is_idle: bool) -> bool:
        """Read the arming record from time to time; True if a task was added, or the lanes can be given away.

        Only an idle run gives its lanes away. A run that has places takes over the lanes of others.
        """
        if self._context.now() < self._watch_at:
            return False
        self._watch_at = self._context.now() + self._watch_every
        try:
            next_due = self._lease.next_due()
            self._note_contact()
            has_taker = self._lease.seen.taker_for(self._context.id, self._context.now()) is not None
            if is_idle and (self._lease.must_leave or has_taker):
                return True
            if self._attempts.has_place:
                self._lease.take_over()
                if self._claim_more():
                    return True
            if next_due >= by:
                return False
            self._lease.clear()
        except (AwsError, NotArmed) as error:
            self._context.warn(LogLine.NOT_WATCHED, error)
            return False
        return True

    def _claim_more(self) -> bool:
        """Claim lanes that have become free, in a long-running process; True if the run must read them.

        Problem: a call may fail although it has claimed lanes. Their dues are NEVER then, so the record does
        not show that tasks wait in them. Solution: after a failure, the run reads all lanes that it has.
        """
        if self._must_read:
            self._must_read = False
            return True
        host, now = self._context.host, self._context.now()
        if not host or self._context.is_out_of_time or time_to_claim(self._lease.seen, now) > now:
            return False
        self._must_read = True
        self._lease.claim_more()
        log_died(self._context, self._lease)
        self._must_read = False
        return True

    def _note_contact(self) -> None:
        if self._context.host:
            self._context.host.note_contact()


#: The longest wait for tasks under way in the lanes of a share, before the run gives up on sharing.
_PATIENCE = timedelta(seconds=30)


def dealt(lanes: tuple[int, ...], runs: int) -> list[tuple[int, ...]]:
    return [lanes[first::runs] for first in range(min(runs, len(lanes)))]


class Shares:
    """Decides that a run needs help, and hands lanes over as soon as nothing is under way in them."""

    def __init__(self, context: RunContext, lease: Lease, lanes: Lanes, attempts: Attempts) -> None:
        self._context = context
        self._function = context.backend.function
        # A process needs no function: other processes claim free lanes, and the rule rings for them.
        can_share = bool(context.host or (self._function and context.stop_at))
        self._most = context.backend.settings.parallel_runs if can_share else 0
        self._lease = lease
        self._lanes = lanes
        self._attempts = attempts
        self._measured_from = context.now(), 0  # the time, and the attempts that had ended by then
        self._shares: list[tuple[int, ...]] = []
        self._share_by = NEVER
        self._handed_over: list[tuple[int, ...]] = []

    @property
    def lanes(self) -> set[int]:
        """The lanes that are about to be handed over: nothing more is started in them."""
        return {lane for share in self._shares for lane in share}

    def measure_from_now(self) -> None:
        self._measured_from = self._context.now(), self._attempts.tally.attempts

    def change_lanes(self) -> bool:
        """Choose or hand over lanes if this run needs help; True if it must read its lanes anew."""
        return self._choose() or self.hand_over()

    def _choose(self) -> bool:
        """Choose the lanes for further runs if what is due takes this run too long."""
        now, ended = self._context.now(), self._attempts.tally.attempts
        since, ended_before = self._measured_from
        if not self._most or self._shares or now < since + MEASURING:
            return False
        self.measure_from_now()
        most = min(1 + self._runs_to_spare(now), len(self._lease.lanes))
        if most == 1:
            return False
        in_time = done_in_time(ended - ended_before, now - since)
        enough = math.ceil(in_time * most) + 1  # a backlog that needs more runs: counting can stop there
        backlog = sum(self._lanes.counts(self._lease.lanes, before=now, most=enough).values())
        runs = min(most, math.ceil((backlog - len(self._attempts)) / in_time))
        if self._context.host and not self._attempts.has_place and ended == ended_before:
            runs = max(runs, 2)  # actions that may take hours have all places
        if runs <= 1:
            return False
        _, *self._shares = dealt(self._lease.lanes, runs)
        busy = {key.lane for key in self._attempts.under_way()}
        idle = tuple(lane for lane in self._lease.lanes if lane not in busy)
        if self._context.host and idle and busy:  # what is under way may take hours
            self._shares = dealt(idle, runs - 1)
        self._share_by = now + _PATIENCE
        return True

    def _runs_to_spare(self, now: datetime) -> int:
        """Return how many more runs may be started, beside the runs that hold lanes or are about to."""
        try:
            lanes = self._context.backend.armer.read().lanes
        except (AwsError, NotArmed) as error:
            self._context.warn(LogLine.NOT_SHARED, error)
            return 0
        owners = {lane.owner for lane in lanes if not lane.is_free(now)} - {self._context.id}
        to_come = [share for share in self._handed_over if all(lanes[number].due <= now for number in share)]
        return max(self._most - 1 - len(owners) - len(to_come), 0)

    def hand_over(self) -> bool:
        """Hand over the shares in whose lanes nothing is under way, and start a run for each.

        Returns whether the run must read its lanes anew: it has fewer of them, or tasks were added.
        """
        if not self._shares:
            return False
        now = self._context.now()
        busy = {key.lane for key in self._attempts.under_way()}
        ready = [share for share in self._shares if busy.isdisjoint(share)]
        if not ready:
            if now < self._share_by:
                return False
            # A task in these lanes takes long, and other tasks wait.
            self._shares, self._most = [], self._most if self._context.host else 0
            return True
        self._shares = [share for share in self._shares if share not in ready]
        ready = ready[: self._runs_to_spare(now)]  # other runs may have come since
        lanes = tuple(lane for share in ready for lane in share)
        if not lanes:
            return True
        try:
            self._lease.clear()
            self._lease.hand_over(self._lanes.heads(lanes))
        except (AwsError, NotArmed) as error:
            self._context.warn(LogLine.NOT_SHARED, error, lanes=lanes)
        if set(lanes).isdisjoint(self._lease.lanes):
            self._handed_over += ready
            self._context.log(LogLine.SHARED, lanes=lanes, runs=len(ready))
            for share in ready:
                if self._function:
                    self._function.start(share)
        return True
