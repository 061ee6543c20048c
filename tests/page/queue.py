"""A queue in memory that threads can share, and that counts what is read of it."""

import threading
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from duebell_infra.testing.memory import MemoryStore
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.instants import NEVER
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

__all__ = ["SharedStore"]


class SharedStore(MemoryStore):
    """The twin of the tests, each verb behind a lock."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self.keys_read = 0
        self.counts = 0

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        with self._lock:
            return super().swap_record(old, new)

    def insert(self, task: Task) -> bool:
        with self._lock:
            return super().insert(task)

    def save(self, old: Task, new: Task | None) -> bool:
        with self._lock:
            return super().save(old, new)

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        with self._lock:
            return super().claim(key, run=run, now=now, status=status)

    def past(self, lane: int, kind: Past, **bounds: Any) -> Iterator[PastKey]:
        with self._lock:
            keys = list(super().past(lane, kind, **bounds))
        for key in keys:
            self.keys_read += 1
            yield key

    def queued(self, lane: int, **bounds: Any) -> Iterator[QueueKey]:
        with self._lock:
            keys = list(super().queued(lane, **bounds))
        for key in keys:
            self.keys_read += 1
            yield key

    def count_past(self, lane: int, kind: Past, *, last: Past | None = None, most: int) -> int:
        self.counts += 1
        with self._lock:
            return super().count_past(lane, kind, last=last, most=most)

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        self.counts += 1
        with self._lock:
            return super().count(lane, after=after, before=before, most=most)

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        with self._lock:
            return super().head(lane, skipping=skipping)
