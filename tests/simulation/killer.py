"""A task that kills its process at each attempt, among neighbours that are due at the same time.

The editor and the worker are the real code over the simulated AWS, in which nothing else goes wrong. It
measures how much later the neighbours are done for that.
"""

import random
from collections.abc import Sequence
from datetime import timedelta

from duebell import Editor, Task, Worker
from duebell_shared.settings import Settings

from .aws import Aws
from .processes import backend_of, context_of
from .weather import CALM
from .world import Process, SimulatedPool, World

__all__ = ["Killer"]

#: Seconds until an invocation runs, for how long it may, and after which failed tries Lambda tries again.
_START, _LIMIT, _AGAIN = 0.5, 300.0, (60.0, 120.0)

#: Seconds that a neighbour takes, and after which the killer kills.
_TAKES, _KILLS_AFTER = 2.0, 1.0


class Killer:
    """So many neighbours and a few killers, with the attempts of the latter, all due in five minutes."""

    def __init__(self, seed: int, killers: Sequence[str], *, neighbours: int, attempts: int = 5) -> None:
        """`killers` are the ids of the tasks that kill; those of the neighbours begin with `n`."""
        self.world = World(seed)
        random.seed(seed)  # the jitter of the code under test
        self.aws = Aws(self.world, CALM, self._invoked)
        self.settings = Settings(lanes=4)
        self.due = self.world.now + timedelta(minutes=5)
        self.deaths: list[float] = []
        self.late: dict[str, float] = {}
        self.starts: list[str] = []
        self._killers, self._neighbours, self._attempts = killers, neighbours, attempts

    def run(self) -> "Killer":
        """Play it to the end."""
        process = Process(self.world, "editor")
        process.start(lambda: self._add(process))
        self.world.run_until(self.due + timedelta(hours=2))
        return self

    def problems(self) -> list[str]:
        """The neighbours that are not done, and the tasks that have not ended."""
        undone = [f"n-{n:03}" for n in range(self._neighbours) if f"n-{n:03}" not in self.late]
        return [*undone, *(task.id for task in self.aws.store.tasks.values() if task.queued)]

    def _add(self, process: Process) -> None:
        editor = Editor(backend=backend_of(process, self.aws, self.settings))
        for id in self._killers:
            editor.add("kill", due=self.due, id=id)
        for number in range(self._neighbours):
            editor.add("act", due=self.due, id=f"n-{number:03}")

    def _invoked(self, event: object, request: str) -> None:
        self.world.after(_START, lambda: self._invoke(event, request, 0))

    def _invoke(self, event: object, request: str, tries: int) -> None:
        process = Process(self.world, f"{request}.{tries}")

        def again() -> None:
            self.deaths.append(self._since_due())
            if tries < len(_AGAIN):
                self.world.after(_AGAIN[tries], lambda: self._invoke(event, request, tries + 1))

        process.start(lambda: self._work(process, event, request), on_death=again)

    def _work(self, process: Process, event: object, request: str) -> None:
        context = context_of(process, request, limit=_LIMIT)
        worker = Worker(
            backend=backend_of(process, self.aws, self.settings), pool=lambda _: SimulatedPool(process)
        )

        @worker.action("act")
        def act(_: object, task: Task) -> None:
            self.starts.append(task.id)
            process.sleep(_TAKES)
            self.late[task.id] = self._since_due()

        @worker.action("kill", attempts=self._attempts)
        def kill() -> None:
            process.sleep(_KILLS_AFTER)
            process.crash()

        worker.handler(event, context)

    def _since_due(self) -> float:
        return (self.world.now - self.due).total_seconds()
