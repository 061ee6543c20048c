"""The limits of actions in one run: starts the tasks that were claimed, or puts them back.

Each limited action has one item in the table, its semaphore. It has the time of the next start by the rate,
and the permits of each run. A run changes it by compare-and-swap: once for all tasks of the action that it
has claimed, one change at a time. A task gets a permit and is started, or it gets a place in the line. The
place is the time to which the task is put back in the queue. It promises nothing, so no task is lost if a run
dies. A task that misses its place gets another in a second, short line.

If no rate limits the action, further tasks wait in the run, as many as it has under way. Each starts as soon
as another one ends. They take no place of the pool.

Tasks of a paused action are put back to one millisecond a day, by a hash of its name. So runs find exactly
these tasks when the action is resumed. Tasks of a closed action are put back to its next opening.

Without limited actions, it costs nothing: no read, no write.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from duebell_shared.backoff import pauses
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.run_rules import AN_ATTEMPT, LONGEST_WAIT, SHORTEST, STAYS, WEIGHT
from duebell_shared.errors import AwsError
from duebell_shared.instants import FIRST, NEVER
from duebell_shared.limits.limits import MOST_AT_A_TIME, Limit, Limits, Semaphore, parked_until, reopening
from duebell_shared.tasks.task import QueueKey
from duebell_worker.log import LogLine
from duebell_worker.run.attempt import Attempt, Ended, as_run, without_attempt
from duebell_worker.run.context import RunContext
from duebell_worker.run.lanes import Batcher
from duebell_worker.run.lease import Lease
from duebell_worker.run.report import Outcome

#: Tries of a change of a semaphore, when other runs change it first.
_TRIES = 20

#: A task whose semaphore cannot be changed now is put back for this time, or up to twice as long.
_IN_TROUBLE = timedelta(seconds=5)

#: A task that has waited in the run for this time is read again before it starts.
_A_WHILE = timedelta(seconds=1)

_Attempts = Sequence[Attempt]


class Limiter:
    """Takes the attempts of limited actions from their claim on.

    is_any    whether an action has limits, or had some
    start     is called with the attempts that may start
    put_back  is called with the attempts that have ended because of a limit
    skip      is called with the key of a task that is not due; this run does not claim it before it is
    """

    def __init__(
        self,
        context: RunContext,
        lease: Lease,
        *,
        start: Callable[[_Attempts], None],
        put_back: Callable[[_Attempts], None],
        skip: Callable[[QueueKey], None],
    ) -> None:
        self._context = context
        self._lease = lease
        self._store = context.backend.store
        self._start = start
        self._put_back = put_back
        self._skip = skip
        self._limits: Limits | None = None
        self.is_any = any(action.limit.is_any for action in context.actions.values())
        self._semaphores: dict[str, Semaphore | None] = {}
        self._changes: dict[str, Batcher[Attempt | None]] = {}
        self._waiting: defaultdict[str, list[Attempt]] = defaultdict(list)
        self._under_way: defaultdict[str, dict[Attempt, datetime]] = defaultdict(dict)
        self._mean_times: dict[str, timedelta] = {}  # of attempts; the latest ones count most
        self._last_place = FIRST
        self._renewed_for = lease.until
        self._to_free: set[str] = set()
        self._is_closed = False
        self._lock = threading.Lock()

    def is_outdated(self, record: ArmingRecord) -> bool:
        """Tell whether the limits were changed since they were read."""
        return record.limits != (self._limits.rev if self._limits else 0)

    def refresh(self, record: ArmingRecord) -> Mapping[datetime, str]:
        """Read the limits if they have changed. Returns the times of parked tasks that are due now.

        Gives unused permits back. Raises AwsError and NotDeployed if the limits were never read: an action
        may be paused.
        """
        if self.is_outdated(record):
            try:
                self._limits = self._store.read(Limits)
            except AwsError as error:
                if self._limits is None:
                    raise
                self._context.warn(LogLine.LIMITS_NOT_READ, error)
        released: Mapping[datetime, str] = {}
        if self._limits:
            self.is_any = self.is_any or bool(self._limits.overrides)
            now = self._context.now()
            known = self._limits.released(now)
            # Without those to which the tasks would be put back again, for ever.
            released = {at: action for at, action in known.items() if at != self._opening(action, now)}
        self.renew()
        with self._lock:
            to_free, self._to_free = self._to_free, set()
        for action in to_free:
            self._change(action, None)
        return released

    def _opening(self, action: str, now: datetime) -> datetime | None:
        """The time to which tasks of this action are put back while it is closed; None if it is open."""
        opens = self.limit_of(action).closed_until(now)
        return reopening(action, opens, now) if opens else None

    def stays_for(self) -> timedelta:
        return STAYS if self._last_place > self._context.now() else timedelta(0)

    def free(self, action: str) -> int:
        """Return the number of waiting tasks of this action that may be claimed, as far as this run knows."""
        limit, semaphore = self.limit_of(action), self._semaphores.get(action)
        if not limit.is_any:
            return MOST_AT_A_TIME
        if limit.is_paused or not semaphore or limit.closed_until(self._context.now()):
            return 0
        under_way = len(self._under_way[action])
        free = semaphore.free(limit, now=self._context.now(), run=self._context.id, under_way=under_way)
        if limit.per_second:
            return free
        # As many more wait in the run, to follow at once.
        return free + max(free + under_way - len(self._waiting[action]), 0)

    def opens_at(self, action: str) -> datetime:
        """The time when the rate lets a waiting task start; never if attempts must end first."""
        limit, semaphore, now = self.limit_of(action), self._semaphores.get(action), self._context.now()
        if not semaphore or limit.at_most is not None or not limit.per_second or limit.closed_until(now):
            return NEVER
        return max(semaphore.opens_at(limit, now), now)

    def lines(self) -> Mapping[str, datetime]:
        """The actions whose limits were changed while tasks waited, with the ends of their lines then."""
        lines = self._limits.lines(self._context.now()) if self._limits else {}
        for action in lines.keys() - self._semaphores.keys():
            try:
                self._semaphores[action] = self._store.read(Semaphore, action)
            except AwsError as error:
                self._context.warn(LogLine.NOT_LIMITED, error, action=action)
        return lines

    def take(self, attempts: _Attempts) -> None:
        """Start the claimed attempts whose actions have no limits; then handle the others."""
        if not self.is_any:
            self._start(attempts)
            return
        free: list[Attempt] = []
        limited: defaultdict[str, list[Attempt]] = defaultdict(list)
        for attempt in attempts:
            with attempt.ending_at_error():
                action = attempt.stored[-1].action
                if self._is_early(attempt):
                    task = attempt.stored[-1]
                    self._skip(attempt.key)  # else the run would claim it again and again
                    attempt.ended = Ended(task, task.given_back(), Outcome.LIMITED)
                    self._put_back([attempt])
                elif (since := attempt.stored[-1].limited_since) and since > self._context.now():
                    self._hold([attempt], [since])  # it was parked by a run whose clock is ahead
                elif self.limit_of(action).is_any and not self._is_over(attempt):
                    limited[action].append(attempt)
                else:
                    free.append(attempt)
        self._start(free)
        for action, those in limited.items():
            self._change(action, *those)

    def renew(self) -> None:
        """Hold the permits as long as the renewed lease; try again if that has failed before."""
        if self._renewed_for < self._lease.until:
            self._renewed_for = self._lease.until
            # Other threads may add an action meanwhile.
            for action in [action for action, attempts in list(self._under_way.items()) if attempts]:
                if self.limit_of(action).at_most is not None:
                    self._change(action, None)

    def close(self) -> None:
        """Give back the permits that are left: other runs need not wait for the end of the lease."""
        self._is_closed = True
        for action, semaphore in list(self._semaphores.items()):
            if semaphore and self._context.id in semaphore.permits:
                self._under_way[action].clear()
                self._change(action, None)

    def _is_early(self, attempt: Attempt) -> bool:
        """Tell whether the task was not parked: by chance it is due at such a time by itself."""
        return attempt.key.queued > self._context.now() and attempt.stored[-1].limited_since is None

    def _is_over(self, attempt: Attempt) -> bool:
        """Tell whether no attempt is made at this task: then it needs no permit."""
        now, keep = self._context.now(), self._context.backend.settings.retention_policy
        return without_attempt(as_run(attempt), self._context.actions, now=now, keep=keep) is not None

    def limit_of(self, action: str) -> Limit:
        known = self._context.actions.get(action)
        declared = known.limit if known else Limit()
        return self._limits.of(action, declared) if self._limits else declared

    def _change(self, action: str, *attempts: Attempt | None) -> None:
        """Change the semaphore for these attempts, to start them; None for a change of those under way."""
        if action not in self._changes:
            # One change at a time: a second one would only find that the semaphore has changed.
            self._changes[action] = Batcher(partial(self._handle, action), most=1_000, side_by_side=1)
        self._changes[action](*attempts)

    def _handle(self, action: str, new: Sequence[Attempt | None]) -> None:
        """Change the semaphore once, for all of these attempts and the waiting ones; raise nothing."""
        with self._lock:
            waiting, self._waiting[action] = self._waiting[action], []
        attempts = sorted([*waiting, *filter(None, new)], key=_since)
        if self._is_closed:  # they do not start, so the semaphore must not count them
            self._go(action, attempts)
            attempts = []
        try:
            self._take(action, attempts)
        except BaseException as error:  # noqa: BLE001 (the run waits for each of these attempts)
            left = [attempt for attempt in attempts if not attempt.over.done()]
            if isinstance(error, AwsError):
                self._context.warn(LogLine.NOT_LIMITED, error, action=action)
                self._renewed_for = FIRST
                self._hold(left, [self._soon() for _ in left])
                return
            for attempt in left:
                attempt.set_over(error)

    def _take(self, action: str, attempts: list[Attempt]) -> None:
        limit, now = self.limit_of(action), self._context.now()
        if limit.is_paused:
            self._hold(attempts, [parked_until(action, now)] * len(attempts))
            return
        opens = self._opening(action, now)
        if opens or self._context.is_out_of_time or self._lease.must_leave:  # a later run starts them
            self._hold(attempts, [opens or now] * len(attempts))
            if limit.at_most is None:
                return
            attempts = []  # the permits of attempts under way are still renewed
        if not limit.is_counted:
            self._go(action, attempts)
            return
        waited = [bool(attempt.waits_since or attempt.stored[-1].limited_since) for attempt in attempts]
        places = self._swap(action, limit, waited)
        allowed = [attempt for attempt, place in zip(attempts, places, strict=True) if place is None]
        going = self._unchanged(action, allowed)
        surplus = [(attempt, place) for attempt, place in zip(attempts, places, strict=True) if place]
        # Each attempt under way can be followed by one that waits here, unless there is a rate as well.
        stays = 0 if limit.per_second else len(self._under_way[action]) + len(going)
        for attempt, _ in surplus[:stays]:
            attempt.waits_since, attempt.has_place = attempt.waits_since or now, False
        with self._lock:
            self._waiting[action] += [attempt for attempt, _ in surplus[:stays]]
        self._go(action, going)
        rest = surplus[stays:]
        self._hold([attempt for attempt, _ in rest], [self._within(limit, at) for _, at in rest])

    def _unchanged(self, action: str, attempts: _Attempts) -> _Attempts:
        """These attempts, without attempts at tasks that were cancelled or moved while they waited here."""
        since = self._context.now() - _A_WHILE
        waited = [attempt for attempt in attempts if attempt.waits_since and attempt.waits_since <= since]
        there = self._store.get_many([attempt.key for attempt in waited]) if waited else {}
        revs = {id: task.rev for id, task in there.items()}
        changed = [attempt for attempt in waited if revs.get(attempt.key.id) != attempt.stored[-1].rev]
        for attempt in changed:
            attempt.set_over(Ended(attempt.stored[-1], attempt.stored[-1], Outcome.SUPERSEDED))
        if changed:
            self._change(action, None)  # other tasks get their permits
        return [attempt for attempt in attempts if attempt not in changed]

    def _swap(self, action: str, limit: Limit, waited: Sequence[bool]) -> Sequence[datetime | None]:
        """Change the semaphore, for the attempts under way and these tasks. Raises AwsError."""
        run, until = self._context.id, self._lease.until
        semaphore = self._semaphores.get(action) or self._store.read(Semaphore, action)
        for pause in pauses(0.01, 0.2, tries=_TRIES):
            now = self._context.now()
            known = semaphore or Semaphore()
            under_way = 0 if limit.at_most is None else len(self._under_way[action])
            current = known.renewed(run, under_way, until=until)
            taken, places = current.take(
                limit, waited, now=now, run=run, until=until, takes=self._time_of(action, now)
            )
            if taken == known:
                return places
            if swapped := self._store.swap(semaphore, taken, action):
                self._semaphores[action] = swapped
                return places
            self._context.backend.sleep(pause)
            semaphore = self._store.read(Semaphore, action)
        self._semaphores[action] = None
        return [self._soon() for _ in waited]

    def _time_of(self, action: str, now: datetime) -> timedelta:
        """The mean time of an attempt, or the time of the longest one under way, if that is longer."""
        with self._lock:
            longest = now - min(self._under_way[action].values(), default=now)
            return max(self._mean_times.get(action, AN_ATTEMPT), longest, SHORTEST)

    def _soon(self) -> datetime:
        return self._context.now() + _IN_TROUBLE * self._context.random.uniform(1, 2)

    def _within(self, limit: Limit, place: datetime) -> datetime:
        """The place; a nearer one if it is only an estimate and too far ahead."""
        latest = self._context.now() + LONGEST_WAIT
        if limit.per_second or place <= latest:
            return place
        return latest - LONGEST_WAIT * self._context.random.uniform(0, 0.5)

    def _go(self, action: str, attempts: _Attempts) -> None:
        """Start these attempts, unless the lease was lost meanwhile, maybe to a run whose clock is ahead."""
        if self._is_closed or not self._lease.is_held():
            for attempt in attempts:
                attempt.set_over(None)
            return
        now = self._context.now()
        with self._lock:
            self._under_way[action] |= dict.fromkeys(attempts, now)
        for attempt in attempts:
            attempt.has_place = True
            if attempt.waits_since:
                attempt.waited = now - attempt.waits_since
            attempt.over.add_done_callback(partial(self._ended, action, attempt))
        if attempts:
            self._start(attempts)

    def _ended(self, action: str, attempt: Attempt, _: object) -> None:
        with self._lock:
            if began := self._under_way[action].pop(attempt, None):
                took = self._context.now() - began
                mean = self._mean_times.get(action, took)
                self._mean_times[action] = mean + (took - mean) * WEIGHT
        if self._waiting[action]:
            self._change(action, None)
        elif self.limit_of(action).at_most is not None:
            with self._lock:
                self._to_free.add(action)  # with the next read of the queue

    def _hold(self, attempts: _Attempts, places: Sequence[datetime]) -> None:
        """Put these tasks back to these places."""
        for attempt, place in zip(attempts, places, strict=True):
            if place == attempt.key.queued:  # another action's tasks were parked at the same time
                self._skip(attempt.key)
            task = as_run(attempt)
            attempt.has_place = True
            attempt.ended = Ended(task, attempt.stored[-1].held_back(place), Outcome.LIMITED)
            if place <= self._context.now() + STAYS:
                self._last_place = max(self._last_place, place)
        if attempts:
            self._put_back(attempts)


def _since(attempt: Attempt) -> tuple[datetime, int, QueueKey]:
    """The order of attempts at tasks of one action: the longest wait first, then the highest priority."""
    return attempt.stored[-1].limited_since or attempt.key.queued, -attempt.key.priority, attempt.key
