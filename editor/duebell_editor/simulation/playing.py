"""Plays a queue without I/O: which task starts when, and which ring and which run start it.

It follows the rules of a worker's runs (`duebell_worker.run`): the minute that the rule is set to, the
recurrence of a task, the semaphore of a limited action. It leaves out failures: every call takes no time,
every ring comes, every attempt takes the time of its action and is done. A task that waits for a limit starts
at the time that the semaphore gives it. A real run starts it earlier if that time proves too late. Pure.
"""

import heapq
import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.bell.expression import (
    LEAD,
    SENTINEL,
    early_minute,
    expression_at,
    next_ring,
    ring_minute,
)
from duebell_shared.bell.run_rules import (
    LEASE,
    LONGEST_WAIT,
    MEASURING,
    MOMENT,
    READ_AGAIN,
    RESERVE,
    SHORTEST,
    STAYS,
    WATCH,
    done_in_time,
)
from duebell_shared.instants import MILLISECOND, NEVER
from duebell_shared.limits.limits import Limit, Semaphore, reopening
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import Task

#: The owner of the lanes in the played record: its only run.
_OWNER = "run"

#: The time in which one run starts tasks: the Lambda's, without its reserve for the end.
_RUN_LIMIT = timedelta(minutes=5) - RESERVE

_KEEP = RetentionPolicy()


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances that decide when tasks start.

    head_start   the time before a due date at which the rule rings
    concurrency  the number of actions that a run has under way at a time
    runs         the most runs that share tasks, if one run cannot do them in time
    is_called    whether a run can be called directly where the rule would ring too late
    limits       the limits of actions that have some, by name
    semaphores   the starts that these limits have allowed so far, by action
    durations    the length of an attempt, by action
    """

    head_start: timedelta
    concurrency: int
    runs: int
    is_called: bool
    limits: Mapping[str, Limit]
    semaphores: Mapping[str, Semaphore]
    durations: Mapping[str, timedelta]

    def duration(self, action: str) -> timedelta:
        """Returns the assumed length of an attempt of this action: a second if none was measured."""
        return self.durations.get(action, timedelta(seconds=1))


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The start of an attempt. Times are UTC.

    at           when it is started
    id, action   of the task
    due          when it should have started: its due date with its spread, or its time after a retry
    lateness_ms  how long after `due` it is started, in milliseconds
    ends_at      when it ends
    recurs       whether it is an occurrence of a recurring task
    """

    at: datetime
    id: str
    action: str
    due: datetime
    lateness_ms: int
    ends_at: datetime
    recurs: bool


class RunPlayed(msgspec.Struct, frozen=True):
    """A run: when it begins and ends, and whether the rule rang for it or another run called it."""

    began: datetime
    ended: datetime
    is_rung: bool


class _Waiting(msgspec.Struct):
    """A task in the queue: its place, and since when it waits.

    task  None for a task that runs once, cannot expire, and has no follow-up
    """

    queued: datetime
    priority: int
    id: str
    action: str
    since: datetime
    is_held: bool = False
    task: Task | None = None


def entry_of(task: Task) -> _Waiting:
    """The task as it waits in the queue."""
    queued = task.queued or NEVER
    is_simple = not task.recurrence and task.expires_after is None and not task.then
    return _Waiting(
        queued=queued,
        priority=task.priority,
        id=task.id,
        action=task.action,
        since=task.limited_since or queued,
        is_held=task.limited_since is not None,
        task=None if is_simple else task,
    )


