"""Reading tasks from all lanes of the queue, without history that has expired."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.instants import NEVER
from duebell_shared.queue.lanes import places_of
from duebell_shared.queue.past_index import PastKey, key_of
from duebell_shared.queue.store import LARGEST_PAGE
from duebell_shared.tasks.task import QueueKey, Task

if TYPE_CHECKING:
    from duebell_shared.audit import Audit

#: A lane in which fewer keys than this are in sight is short: then all lanes are read.
_FEW = 1_000

#: Keys that are read of one lane at most.
_MOST = 12_800

#: Keys in one answer of DynamoDB: many are read, so the first answer is as large as any.
PAGE = LARGEST_PAGE

_T = TypeVar("_T")


#: Tasks fetched at a time from their keys: DynamoDB's limit for one BatchGetItem.
BATCH = 100


_K = TypeVar("_K", bound=QueueKey | PastKey)


class Queue:
    """Reads what a backend's store holds. All reads are strongly consistent, and none is a Scan."""

    def __init__(self, backend: Backend) -> None:
        self.store = backend.store
        self.clock = backend.clock
        self.parallel = backend.parallel
        self._armer = backend.armer
        self._backend = backend

    @cached_property
    def audit(self) -> "Audit":
        return self._backend.audit

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The numbers of lanes that tasks were placed by, the current one first; read once."""
        return self.record().counts

    def counts_now(self) -> tuple[int, ...]:
        """Read `counts` again."""
        counts = self.record().counts
        self.__dict__["counts"] = counts  # replaced, not deleted: other threads may be reading it
        return counts

    def forget_counts(self) -> None:
        """Have the next call read `counts` again."""
        self.__dict__.pop("counts", None)

    @property
    def lanes(self) -> int:
        """The number of lanes that tasks are placed by, as it was read last."""
        return self.counts[0]

    def lanes_now(self) -> int:
        return self.counts_now()[0]

    def lane_of(self, id: str) -> int:
        """The lane that a new task with this id is put in."""
        return places_of(id, self.counts)[0]

    def get_many(self, ids: Iterable[str]) -> dict[str, Task]:
        """The tasks with these ids that exist; expired history counts as deleted."""
        ids = list(ids)
        counts = self.counts if ids else ()
        found = self._first_found({id: _places(id, counts) for id in ids}, self.clock())
        if len(found) < len(ids) and (counts_now := self.counts_now()) != counts:
            left = (id for id in ids if id not in found)
            found |= self._first_found({id: _places(id, counts_now) for id in left}, self.clock())
        return found

    def placed_before(self, ids: Iterable[str]) -> dict[str, Task]:
        """The tasks with these ids that are in their lanes by earlier numbers of lanes."""
        counts = self.counts
        if not counts[1:]:
            return {}
        return self._first_found({id: self.places_before(id) for id in ids}, self.clock())

    def places_before(self, id: str) -> list[int]:
        """The lanes of this id by earlier numbers of lanes, without its lane of now."""
        return places_of(id, self.counts)[1:]

    def record(self) -> ArmingRecord:
        return self._armer.read()

    def get(self, id: str, *, now: datetime | None = None) -> Task | None:
        counts = self.counts
        task = self._find(id, counts, now)
        if task is None and (counts_now := self.counts_now()) != counts:
            task = self._find(id, counts_now, now)
        return task

    def _find(self, id: str, counts: Sequence[int], now: datetime | None) -> Task | None:
        there = (self.store.get(lane, id) for lane in _places(id, counts))
        found = (task for task in there if task and not has_expired(task, now or self.clock()))
        return next(map(self.known, found), None)

    def known(self, task: Task) -> Task:
        """The task; its schedule is given its calendar, if it has one."""
        if task.recurrence and task.recurrence.schedule.calendar:
            self._backend.calendars.attach(task)
        return task

    def _first_found(self, places: Mapping[str, Sequence[int]], now: datetime) -> dict[str, Task]:
        found: dict[str, Task] = {}
        for index in range(max(map(len, places.values()), default=0)):
            left = [id for id, lanes in places.items() if id not in found and len(lanes) > index]
            keys = (QueueKey(queued=NEVER, id=id, lane=places[id][index]) for id in left)
            while some := list(itertools.islice(keys, BATCH)):
                there = self.store.get_many(some)
                found |= {id: self.known(task) for id, task in there.items() if not has_expired(task, now)}
        return found

    def tasks_at(self, keys: Iterable[QueueKey | PastKey]) -> Iterator[tuple[QueueKey | PastKey, Task]]:
        """The tasks that still have these keys, each with its key; read in batches."""
        return ((key, task) for key, task in self.tasks_of(keys) if _is_at(task, key))

    def tasks_of(self, keys: Iterable[_K]) -> Iterator[tuple[_K, Task]]:
        """The tasks that these keys were of, each with its key; read in batches."""
        to_come = iter(keys)
        while some := list(itertools.islice(to_come, BATCH)):
            found = self.store.get_many([QueueKey(queued=NEVER, id=key.id, lane=key.lane) for key in some])
            now = self.clock()
            for key in some:
                task = found.get(key.id)
                if task and not has_expired(task, now):
                    yield key, self.known(task)


def _is_at(task: Task, key: QueueKey | PastKey) -> bool:
    return task.queued == key.queued if isinstance(key, QueueKey) else key_of(task) == key


def _places(id: str, counts: Sequence[int]) -> list[int]:
    """The lanes to read for a task: the current one, the earlier ones, and the current one again.

    The last read finds a task that a relaner moved between the first two.
    """
    places = places_of(id, counts)
    return [*places, places[0]] if places[1:] else places


def has_expired(task: Task, now: datetime) -> bool:
    """Tell whether the task is history that DynamoDB has yet to delete."""
    return task.expires_at is not None and task.expires_at <= now


def sample_lanes(
    queue: Queue, lanes: int, read: Callable[[int], _T], *, size: Callable[[_T], int]
) -> tuple[list[_T], int]:
    """Read the first lane, and the others if it is short; and how many lanes each of them stands for.

    size  the number of keys in what was read
    """
    first = read(0)
    if size(first) >= _FEW:
        return [first], lanes
    return [first, *queue.parallel.all(read, range(1, lanes))], 1


def first_keys(keys: Iterable[_T]) -> tuple[list[_T], bool]:
    """As many keys of a lane as are read at most; and whether that may not be all."""
    read = list(itertools.islice(keys, _MOST))
    return read, len(read) == _MOST


def evenly(several: Sequence[_T], most: int) -> list[_T]:
    """At most this many of several, evenly spaced."""
    count = min(len(several), max(most, 0))
    return [several[number * len(several) // count] for number in range(count)]
