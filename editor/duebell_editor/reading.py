"""The queue as an editor reads it: its lanes as one, and without history that has expired."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from duebell_shared.arming import ArmingRecord
from duebell_shared.backend import Backend
from duebell_shared.instants import NEVER
from duebell_shared.lanes import lane_of, places_of
from duebell_shared.past_index import PastKey, key_of
from duebell_shared.task import QueueKey, Task

__all__ = ["BATCH", "Queue"]

#: Tasks fetched at a time from their keys: DynamoDB's limit for one BatchGetItem.
BATCH = 100


class Queue:
    """Reads what a backend's store holds. All reads are strongly consistent, and none is a Scan."""

    def __init__(self, backend: Backend) -> None:
        self.store = backend.store
        self.clock = backend.clock
        self.parallel = backend.parallel
        self._armer = backend.armer

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The numbers of lanes that tasks were placed by, the present one first; read once."""
        return self.record().counts

    def counts_now(self) -> tuple[int, ...]:
        """The same, read anew, and known from now on."""
        counts = self.record().counts
        self.__dict__["counts"] = counts  # other threads may be at it too
        return counts

    @property
    def lanes(self) -> int:
        """The number of lanes that tasks are placed by, as it is known."""
        return self.counts[0]

    def lanes_now(self) -> int:
        """The number of lanes, read anew, and known from now on."""
        return self.counts_now()[0]

    def lane_of(self, id: str) -> int:
        """The lane that a new task with this id is put in."""
        return places_of(id, self.counts)[0]

    def get_many(self, ids: Iterable[str]) -> dict[str, Task]:
        """Those of the tasks with these ids that are there; history counts as in `get`."""
        ids = list(ids)
        counts = self.counts if ids else ()
        found = self._look({id: _places(id, counts) for id in ids}, self.clock())
        if len(found) < len(ids) and (counts_now := self.counts_now()) != counts:
            left = (id for id in ids if id not in found)
            found |= self._look({id: _places(id, counts_now) for id in left}, self.clock())
        return found

    def placed_before(self, ids: Iterable[str]) -> dict[str, Task]:
        """Get the tasks with these ids that are in the lanes of earlier numbers of lanes."""
        counts = self.counts
        places = {id: places_of(id, counts)[1:] for id in ids} if counts[1:] else {}
        return self._look(places, self.clock())

    def in_lanes(self, lanes: int, ids: Iterable[str]) -> dict[str, Task]:
        """Get the tasks with these ids that are in the lanes that so many lanes give them."""
        return self._look({id: [lane_of(id, lanes)] for id in ids}, self.clock())

    def record(self) -> ArmingRecord:
        """The arming record, as it is now."""
        return self._armer.read()

    def get(self, id: str, *, now: datetime | None = None) -> Task | None:
        """The task with this id; history that has expired by now counts as deleted, whether it is or not."""
        counts = self.counts
        task = self._find(id, counts, now)
        if task is None and (counts_now := self.counts_now()) != counts:
            task = self._find(id, counts_now, now)
        return task

    def _find(self, id: str, counts: Sequence[int], now: datetime | None) -> Task | None:
        there = (self.store.get(lane, id) for lane in _places(id, counts))
        return next((task for task in there if task and not _has_expired(task, now or self.clock())), None)

    def _look(self, places: Mapping[str, Sequence[int]], now: datetime) -> dict[str, Task]:
        """The tasks with these ids, each in the first of its places where there is one."""
        found: dict[str, Task] = {}
        for turn in range(max(map(len, places.values()), default=0)):
            left = [id for id, lanes in places.items() if id not in found and len(lanes) > turn]
            keys = (QueueKey(queued=NEVER, id=id, lane=places[id][turn]) for id in left)
            while some := list(itertools.islice(keys, BATCH)):
                there = self.store.get_many(some)
                found |= {id: task for id, task in there.items() if not _has_expired(task, now)}
        return found

    def tasks_at(self, keys: Iterable[QueueKey | PastKey]) -> Iterator[tuple[QueueKey | PastKey, Task]]:
        """The tasks that are still where these keys say, each with its key; read some at a time."""
        to_come = iter(keys)
        while some := list(itertools.islice(to_come, BATCH)):
            found = self.store.get_many([QueueKey(queued=NEVER, id=key.id, lane=key.lane) for key in some])
            now = self.clock()
            for key in some:
                task = found.get(key.id)
                if task and _is_at(task, key) and not _has_expired(task, now):
                    yield key, task


def _is_at(task: Task, key: QueueKey | PastKey) -> bool:
    return task.queued == key.queued if isinstance(key, QueueKey) else key_of(task) == key


def _places(id: str, counts: Sequence[int]) -> list[int]:
    """The lanes to look into for a task, in their order.

    A relaner moves tasks from an earlier place to the present one. What it moved in between is found by the
    second look at the present one.
    """
    places = places_of(id, counts)
    return [*places, places[0]] if places[1:] else places


def _has_expired(task: Task, now: datetime) -> bool:
    return task.expires_at is not None and task.expires_at <= now
