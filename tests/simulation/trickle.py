"""Hours after a burst that several runs shared: one task after the other comes due, to the second.

The editor and the worker are the real code over the simulated AWS, in which nothing goes wrong. It measures
how many runs there are at a time, since each of them is paid for, and how late tasks start.
"""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from duebell import Editor, Task, Worker
from duebell_shared.settings import Precision, Settings

from .aws import Aws
from .processes import backend_of, context_of
from .weather import CALM
from .world import Process, SimulatedPool, World

__all__ = ["Trickle"]

#: Seconds until an invocation runs, and for how long it may.
_START, _LIMIT = 0.5, 300.0

#: How long before a burst is due it is added, and how many seconds each of its tasks takes.
_ADDED, _BURST_TASK = timedelta(minutes=5), 2.0

#: How long before it is due a task of the trickle is added.
_AHEAD = (0.0, 30.0, 100.0, 400.0)


class Trickle:
    """So many tasks due at once, then one every so many seconds on average, for so long."""

    def __init__(
        self, seed: int, *, burst: int, every: float, hours: float, takes: float = 0.1, runs: int = 4
    ) -> None:
        """`takes` is how many seconds a task of the trickle takes, `runs` how many may share the burst."""
        self.world = World(seed)
        random.seed(seed)  # the jitter of the code under test
        self.aws = Aws(self.world, CALM, self._invoke)
        self.settings = Settings(precision=Precision.SECOND, lanes=4, parallel_runs=runs, function="worker")
        self.began = self.world.now
        self.late: list[tuple[datetime, float]] = []
        self.starts: list[str] = []
        self.added: dict[str, datetime] = {}
        self.alive: list[tuple[datetime, datetime]] = []
        self.most_at_once = self._at_once = 0
        self._bursts = [self.began + _ADDED]
        self._burst, self._every, self._takes = burst, every, takes
        self._end = self.began + timedelta(hours=hours)

    def burst_again_after(self, moment: timedelta) -> None:
        """As many tasks again due at once, so long after the beginning."""
        self._bursts.append(self.began + moment)

    def run(self) -> "Trickle":
        """Play it to the end."""
        for due in self._bursts:
            self.world.at(due - _ADDED, partial(self._process, "burst", partial(self._add_burst, due)))
        self._process("trickle", self._add_trickle)
        self.world.run_until(self._end + timedelta(minutes=20))
        return self

    def runs_at_a_time(self, begin: timedelta, end: timedelta) -> float:
        """How many runs there were on average between these moments after the beginning."""
        first, last = self.began + begin, self.began + end
        spans = (min(ended, last) - max(started, first) for started, ended in self.alive)
        return sum((max(span, timedelta(0)) for span in spans), timedelta(0)) / (last - first)

    def _add_burst(self, due: datetime, process: Process) -> None:
        editor = Editor(backend=backend_of(process, self.aws, self.settings))
        for number in range(self._burst):
            editor.add("burst", due=due, id=f"burst-{due:%H-%M}-{number}")

    def _add_trickle(self, process: Process) -> None:
        editor = Editor(backend=backend_of(process, self.aws, self.settings))
        number = 0
        while self.world.now < self._end:
            process.sleep(self.world.random.expovariate(1 / self._every))
            due = self.world.now + timedelta(seconds=self.world.random.choice(_AHEAD))
            id = f"trickle-{number}"
            editor.add("trickle", due=due, id=id)
            self.added[id] = self.world.now
            number += 1

    def _process(self, name: str, main: Callable[[Process], None]) -> None:
        process = Process(self.world, name)
        process.start(lambda: main(process))

    def _invoke(self, event: object, request: str) -> None:
        work = partial(self._work, event=event, request=request)
        self.world.after(_START, lambda: self._process("run", work))

    def _work(self, process: Process, event: object, request: str) -> None:
        began = self.world.now
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        context = context_of(process, request, limit=_LIMIT)
        worker = Worker(
            backend=backend_of(process, self.aws, self.settings), pool=lambda _: SimulatedPool(process)
        )
        worker.action("burst")(lambda _, task: self._act(process, task, _BURST_TASK))
        worker.action("trickle")(lambda _, task: self._act(process, task, self._takes))
        worker.handler(event, context)
        self._at_once -= 1
        self.alive.append((began, self.world.now))

    def _act(self, process: Process, task: Task, seconds: float) -> None:
        self.starts.append(task.id)
        if task.id in self.added:
            known_at = max(task.due, self.added[task.id])
            self.late.append((task.due, (self.world.now - known_at).total_seconds()))
        process.sleep(seconds)