class Played:
    """The queue as it is played from `now` to `until`.

    starts   the attempts, in order of their starts
    runs     the runs, in order
    expired  how many tasks came too late to be started
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        conditions: Conditions,
        *,
        now: datetime,
        until: datetime,
        record: ArmingRecord,
        expression: str,
        running: Iterable[tuple[datetime, Task]],
    ) -> None:
        """`running` are the tasks under way, each with its end."""
        self.starts: list[Start] = []
        self.runs: list[RunPlayed] = []
        self.expired = 0
        self._conditions = conditions
        self._until = until
        self._now = now
        self._queue: list[tuple[datetime, int, str, int, _Waiting]] = []
        self._put_back: list[tuple[datetime, int, str, int, _Waiting]] = []
        self._under_way: list[tuple[datetime, int, _Waiting]] = []
        self._number = 0
        for task in tasks:
            self._put(entry_of(task))
        self._semaphores = dict(conditions.semaphores)
        self._busy: defaultdict[str, int] = defaultdict(int)
        due = min((lane.due for lane in record.lanes), default=NEVER)
        self._record = replace(record, lanes=(Lane(due=due),), head_start=conditions.head_start)
        self._expression = expression
        self._play(list(running))

    @property
    def waiting(self) -> int:
        """The tasks that were due by the end and have not started."""
        self._read()
        return sum(one.since <= self._until for *_, one in self._queue)

    def _put(self, one: _Waiting) -> None:
        """Put a task into the queue. The next read finds it."""
        self._number += 1
        self._put_back.append((one.queued, -one.priority, one.id, self._number, one))

    def _read(self) -> datetime:
        """Read the queue, with the tasks put into it since the last read. Returns the first task's time."""
        for place in self._put_back:
            heapq.heappush(self._queue, place)
        self._put_back.clear()
        self._read_by = NEVER
        return self._head()

    def _head(self) -> datetime:
        """The time of the first task in the queue, by the last read."""
        return self._queue[0][0] if self._queue else NEVER

    def _play(self, running: list[tuple[datetime, Task]]) -> None:
        for ends_at, task in running:
            self._push(max(ends_at, self._now), entry_of(task))
        self._record = self._record.lowered({0: self._read()})
        self._settle(self._now)
        begins, is_rung = (self._now, False) if running else self._next()
        while begins <= self._until:
            self._now = began = begins
            self._run()
            self.runs.append(RunPlayed(began, self._now, is_rung))
            self.runs += [RunPlayed(self._shared_at, self._now, is_rung=False)] * self._helpers
            self._hold_lanes(began, self._now)
            self._record = self._record.released(_OWNER, {0: self._read()})
            self._settle(self._now)
            begins, is_rung = self._next()

    def _next(self) -> tuple[datetime, bool]:
        """The start of the next run, and True if a ring starts it."""
        if self._conditions.is_called and self._record.rings_too_late(self._now):
            return self._now, False
        return next_ring(self._expression, self._now) or NEVER, True

    def _settle(self, now: datetime) -> None:
        """Set the rule if it is not set as the record says."""
        if self._record.is_settled(now):
            return
        target = self._record.target
        minute = ring_minute(target, now)
        early = early_minute(minute, target, now)
        self._expression = expression_at(minute, early=early, now=now) if minute else SENTINEL
        self._record = replace(self._record, armed=target, rings_at=minute, echo_of=None)

    def _hold_lanes(self, began: datetime, ended: datetime) -> None:
        """Set the rule for the lease of a run, and again at each ring while the run is at work."""
        self._record = self._record.claimed(_OWNER, now=began, until=began + LEASE)
        self._settle(began)
        renews, at = began + LEASE / 2, began
        while (at := min(renews, next_ring(self._expression, at) or NEVER)) <= ended:
            if at == renews:
                self._record = self._record.renewed(_OWNER, until=at + LEASE)
                renews = at + LEASE / 2
            else:  # a run comes, and finds no free lane
                self._record = self._record.claimed("another", now=at, until=at + LEASE)
            self._settle(at)

    def _run(self) -> None:
        """One run, from now on until it gives its lanes back."""
        self._stop_at = self._now + _RUN_LIMIT
        self._places = self._conditions.concurrency
        self._measured_from, self._ended, self._has_shared = self._now, 0, self._conditions.runs == 1
        self._last_place = self._shared_at = self._now
        self._helpers = 0
        while True:
            while True:
                next_due = self._start_due()
                self._wait(min(self._now + READ_AGAIN, next_due))
                if not self._under_way:
                    break
            head = self._read()
            waits = self._conditions.head_start + LEAD if self._conditions.head_start else MOMENT
            stays = max(waits, STAYS) if self._last_place > self._now else waits
            if self._now >= self._stop_at or head > self._now + stays:
                return
            if not self._conditions.head_start:
                head = min(head, self._now + READ_AGAIN)
            self._now = max(self._now, min(head, self._stop_at))

    def _start_due(self) -> datetime:
        """Start the due tasks by priority. Returns when the queue is read again."""
        self._read()
        found: list[_Waiting] = []
        while self._head() <= self._now:
            found.append(heapq.heappop(self._queue)[-1])
        due = deque(sorted(found, key=lambda one: -one.priority))
        while due and self._now < self._stop_at:
            free = self._places - len(self._under_way)
            if free > 0:
                self._claim([due.popleft() for _ in range(min(free, len(due)))])
            else:
                self._share(len(due))
                self._pass_end()
        for one in due:
            self._put(one)
        return self._head() if self._now < self._stop_at else NEVER

    def _share(self, in_sight: int) -> None:
        """Once the speed of this run is known, let further runs take tasks that are too many for it."""
        took = self._now - self._measured_from
        if self._has_shared or took < MEASURING:
            return
        self._has_shared = True
        in_time = done_in_time(self._ended, took)
        due = in_sight + sum(queued <= self._now for queued, *_ in self._queue)
        runs = min(self._conditions.runs, math.ceil((due - len(self._under_way)) / in_time))
        if runs > 1:
            self._places = self._conditions.concurrency * runs
            self._shared_at, self._helpers = self._now, runs - 1

    def _wait(self, by: datetime) -> None:
        """Let attempts end, until `by` or until none is under way."""
        while self._under_way:
            by = min(by, self._read_by)
            if self._under_way[0][0] > by:
                self._now = max(self._now, by)
                return
            self._pass_end()

    def _pass_end(self) -> None:
        """Move the clock to the end of the attempt that ends next."""
        ends_at, _, one = heapq.heappop(self._under_way)
        self._now = max(self._now, ends_at)
        self._ended += 1
        if one.task:
            self._go_on(one.task)
        if one.action in self._conditions.limits:
            self._busy[one.action] -= 1

    def _go_on(self, task: Task) -> None:
        """Put the task's next occurrence, and its follow-up, into the queue."""
        done = task.done(now=self._now, keep=_KEEP)
        if done.owes and task.then:
            queued = self._now + task.then.after
            id = done.id + done.owes.endings[0]
            follow_up = _Waiting(queued=queued, priority=0, id=id, action=task.then.action, since=queued)
            self._put(follow_up)
            if self._conditions.head_start:  # the run watches for tasks that are added
                self._read_by = min(self._read_by, max(queued, self._now + WATCH))
            done = done.follow_up_settled()
        if done.queued is None:
            return
        one = entry_of(done)
        if one.queued <= self._now < self._stop_at:
            self._claim([one])
        else:
            self._put(one)

    def _claim(self, batch: list[_Waiting]) -> None:
        """Start these tasks, as far as the limits of their actions allow."""
        limited: defaultdict[str, list[_Waiting]] = defaultdict(list)
        for one in batch:
            if one.action in self._conditions.limits:
                limited[one.action].append(one)
            else:
                self._start(one)
        for action, several in limited.items():
            self._take(action, several)

    def _take(self, action: str, several: list[_Waiting]) -> None:
        """Start as many of these as the limit of their action allows now, and put the others back."""
        limit, now = self._conditions.limits[action], self._now
        if opens := NEVER if limit.is_paused else limit.closed_until(now):
            for one in several:
                self._hold(one, NEVER if limit.is_paused else reopening(action, opens, now))
            return
        if not limit.is_counted:
            for one in several:
                self._start(one)
            return
        several = sorted(several, key=_order)
        busy, until = self._busy[action], now + STAYS
        known = self._semaphores.get(action, Semaphore())
        current = known.renewed("", busy if limit.at_most is not None else 0, until=until)
        self._semaphores[action], places = current.take(
            limit,
            [one.is_held for one in several],
            now=now,
            run="",
            until=until,
            takes=max(self._conditions.duration(action), SHORTEST),
        )
        # If a place is too far away, a run chooses a random time. On average, it is the one below.
        latest = NEVER if limit.per_second else now + LONGEST_WAIT
        for one, place in zip(several, places, strict=True):
            if place is None:
                self._start(one)
            else:
                self._hold(one, place if place <= latest else now + LONGEST_WAIT * 0.75)

    def _hold(self, one: _Waiting, place: datetime) -> None:
        """Put a task back until the time of its place."""
        one.queued, one.is_held = place, True
        if place <= self._now + STAYS:
            self._last_place = max(self._last_place, place)
        self._put(one)

    def _start(self, one: _Waiting) -> None:
        now, task, late = self._now, one.task, self._now - one.since
        if task:
            claimed = replace(
                task,
                status=Status.RUNNING,
                attempt=task.attempt + 1,
                started_at=now,
                limited_since=one.since if one.is_held else None,
                lateness_ms=(now - one.queued) // MILLISECOND,
            )
            one.task = task = claimed.caught_up()
            late = (task.lateness_ms or 0) * MILLISECOND
            if task.is_too_late:
                self.expired += 1
                ended = task.expired(now=now, keep=_KEEP)
                if ended.queued:
                    self._put(entry_of(ended))
                return
        ends_at = now + self._conditions.duration(one.action)
        self.starts.append(
            Start(
                at=now,
                id=one.id,
                action=one.action,
                due=now - late,
                lateness_ms=late // MILLISECOND,
                ends_at=ends_at,
                recurs=task is not None and task.recurrence is not None,
            )
        )
        self._push(ends_at, one)

    def _push(self, ends_at: datetime, one: _Waiting) -> None:
        self._number += 1
        heapq.heappush(self._under_way, (ends_at, self._number, one))
        if one.action in self._conditions.limits:
            self._busy[one.action] += 1


def _order(one: _Waiting) -> tuple[datetime, datetime, str]:
    """The order of tasks that wait for one limit: the longest wait comes first."""
    return one.since, one.queued, one.id
