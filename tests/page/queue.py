"""A queue in memory that threads can share, and that counts what is read of it."""

import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from duebell_infra.testing.memory import MemoryStore
from duebell_shared.instants import NEVER
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.tasks.task import QueueKey

__all__ = ["SharedStore"]


class SharedStore(MemoryStore):
    """The twin of the tests, each verb behind a lock."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self.keys_read = 0
        self.counts = 0

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


def _locked(name: str) -> Any:
    verb = getattr(MemoryStore, name)

    def call(self: SharedStore, *given: Any, **named: Any) -> Any:
        with self._lock:
            return verb(self, *given, **named)

    return call


for _name in ("swap_record", "insert", "save", "claim", "head"):
    setattr(SharedStore, _name, _locked(_name))
