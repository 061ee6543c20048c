"""Reading a group of tasks, those whose ids begin with the same text, by the table's own key.

So a group costs what it holds, its history included, however long the queue is.
"""

import heapq
from collections.abc import Iterator

from duebell_shared.queue.items import UNREADABLE
from duebell_shared.queue.past_index import key_of
from duebell_shared.tasks.task import Task, queue_key

from .filters import Filter
from .places import Key, Place, is_failing, sources_of
from .queue import Queue, has_expired

__all__ = ["Group"]

#: Tasks read with the first call: from all lanes together, and of one lane at least.
_AT_FIRST, _OF_ONE_LANE = 400, 25

#: Tasks read of one lane at most with one call.
_AT_ONCE = 1_000

#: Bytes of a payload that count as one task more: what reading costs goes by bytes.
_PAYLOAD = 400


class Group:
    """The tasks of a group that the filter asks for, read in steps: of all lanes at once, more each time.

    read  the size of what was read, in small tasks
    """

    def __init__(self, queue: Queue, which: Filter) -> None:
        self._queue = queue
        self._which = which
        self._sources = sources_of(which)
        self.read = 0
        lanes = queue.lanes_now()
        self._begins: dict[int, str | None] = dict.fromkeys(range(lanes))
        self._step = max(_AT_FIRST // lanes, _OF_ONE_LANE)
        self._first: list[tuple[Key, Task]] = []

    def read_on(self) -> bool:
        """Read the next step; tell whether the group is read to its end."""
        lanes, prefix = list(self._begins), self._which.prefix
        read = self._queue.parallel.all(
            lambda lane: self._queue.store.named(
                lane, prefix, after=self._begins[lane], most=min(self._step, _AT_ONCE)
            ),
            lanes,
        )
        ends = dict(zip(lanes, (end for _, end in read), strict=True))
        self._begins = {lane: end for lane, end in ends.items() if end is not None}
        self._step *= 2
        now = self._queue.clock()
        for tasks, _ in read:
            self.read += sum(1 + len(task.payload_json) // _PAYLOAD for task in tasks)
            there = (task for task in tasks if not has_expired(task, now))
            self._first += ((key, task) for task in there for key in self._keys(task))
        pick = heapq.nlargest if self._which.latest_first else heapq.nsmallest
        self._first = pick(self._which.limit + 1, self._first, key=lambda one: _order(Place.of(one[0])))
        return not self._begins

    def read_all(self, *, most: int | None = None) -> bool:
        """Read on until the end, or until `most` small tasks were read; tell whether the end was reached."""
        is_read = not self._begins
        while not is_read and (most is None or self.read < most):
            is_read = self.read_on()
        return is_read

    @property
    def found(self) -> list[tuple[Key, Task]]:
        """The first tasks of what was read, in order: one more than the limit, if there are so many."""
        return self._first

    def _keys(self, task: Task) -> Iterator[Key]:
        """The key by which a listing by time would find the task, if the filter asks for it."""
        keys: list[Key | None] = [key_of(task)]
        if task.queued is not None and task.queued != UNREADABLE:
            keys.append(queue_key(task))
        for key in keys:
            if key and self._is_asked_for(Place.of(key), key) and self._which.wants(key, task):
                yield key

    def _is_asked_for(self, place: Place, key: Key) -> bool:
        """Tell whether the place is of a source asked for, within its times, and after the cursor."""
        which, start = self._which, self._which.start
        within = is_failing(key) or which.after <= place.at <= which.before
        if place.source not in self._sources or not within:
            return False
        if start is None:
            return True
        here, there = _order(place), _order(start)
        return here < there if which.latest_first else here > there


def _order(place: Place) -> tuple[object, ...]:
    return place.at, place.stream, place.id
