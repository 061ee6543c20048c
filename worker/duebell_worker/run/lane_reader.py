"""Reads the lanes of a run side by side. A lane that cannot be read does not hinder the others."""

import heapq
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import TypeVar

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsError, DuebellError
from duebell_shared.instants import NEVER
from duebell_shared.tasks.task import QueueKey, Task
from duebell_worker.run.trouble import Call, Trouble

__all__ = ["LaneReader", "LookAhead"]

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


_T = TypeVar("_T")

#: Keys read of each lane at first: a hundred bytes each, so that they cost one read unit of 4 KB.
_FEW = 25


class LaneReader:
    """Reads the lanes that are not in trouble. Raises NotDeployed."""

    def __init__(self, backend: Backend, trouble: Trouble) -> None:
        self._store = backend.store
        self._parallel = backend.parallel
        self._clock = backend.clock
        self._trouble = trouble
        #: Times ahead whose tasks are due now: see Limits.released.
        self.released: Collection[datetime] = ()

    def parked(self, lanes: Iterable[int]) -> dict[int, Iterator[QueueKey]]:
        """Return the keys of the tasks at `released`, by lane, of the lanes that have some."""
        if not self.released:
            return {}
        keys = {lane: self._parked_in(lane) for lane in lanes}
        first = self._each(keys, lambda lane: next(keys[lane], None))
        return {lane: self._from(key, keys[lane]) for lane, key in first.items() if key}

    def _parked_in(self, lane: int) -> Iterator[QueueKey]:
        for at in sorted(self.released):
            yield from self._store.queued(lane, after=at, before=at, page_size=_FEW)

    def ahead(self, lanes: Iterable[int], *, after: datetime, before: datetime, most: int) -> list[QueueKey]:
        """Return the first keys between these times: at most this many of each lane, without gaps."""

        def read(lane: int) -> list[QueueKey]:
            keys = self._store.queued(lane, after=after, before=before, page_size=most)
            return list(itertools.islice(keys, most))

        found = [keys for keys in self._each(lanes, read).values() if keys]
        last = min((keys[-1].queued for keys in found if len(keys) == most), default=before)
        return [key for key in itertools.chain.from_iterable(found) if key.queued <= last]

    def queued(
        self, lanes: Iterable[int], *, now: datetime
    ) -> tuple[dict[int, datetime], Iterator[QueueKey]]:
        """Return the heads of the lanes in which nothing is due yet, and the keys of all, earliest first.

        Makes one query for a lane in which little is due.
        """
        keys = {lane: self._store.queued(lane, page_size=_FEW) for lane in lanes}
        first = self._each(keys, lambda lane: next(keys[lane], None))
        heads = {lane: key.queued if key else NEVER for lane, key in first.items()}
        quiet = {lane: head for lane, head in heads.items() if head > now}
        streams = (self._from(key, keys[lane]) for lane, key in first.items() if key)
        return quiet, heapq.merge(*streams, key=lambda key: (key.order, key.id))

    def heads(self, lanes: Iterable[int]) -> dict[int, datetime]:
        """Return when each lane must be read next: at its head, or when its trouble is over."""
        lanes = tuple(lanes)
        heads = self._each(lanes, self._head, call=Call.HEAD)
        return {lane: heads.get(lane) or self._trouble.again_at(lane) or self._clock() for lane in lanes}

    def counts(self, lanes: Iterable[int], *, before: datetime = NEVER, most: int) -> dict[int, int]:
        """Count the tasks of each lane until `before`, up to `most`; without lanes that cannot be read."""
        return self._each(lanes, lambda lane: self._store.count(lane, before=before, most=most))

    def tasks_of(self, keys: Collection[QueueKey]) -> dict[QueueKey, Task]:
        """Read the tasks with these keys; without those that are not there or cannot be read."""
        try:
            found = self._store.get_many(keys) if keys else {}
        except AwsError:
            found = {}
        return {key: found[key.id] for key in keys if key.id in found}

    def _head(self, lane: int) -> datetime:
        head = self._store.head(lane)
        passed_over = self._trouble.passed_over(lane)
        if head > self._clock() and any(key not in passed_over for key in self._parked_in(lane)):
            return self._clock()
        if head > self._clock() or not passed_over:
            return head
        return min(self._store.head(lane, skipping=passed_over), *passed_over.values())

    def _from(self, first: QueueKey, others: Iterator[QueueKey]) -> Iterator[QueueKey]:
        yield first
        try:
            yield from others
        except AwsError as error:
            self._trouble.failed(first.lane, Call.READ, error)

    def _each(
        self, lanes: Iterable[int], read: Callable[[int], _T], *, call: Call = Call.READ
    ) -> dict[int, _T]:
        """Read the lanes that are not in trouble; return the answers of those that answered."""
        lanes = [lane for lane in lanes if self._trouble.again_at(lane) is None]
        answers: dict[int, _T] = {}
        for lane, answer in zip(lanes, self._parallel(read, lanes), strict=True):
            if isinstance(answer, AwsError):
                self._trouble.failed(lane, call, answer)
            elif isinstance(answer, DuebellError):
                raise answer
            else:
                self._trouble.answered(lane, call)
                answers[lane] = answer
        return answers
