"""Writes claims and outcomes to the lanes of a run, as long as its lease is held."""

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from duebell_shared.errors import DuebellError
from duebell_shared.queue.store import AT_ONCE, Claimed, Failed, Saved
from duebell_shared.tasks.task import QueueKey, Status, Task
from duebell_worker.run.context import RunContext
from duebell_worker.run.lease import Lease
from duebell_worker.run.trouble import Call, Trouble

__all__ = ["Batcher", "LaneWriter"]

_T = TypeVar("_T")

#: Calls that are made side by side, so that a slow one does not hold up all items.
_SIDE_BY_SIDE = 2


class Batcher(Generic[_T]):
    """A call that takes all items that were brought while earlier calls were under way.

    An item that comes alone is handled alone, at once, by the thread that brings it. Under load there are few
    calls with many items. No thread waits: one that finds enough calls under way leaves its item to them.
    """

    def __init__(
        self,
        call: Callable[[list[_T]], None],
        *,
        most: int,
        side_by_side: int = _SIDE_BY_SIDE,
        fills: bool = False,
    ) -> None:
        """`call` gets one to `most` items at a time, and must raise nothing.

        fills  beside a call that is under way, only full ones are made: fewer items wait until it has ended
        """
        self._call = call
        self._most = most
        self._side_by_side = side_by_side
        self._fills = fills
        self._lock = threading.Lock()
        self._waiting: list[_T] = []
        self._calls = 0

    def __call__(self, *items: _T) -> None:
        """Have these items handled: here, or in later batches of other threads."""
        with self._lock:
            self._waiting += items
            if self._calls == self._side_by_side or self._is_left_to(self._calls):
                return
            self._calls += 1
        while batch := self._take():
            self._call(batch)

    def _take(self) -> list[_T]:
        with self._lock:
            if not self._waiting or self._is_left_to(self._calls - 1):
                self._calls -= 1
                return []
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            return batch

    def _is_left_to(self, others: int) -> bool:
        """Tell whether what waits is left to this many other calls: the last of them takes what is left."""
        return self._fills and others > 0 and len(self._waiting) < self._most


_A = TypeVar("_A")


class LaneWriter:
    """Claims tasks and writes outcomes; writes nothing once the lease has run out. Thread-safe."""

    def __init__(self, context: RunContext, lease: Lease, trouble: Trouble) -> None:
        self._context = context
        self._store = context.backend.store
        self._lease = lease
        self._trouble = trouble

    def claim(self, keys: Sequence[QueueKey], status: Status) -> list[Task | BaseException | None]:
        """Claim the tasks with these keys and this status; return each as claimed, in order.

        In place of a task: the error; or None if it was not eligible, or the lease is lost.
        """

        def claim(keys: Sequence[QueueKey]) -> Sequence[Task | BaseException | None]:
            id, now = self._context.id, self._context.now()
            results = self._store.claim_many(keys, run=id, now=now, status=status)
            return [one.task if isinstance(one, Claimed) else _error_of(one) for one in results]

        return self._write(Call.CLAIM, claim, keys, [key.lane for key in keys])

    def save(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | BaseException | None]:
        """Write these changes; return for each True, or the error.

        False if someone else changed the task meanwhile, None if the lease is lost.
        """

        def save(changes: Sequence[tuple[Task, Task | None]]) -> Sequence[bool | BaseException | None]:
            results = self._store.save_many(changes)
            return [_error_of(one) or isinstance(one, Saved) for one in results]

        return self._write(Call.OUTCOME, save, changes, [old.lane for old, _ in changes])

    def _write(
        self,
        call: Call,
        write: Callable[[Sequence[_A]], Sequence[_T | BaseException | None]],
        batch: Sequence[_A],
        lanes: Sequence[int],
    ) -> list[_T | BaseException | None]:
        """Write these in batches of AT_ONCE.

        If a batch raises, by a bug or an item that nobody foresaw, each of it is written alone, so that one
        does not fail the others.
        """
        size = AT_ONCE
        if len(batch) <= AT_ONCE:
            if not self._lease.is_held():
                return [None] * len(batch)
            try:
                results = list(write(batch))
            except BaseException as error:  # noqa: BLE001
                if not batch[1:] or not isinstance(error, Exception):
                    return [error] * len(batch)
                size = 1
            else:
                self._trouble.written(call, zip(lanes, results, strict=True))
                return results
        parts = [slice(first, first + size) for first in range(0, len(batch), size)]
        return [one for part in parts for one in self._write(call, write, batch[part], lanes[part])]


def _error_of(result: object) -> DuebellError | None:
    return result.error if isinstance(result, Failed) else None
