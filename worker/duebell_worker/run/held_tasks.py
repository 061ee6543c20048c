"""The tasks that wait for the limits of their actions, and are started before their places in the line.

Problem: where `at_most` alone limits an action, a place is an estimate; after a limit was raised, it is of
the old one. Nothing would be started before the places come, although more could be. Solution: a run
remembers the tasks that it has put back, and starts the first of them as soon as the limit allows. After a
change of limits it also finds those that other runs have put back. If the run dies, their places still hold.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from duebell_shared.bell.run_rules import MOST_HELD
from duebell_shared.instants import NEVER
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task, queue_key

from .attempts import Attempts
from .context import RunContext
from .lanes import Lanes

#: The keys that are read of each lane at a time, to find tasks that other runs have put back; and of all
#: lanes, the tasks that are read then: one call of BatchGetItem.
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
        """Remember the task if it waits for its action's limit.

        One that came due by a clock that is ahead is not due here yet.
        """
        if task.limited_since and task.limited_since <= self._context.now():
            keys = self._keys.setdefault(task.action, [])
            if len(keys) < MOST_HELD:
                heapq.heappush(keys, queue_key(task))

    def __bool__(self) -> bool:
        """True if there are some whose places are ahead; the others are found in the queue."""
        return bool(self._keys) and any(self._actions())

    def find(self, lanes: Iterable[int]) -> None:
        """Read the next tasks of the lines that there were when limits were changed, if none is known.

        Where tasks of other actions are in between, few or none are found: those wait for their places.
        """
        lines = self._limiter.lines()
        self._has_more = self._has_more and bool(lines)
        if not lines or self or lines == self._looked_for:
            return
        now, end = self._context.now(), max(lines.values())
        keys = sorted(self._lanes.ahead(lanes, after=now, before=end, most=_READ))[:_AT_ONCE]
        for task in self._lanes.tasks_of(keys).values():
            if task.status is Status.SCHEDULED and task.action in lines:
                self.remember(task)
        self._has_more = bool(self)
        self._looked_for = {} if self else lines

    def find_left_running(self, lanes: Iterable[int], died: Mapping[str, datetime]) -> None:
        """Find what runs had started before its place when they died, once after each claim of lanes.

        They are at the head of the line; those behind many tasks of other actions are found at their places.
        """
        if not died or died is self._died or not self._limiter.is_any:
            return
        self._died = died
        keys = self._lanes.ahead(lanes, after=self._context.now(), before=NEVER, most=_READ)
        own = self._attempts.under_way()
        for key, task in self._lanes.tasks_of(sorted(keys)[:_AT_ONCE]).items():
            if task.status is Status.RUNNING and task.limited_since and key not in own:
                self._attempts.not_claimed.append(key)

    def take(self) -> Iterator[QueueKey]:
        """Take as many as may be started by now, as far as this run knows."""
        for action in self._actions():
            keys = self._keys[action]
            for _ in range(min(self._limiter.free(action), len(keys))):
                yield heapq.heappop(keys)

    def heads_with(self, heads: Mapping[int, datetime]) -> dict[int, datetime]:
        """These heads of lanes, but not later than when one of these tasks may be started by its rate."""
        earlier = dict(heads)
        for action in self._actions():
            at = self._limiter.opens_at(action)
            lanes = {key.lane for key in self._keys[action]} & heads.keys()
            earlier |= {lane: min(earlier[lane], at) for lane in lanes}
        if self._has_more and not self:
            now = self._context.now()
            earlier |= {lane: min(at, now) for lane, at in heads.items()}
        return earlier

    def _actions(self) -> Iterator[str]:
        now = self._context.now()
        for action, keys in self._keys.items():
            while keys and keys[0].queued <= now:
                heapq.heappop(keys)
            if keys:
                yield action
