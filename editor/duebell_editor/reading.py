"""The queue as an editor reads it: its lanes as one, and without history that has expired."""

import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import cached_property

from duebell_shared.arming import ArmingRecord
from duebell_shared.backend import Backend
from duebell_shared.instants import MILLISECOND, NEVER
from duebell_shared.lanes import lane_of
from duebell_shared.task import QueueKey, Status, Task

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

    def keys(
        self, *, after: datetime | QueueKey | None = None, before: datetime = NEVER
    ) -> Iterator[QueueKey]:
        """The tasks that wait or run, in order of `queued`, at one moment lane by lane; as consumed.

        From `after`, to `before`, both included; `after` a key, what comes behind it, whether it is still
        there or not.
        """
        lanes = (
            self.store.queued(lane, after=_after(after, lane), before=before) for lane in range(self.lanes)
        )
        return heapq.merge(*lanes, key=lambda key: key.queued)

    def tasks(self, keys: Iterable[QueueKey], *, batch: int = BATCH) -> Iterator[Task]:
        """The tasks that are still where these keys say, read some at a time."""
        to_come = iter(keys)
        while some := list(itertools.islice(to_come, batch)):
            found = self.store.get_many(some)
            for key in some:
                task = found.get(key.id)
                if task and task.queued == key.queued:
                    yield task

    def unqueued(self, statuses: Collection[Status]) -> Iterator[Task]:
        """The tasks of these statuses, which are not in the queue's index: reads all of history."""
        lanes = (self.store.unqueued(lane, statuses, now=self.clock()) for lane in range(self.lanes))
        return itertools.chain.from_iterable(lanes)


def _after(place: datetime | QueueKey | None, lane: int) -> datetime | QueueKey | None:
    """Where a lane goes on behind a place in all: at one moment, lanes come one after the other."""
    if not isinstance(place, QueueKey) or lane == place.lane:
        return place
    return place.queued + MILLISECOND if lane < place.lane else place.queued
