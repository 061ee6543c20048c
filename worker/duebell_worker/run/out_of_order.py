"""Tasks that a run starts out of the order of its reads: they wait for limits, or their claim was refused.

Problem: where `at_most` alone limits an action, a place is an estimate. After a limit was raised, places are
those of the old limit. Nothing would start before its place, although the limit allows it. Solution: a run
remembers the tasks that it has put back, and starts the first of them as soon as the limit allows. After a
change of limits it also finds those that other runs have put back. If the run dies, their places still hold.

A claim is refused if a task is reserved, was left running by a run, or owes a follow-up. Reserved tasks are
left or dropped, and follow-ups are added. A task that a run left running is claimed as running, one at a
time: it may have killed its process.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from duebell_shared.bell.run_rules import MOST_HELD, WATCH
from duebell_shared.instants import NEVER
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task, queue_key
from duebell_worker.log import LogLine
from duebell_worker.run.attempts import Attempts
from duebell_worker.run.context import RunContext
from duebell_worker.run.lanes import Lanes

#: To find tasks that other runs have put back, a run reads so many keys of each lane at a time. Then it reads
#: so many tasks of all lanes with one call of BatchGetItem.
_READ, _AT_ONCE = 25, 100


class HeldTasks:
    """The tasks of one run that wait for limits, by action, the first place first."""

    def __init__(self, context: RunContext, attempts: Attempts, lanes: Lanes) -> None:
        self._context = context
        self._attempts = attempts
        self._limiter = attempts.limiter
        self._lanes = lanes
        self._keys: dict[str, list[QueueKey]] = {}
        self._looked_for: Mapping[str, datetime] = {}
        self._has_more = False
        self._died: Mapping[str, datetime] = {}

    def remember(self, task: Task) -> None:
        """Remember the task if it waits for its action's limit, and is due by this clock."""
        if task.limited_since and task.limited_since <= self._context.now():
            keys = self._keys.setdefault(task.action, [])
            if len(keys) < MOST_HELD:
                heapq.heappush(keys, queue_key(task))

    def __bool__(self) -> bool:
        """True if this run knows held tasks: their places have come since its last read, or come later."""
        return any(self._keys.values())

    def begin_read(self, now: datetime) -> None:
        """Forget the tasks that a read of the lanes at this time finds, parked tasks included."""
        released = self._lanes.released
        for keys in self._keys.values():
            keys[:] = sorted(key for key in keys if key.queued > now and key.queued not in released)

    def find(self, lanes: Iterable[int], died: Mapping[str, datetime]) -> None:
        """Read the next tasks of the lanes, if some of them may be started before their places.

        After a change of limits, it looks for tasks that waited in line then, as long as this run knows none
        of them. Once after each claim of lanes, it looks for tasks that the runs in `died` left running. A
        task behind many tasks of other actions is not found, and starts at its place.
        """
        lines = self._limiter.lines()
        self._has_more = self._has_more and bool(lines)
        reads_lines = bool(lines) and not self and lines != self._looked_for
        reads_left = bool(died) and died is not self._died and self._limiter.is_any
        if not reads_lines and not reads_left:
            return
        end = NEVER if reads_left else max(lines.values())
        keys = self._lanes.ahead(lanes, after=self._context.now(), before=end, most=_READ)
        own = self._attempts.under_way()
        for key, task in self._lanes.tasks_of(sorted(keys)[:_AT_ONCE]).items():
            if reads_left and task.status is Status.RUNNING and task.limited_since and key not in own:
                self._attempts.not_claimed.append(key)
            elif reads_lines and task.status is Status.SCHEDULED and task.action in lines:
                self.remember(task)
        self._died = died
        if reads_lines:
            self._has_more = bool(self)
            self._looked_for = {} if self else lines

    def take(self) -> Iterator[QueueKey]:
        for action, keys in self._keys.items():
            for _ in range(min(self._limiter.free(action), len(keys))):
                if not self._attempts.has_place:
                    return
                yield heapq.heappop(keys)

    def next_start(self) -> datetime:
        """The next time that a rate lets one of these tasks start, at least a moment from now."""
        at = (
            min(keys[0].queued, self._limiter.opens_at(action))
            for action, keys in self._keys.items()
            if keys and self._limiter.limit_of(action).per_second and self._attempts.has_place
        )
        return max(min(at, default=NEVER), self._context.now() + WATCH)

    def heads_with(self, heads: Mapping[int, datetime]) -> dict[int, datetime]:
        """These heads of lanes, each not later than the time when its rate lets a held task start."""
        earlier = dict(heads)
        for action, keys in self._keys.items():
            at = self._limiter.opens_at(action)
            lanes = {key.lane for key in keys} & heads.keys()
            earlier |= {lane: min(earlier[lane], at) for lane in lanes}
        if self._has_more and not self:
            now = self._context.now()
            earlier |= {lane: min(at, now) for lane, at in heads.items()}
        return earlier


