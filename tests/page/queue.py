"""A queue in memory that answers as fast with a hundred thousand tasks, and that threads can share."""

import bisect
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import UTC, datetime

from duebell_infra.testing.memory import MemoryStore
from duebell_shared.arming import ArmingRecord
from duebell_shared.instants import NEVER
from duebell_shared.task import QueueKey, Status, Task

__all__ = ["SharedStore"]

_FIRST = datetime.min.replace(tzinfo=UTC)


class SharedStore(MemoryStore):
    """The twin of the tests, with the index kept in order, and each verb behind a lock. Counts keys read."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._index: dict[int, list[QueueKey]] = defaultdict(list)
        self.keys_read = 0
        self.counts = 0
        self.walks = 0  # of whole lanes

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        with self._lock:
            return super().swap_record(old, new)

    def insert(self, task: Task) -> bool:
        with self._lock:
            return self._indexed(task.lane, task.id, super().insert(task))

    def save(self, old: Task, new: Task) -> bool:
        with self._lock:
            self._forget(old.lane, old.id)
            return self._indexed(old.lane, old.id, super().save(old, new))

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        with self._lock:
            return super().claim(key, run=run, now=now, status=status)

    def unqueued(self, lane: int, statuses: Collection[Status], *, now: datetime) -> Iterator[Task]:
        self.walks += 1
        with self._lock:
            return iter(list(super().unqueued(lane, statuses, now=now)))

    def _indexed(self, lane: int, id: str, outcome: bool) -> bool:
        task = self.tasks.get((lane, id))
        if task and task.queued:
            key = QueueKey(queued=task.queued, id=id, lane=lane)
            keys = self._index[lane]
            at = bisect.bisect_left(keys, key)
            if at == len(keys) or keys[at] != key:
                keys.insert(at, key)
        return outcome

    def _forget(self, lane: int, id: str) -> None:
        task = self.tasks.get((lane, id))
        if task and task.queued:
            keys = self._index[lane]
            del keys[bisect.bisect_left(keys, QueueKey(queued=task.queued, id=id, lane=lane))]

    def queued(
        self, lane: int, *, after: datetime | None = None, before: datetime = NEVER
    ) -> Iterator[QueueKey]:
        keys = self._index[lane]
        at = bisect.bisect_left(keys, QueueKey(queued=after or _FIRST, id="", lane=0))
        while at < len(keys) and keys[at].queued <= before:
            self.keys_read += 1
            yield keys[at]
            at += 1

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        self.counts += 1
        keys = self._index[lane]
        begin = bisect.bisect_left(keys, QueueKey(queued=after or _FIRST, id="", lane=0))
        end = bisect.bisect_right(keys, before, key=lambda key: key.queued)
        return min(most, max(0, end - begin))

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        return next((key.queued for key in self.queued(lane) if key not in skipping), NEVER)
