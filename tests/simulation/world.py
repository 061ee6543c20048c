"""A world of processes in simulated time: deterministic, from one seed.

A process is any number of greenlets; they give way only where real code calls AWS or sleeps, and a heap of
events says who goes on next. So a history with its crashes and pauses replays exactly from its seed.
"""

import heapq
import itertools
from collections.abc import Callable, Collection
from concurrent.futures import Future
from datetime import datetime, timedelta
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

from tests.support import NOON


class Crash(BaseException):
    """The process ends here and now; nothing in it may go on, not even its handlers."""


class OneThreadLock:
    """A lock that is never waited for: a thread that holds it while it calls AWS holds up all others.

    noted  whatever waited for one
    """

    def __init__(self, noted: list[str]) -> None:
        self._noted = noted
        self._is_held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._is_held and blocking:
            self._noted.append("a lock is held during a call of AWS, or of an action")
            raise Crash
        was_held, self._is_held = self._is_held, True
        return not was_held

    def release(self) -> None:
        self._is_held = False

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class World:
    """Simulated time, and who goes on when."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = NOON
        self._hub = getcurrent()
        self._order = itertools.count()
        self._events: list[tuple[datetime, int, Callable[[], object]]] = []

    def at(self, moment: datetime, what: Callable[[], object]) -> None:
        heapq.heappush(self._events, (max(moment, self.now), next(self._order), what))

    def after(self, seconds: float, what: Callable[[], object]) -> None:
        self.at(self.now + timedelta(seconds=seconds), what)

    def thread(self, what: Callable[[], None]) -> Callable[[], object]:
        """A thread that does this once it is switched to; at its end it gives way, and to nobody else."""
        return greenlet(what, parent=self._hub).switch

    def park(self) -> None:
        """Give way until someone switches back."""
        self._hub.switch()

    def run_until(self, end: datetime) -> None:
        while self._events and self._events[0][0] <= end:
            self.now, _, what = heapq.heappop(self._events)
            what()
        self.now = end


class Process:
    """A process on some machine: with a clock of its own, and a death that takes all of it along."""

    def __init__(self, world: World, name: str, *, skew: float = 0.0) -> None:
        """`skew`: how many seconds its clock is ahead of the world's."""
        self.world = world
        self.name = name
        self.is_alive = True
        self.has_ended = False  # in order: Lambda has frozen it
        self._skew = timedelta(seconds=skew)
        self._paused_until = world.now
        self._on_death: Callable[[], None] = lambda: None

    def clock(self) -> datetime:
        """The time, as this process believes it to be."""
        return self.world.now + self._skew

    def start(self, main: Callable[[], None], *, on_death: Callable[[], None] = lambda: None) -> None:
        """Run `main` as this process; `on_death` is told once if it ends other than by returning."""
        self._on_death = on_death

        def run() -> None:
            try:
                main()
            except Crash:
                pass
            except Exception:
                self.kill()
                raise

        self.spawn(run)

    def spawn(self, what: Callable[[], None]) -> None:
        self.world.after(0, self.world.thread(what))

    def kill(self) -> None:
        if self.is_alive:
            self.is_alive = False
            self._on_death()

    def crash(self) -> None:
        """Die, from within."""
        self.kill()
        raise Crash

    def pause(self, seconds: float) -> None:
        self._paused_until = self.world.now + timedelta(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        self.world.after(seconds, getcurrent().switch)
        self.world.park()
        self.wake()

    def wake(self) -> None:
        """To be called by every thread that goes on: it does not if the process is dead or stands still."""
        while self.is_alive and self.world.now < self._paused_until:
            self.world.at(self._paused_until, getcurrent().switch)
            self.world.park()
        if not self.is_alive:
            raise Crash


class SimulatedPool:
    """The pool of a simulated worker: threads of its process, in which actions run."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def submit(self, call: Callable[..., None], *arguments: Any) -> Future[None]:
        future: Future[None] = Future()

        def run() -> None:
            try:
                self._process.wake()
                call(*arguments)
            except Crash:
                pass
            except BaseException as error:  # noqa: BLE001 (as a thread pool does)
                future.set_exception(error)
            else:
                future.set_result(None)

        self._process.spawn(run)
        return future

    def wait(self, futures: Collection[Future[None]], patience: timedelta) -> Collection[Future[None]]:
        ended = [future for future in futures if future.done()]
        if ended or patience <= timedelta(0):
            return ended
        waiting = [True]
        me = getcurrent()

        def wake(_: object = None) -> None:
            if waiting.pop() if waiting else False:
                self._process.world.after(0, me.switch)

        for future in futures:
            future.add_done_callback(wake)
        self._process.world.after(patience.total_seconds(), wake)
        self._process.world.park()
        self._process.wake()
        return [future for future in futures if future.done()]

    def close(self) -> None:
        """Nothing to do: what is under way is left to itself."""