#: The shortest and the longest wait before a reserved task is read again. Every run stays for the shortest.
_SHORTEST, _LONGEST = timedelta(seconds=2), timedelta(seconds=30)

#: In a long-running process, a task that was left running is alone for this time. Then the next one starts.
_ALONE_FOR = timedelta(minutes=1)


class Unclaimed:
    """The tasks of one run whose claim was refused."""

    def __init__(self, context: RunContext, lanes: Lanes, attempts: Attempts) -> None:
        self._context = context
        self._lanes = lanes
        self._attempts = attempts
        self._keys = attempts.not_claimed
        self._left_running: dict[QueueKey, int] = {}  # the attempts of tasks that were read
        self._started: QueueKey | None = None  # the one of these tasks that was started last
        self._next_at = NEVER  # the next task starts then, even if that one still runs

    def settle(self) -> bool:
        """Read the tasks, once each, and handle those that need no claim. Returns whether there were any."""
        new = [key for key in self._keys if key not in self._left_running]
        found = self._lanes.tasks_of(new)
        settled = self._settled(found)
        self._left_running |= {key: task.attempt for key, task in found.items() if key not in settled}
        self._keys[:] = [key for key in self._keys if key not in settled]
        return bool(settled)

    def start_next(self, may_start: Callable[[QueueKey], bool]) -> bool:
        """Start the next task that was left running, if it may be started; tell whether it is.

        The task with the fewest attempts is first, so that a task which kills its process each time does not
        delay the others. If there is only one task, it is started without a read.
        """
        while self._keys:
            if self._keys[1:] and self.settle():
                continue
            key = min(self._keys, key=lambda key: (self._left_running.get(key, 0), key))
            self._keys.remove(key)
            self._left_running.pop(key, None)
            if may_start(key):
                self._started = key
                self._next_at = self._context.now() + _ALONE_FOR
                self._attempts.start(key, Status.RUNNING)
                return True
        return False

    def skip_refused(self) -> None:
        """Skip the task that was started last, if it could not be claimed as running either.

        A task that was moved or cancelled meanwhile has another key, and is not skipped.
        """
        key, self._started = self._started, None
        if key is None or key not in self._keys:
            return
        self._keys.remove(key)
        self._left_running.pop(key, None)
        found = self._lanes.tasks_of([key])
        is_changed = any(queue_key(task) != key for task in found.values())
        if not is_changed and not self._settled(found):
            self._context.log(LogLine.PASSED_OVER, id=key.id)
            self._lanes.trouble.skip(key)

    def go_on(self, may_start: Callable[[QueueKey], bool]) -> None:
        """Handle these tasks while others are under way: an action may take minutes, in a process hours."""
        if not self._keys:
            return
        self.settle()
        is_alone = self._started in self._attempts.under_way() and self._context.now() < self._next_at
        if self._context.host and not is_alone and self._attempts.has_place:
            self.skip_refused()
            self.start_next(may_start)

    def _settled(self, found: Mapping[QueueKey, Task]) -> set[QueueKey]:
        """Handle those of these tasks that need no claim; return their keys.

        A reserved task that was confirmed meanwhile is claimed with the next read of its lane.
        """
        now = self._context.now()
        reserved = {key: task for key, task in found.items() if task.status is Status.RESERVED}
        confirmed = {
            key for key, task in found.items() if task.status is Status.SCHEDULED and queue_key(task) == key
        }
        expired = {key: task for key, task in reserved.items() if not now < (task.expires_at or now)}
        for key in confirmed:
            self._lanes.trouble.skip(key, until=now + _SHORTEST)
        for key in reserved.keys() - expired.keys():
            self._lanes.trouble.skip(key, until=_again_at(reserved[key], now))
        self._drop(expired)
        return self._attempts.add_follow_ups(found) | confirmed | reserved.keys()

    def _drop(self, expired: Mapping[QueueKey, Task]) -> None:
        """Delete these reserved tasks. One that was confirmed meanwhile, or could not be deleted, is kept."""
        results = self._lanes.save([(task, None) for task in expired.values()])
        for (key, task), is_dropped in zip(expired.items(), results, strict=True):
            if is_dropped is True:
                self._context.log(LogLine.RESERVATION_DROPPED, id=task.id, action=task.action)
            else:
                self._lanes.trouble.skip(key, until=self._context.now() + _SHORTEST)


def _again_at(task: Task, now: datetime) -> datetime:
    """The time to read a reserved task again: after a quarter of the time that its transaction has taken."""
    wait = max(min((now - task.created_at) / 4, _LONGEST), _SHORTEST)
    return min(now + wait, task.expires_at or now)
