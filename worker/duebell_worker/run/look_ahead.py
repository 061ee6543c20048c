"""The due tasks of a look into the queue, by priority among those that were read ahead."""

import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from duebell_shared.instants import NEVER
from duebell_shared.tasks.task import QueueKey

__all__ = ["LookAhead"]

#: Keys in sight before the first task is started; so many more are read whenever tasks wait for a place.
_AT_ONCE = 100

#: The most keys in sight while no task among them has a priority; and when some have one.
_MOST, _MOST_WITH_PRIORITIES = 1_000, 100_000


class LookAhead:
    """The keys of tasks that are due, in order of the queue, some of them read ahead.

    next_due  when the first task is due that is not due yet, as far as that has been read; else NEVER
    """

    def __init__(
        self,
        keys: Iterator[QueueKey],
        *,
        now: datetime,
        skipping: Collection[QueueKey],
        parked: Iterable[Iterator[QueueKey]] = (),
    ) -> None:
        """`parked` are keys that are due whatever time they have."""
        self.next_due = NEVER
        released = (key for key in itertools.chain.from_iterable(parked) if key not in skipping)
        self._keys = itertools.chain(released, self._due(keys, now, skipping))
        self._in_sight: list[tuple[int, datetime, int, QueueKey]] = []
        self._has_priorities = False
        self._read = 0

    def __bool__(self) -> bool:
        """True if a task is left. Reads the first keys."""
        self._read_to(_AT_ONCE)
        return bool(self._in_sight)

    def read_on(self) -> None:
        """Read more keys, if there may be more in sight. For when tasks wait for a place."""
        most = _MOST_WITH_PRIORITIES if self._has_priorities else _MOST
        self._read_to(min(len(self._in_sight) + _AT_ONCE, most))

    def pop(self) -> QueueKey:
        """Take the task with the highest priority, of several the one that comes first."""
        return heapq.heappop(self._in_sight)[-1]

    def _read_to(self, count: int) -> None:
        """Read until this many are in sight, or no more are due."""
        for key in itertools.islice(self._keys, max(count - len(self._in_sight), 0)):
            self._has_priorities = self._has_priorities or key.priority > 0
            self._read += 1
            heapq.heappush(self._in_sight, (-key.priority, key.queued, self._read, key))

    def _due(
        self, keys: Iterator[QueueKey], now: datetime, skipping: Collection[QueueKey]
    ) -> Iterator[QueueKey]:
        for key in keys:
            if key.queued > now:
                self.next_due = key.queued
                return
            if key not in skipping:
                yield key
