"""Readings of the queue that streams share: what several of them follow is read once."""

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

from anyio import to_thread

__all__ = ["Reading", "SharedReadings"]

_T = TypeVar("_T")

#: Seconds after which a reading is dropped.
_KEPT = 120.0


class Reading(NamedTuple, Generic[_T]):
    """A value that was read, and when the read began."""

    value: _T
    at: float


class SharedReadings:
    """The last reading of each key, finished or under way. For one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._readings: dict[Hashable, asyncio.Task[Reading[Any]]] = {}
        self._begun: dict[Hashable, float] = {}

    async def get(self, what: Hashable, read: Callable[[], _T], *, max_age: float) -> Reading[_T]:
        """The reading of `what`, by `read` in a thread unless one is under way or younger than `max_age`.

        A reading that failed is shared too: all get the same error.
        """
        now = self._clock()
        task = self._readings.get(what)
        if task is None or not self._is_good(task, now - self._begun[what], max_age):
            self._drop_old(now)
            task = asyncio.ensure_future(self._read(read, now))
            task.add_done_callback(_retrieved)
            self._readings[what], self._begun[what] = task, now
        return await asyncio.shield(task)  # others may wait for it: a cancelled caller must not end it

    def _is_good(self, task: "asyncio.Task[Reading[Any]]", age: float, max_age: float) -> bool:
        """Tell whether the reading can be shared: it is young enough, or under way in this event loop."""
        if not task.done():
            return task.get_loop() is asyncio.get_running_loop()
        return not task.cancelled() and age < max_age

    async def _read(self, read: Callable[[], _T], now: float) -> Reading[_T]:
        return Reading(await to_thread.run_sync(read), now)

    def _drop_old(self, now: float) -> None:
        for what in [what for what, begun in self._begun.items() if now - begun > _KEPT]:
            if self._readings[what].done():
                del self._readings[what], self._begun[what]


def _retrieved(task: "asyncio.Task[Reading[Any]]") -> None:
    """Retrieve the error of a reading whose callers were all cancelled, or asyncio would log it."""
    if not task.cancelled():
        task.exception()
