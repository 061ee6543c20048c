"""Doing together what several threads ask for at about the same time."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Gathered"]

_T = TypeVar("_T")

#: So many calls are made side by side, so that one that takes long does not hold up everybody.
_SIDE_BY_SIDE = 2


class Gathered(Generic[_T]):
    """A call that takes as many as have come while others were under way.

    What comes alone is dealt with alone, at once, by whoever brings it. Under load there are few calls with
    much in them. Nobody ever waits: who finds enough calls under way leaves what it brings to them.
    """

    def __init__(self, call: Callable[[list[_T]], None], *, most: int) -> None:
        """`call` is given one to `most` at a time, and raises nothing."""
        self._call = call
        self._most = most
        self._lock = threading.Lock()
        self._waiting: list[_T] = []
        self._calls = 0

    def __call__(self, one: _T) -> None:
        """See to it that this one is dealt with; it may be before or after this returns."""
        with self._lock:
            self._waiting.append(one)
            if self._calls == _SIDE_BY_SIDE:
                return
            self._calls += 1
        while batch := self._take():
            self._call(batch)

    def _take(self) -> list[_T]:
        with self._lock:
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            if not batch:
                self._calls -= 1
            return batch
