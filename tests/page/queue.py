"""A queue in memory that threads can share, and that counts the keys that are read of it."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from duebell_infra.testing.memory import MemoryStore

__all__ = ["SharedStore"]


class SharedStore(MemoryStore):
    """The twin of the tests, each verb behind a lock."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self.keys_read = 0

    def _counted(self, keys: Iterable[Any]) -> Iterator[Any]:
        for key in keys:
            self.keys_read += 1
            yield key


def _locked(name: str) -> Callable[..., Any]:
    verb = getattr(MemoryStore, name)

    def call(self: SharedStore, *given: Any, **named: Any) -> Any:
        with self._lock:
            found = verb(self, *given, **named)
            return self._counted(list(found)) if name in {"past", "queued"} else found

    return call


for _name in ("swap_record", "insert", "save", "claim", "head", "past", "queued", "count_past", "count"):
    setattr(SharedStore, _name, _locked(_name))
