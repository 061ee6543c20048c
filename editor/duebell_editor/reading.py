"""The queue as an editor reads it: its lanes as one, and without history that has expired."""

import itertools
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cached_property

from duebell_shared.arming import ArmingRecord
from duebell_shared.backend import Backend
from duebell_shared.instants import NEVER
from duebell_shared.lanes import lane_of
from duebell_shared.past import PastKey, key_of
from duebell_shared.task import QueueKey, Task

__all__ = ["BATCH", "Queue"]

#: Tasks fetched at a time from their keys: DynamoDB's limit for one BatchGetItem.
BATCH = 100


class Queue:
    """Reads what a backend's store holds. All reads are strongly consistent, and none is a Scan."""

    def __init__(self, backend: Backend) -> None:
        self.store = backend.store
        self.clock = backend.clock
        self._armer = backend.armer

    @cached_property
    def lanes(self) -> int:
        """The queue's own number of lanes, read once: it hardly ever changes."""
        return len(self.record().lanes)

    def lanes_now(self) -> int:
        """The number of lanes, read anew, and known from now on."""
        lanes = len(self.record().lanes)
        self.__dict__["lanes"] = lanes  # other threads may be at it too
        return lanes

    def lane_of(self, id: str) -> int:
        """The lane that holds the task with this id, if there is one."""
        return lane_of(id, self.lanes)

    def get_many(self, ids: Iterable[str]) -> dict[str, Task]:
        """Those of the tasks with these ids that are there; history counts as in `get`."""
        found: dict[str, Task] = {}
        keys = (QueueKey(queued=NEVER, id=id, lane=self.lane_of(id)) for id in ids)
        while some := list(itertools.islice(keys, BATCH)):
            found |= self.store.get_many(some)
        now = self.clock()
        return {id: task for id, task in found.items() if not (task.expires_at and task.expires_at <= now)}

    def record(self) -> ArmingRecord:
        """The arming record, as it is now."""
        return self._armer.read()

    def get(self, id: str, *, now: datetime | None = None) -> Task | None:
        """The task with this id; history that has expired by now counts as deleted, whether it is or not."""
        lanes = self.lanes
        task = self.store.get(lane_of(id, lanes), id)
        if task is None and (lanes_now := self.lanes_now()) != lanes:
            task = self.store.get(lane_of(id, lanes_now), id)
        return None if task and task.expires_at and task.expires_at <= (now or self.clock()) else task

    def tasks_at(self, keys: Iterable[QueueKey | PastKey]) -> Iterator[tuple[QueueKey | PastKey, Task]]:
        """The tasks that are still where these keys say, each with its key; read some at a time."""
        to_come = iter(keys)
        while some := list(itertools.islice(to_come, BATCH)):
            found = self.store.get_many([QueueKey(queued=NEVER, id=key.id, lane=key.lane) for key in some])
            now = self.clock()
            for key in some:
                task = found.get(key.id)
                if task and _is_at(task, key) and not (task.expires_at and task.expires_at <= now):
                    yield key, task


def _is_at(task: Task, key: QueueKey | PastKey) -> bool:
    return task.queued == key.queued if isinstance(key, QueueKey) else key_of(task) == key
