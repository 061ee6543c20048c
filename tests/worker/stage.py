"""Actions that take time, without any passing: they run side by side, and the clock goes on when all wait."""

import math
from collections.abc import Callable, Collection
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Any

from greenlet import getcurrent, greenlet

from tests.support import Clock

_LONG = timedelta(days=365)


class Stage:
    """A worker's pool whose actions may sleep by the clock; whoever wakes first goes on first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sleeping: dict[greenlet, datetime] = {}

    def __call__(self, size: int) -> "Stage":
        """Stands in for the pool's class."""
        return self

    def sleep(self, seconds: float) -> None:
        """For an action: take so long, or for ever."""
        long = _LONG if math.isinf(seconds) else timedelta(seconds=seconds)
        me = getcurrent()
        self._sleeping[me] = self._clock() + long
        if me.parent is None:
            raise RuntimeError("only an action can sleep on the stage")
        me.parent.switch()

    def wake_all(self) -> None:
        """Let every action that still sleeps come to its end."""
        while self._sleeping:
            self._go_on(next(iter(self._sleeping)))

    def go_on_until(self, moment: datetime) -> None:
        """Let what sleeps go on while its process sleeps, too."""
        while self._sleeping and (wakes_at := min(self._sleeping.values())) <= moment:
            self._clock.now = max(self._clock.now, wakes_at)
            self._go_on(min(self._sleeping, key=self._sleeping.__getitem__))

    def submit(self, call: Callable[..., None], *arguments: Any) -> Future[None]:
        """Start the call, as far as it goes without sleeping."""
        future: Future[None] = Future()

        def run() -> None:
            try:
                call(*arguments)
            except BaseException as error:  # noqa: BLE001 (as a thread pool does)
                future.set_exception(error)
            else:
                future.set_result(None)

        self._go_on(greenlet(run))
        return future

    def wait(self, futures: Collection[Future[None]], patience: timedelta) -> Collection[Future[None]]:
        """Let the clock go on until one has ended, or patience has."""
        until = self._clock() + patience
        while not (ended := [future for future in futures if future.done()]):
            first = min(self._sleeping, key=self._sleeping.__getitem__)
            wakes_at = self._sleeping[first]
            if wakes_at > until:
                self._clock.now = max(self._clock.now, until)
                break
            self._clock.now = max(self._clock.now, wakes_at)
            self._go_on(first)
        return ended

    def close(self) -> None:
        """Leaves the threads alone that still sleep."""

    def _go_on(self, action: greenlet) -> None:
        self._sleeping.pop(action, None)
        action.parent = getcurrent()
        action.switch()
