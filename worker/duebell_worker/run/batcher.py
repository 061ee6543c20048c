"""Batches the items that several threads bring at about the same time."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Batcher"]

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
