"""Histories with long-running processes beside the Lambda: told to end, killed, stopped, and started again.

They claim and run as the Lambda does, for hours, and their clocks differ. In the end some of them are gone
for good: then it is all the Lambda's.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from duebell import AwsError, NotArmed, Task, Worker
from duebell_shared.errors import NotDeployed
from duebell_shared.settings import Settings
from duebell_worker.process import Process as HostedProcess

from .faults import Faults
from .history import History, Over
from .notes import LIMITS, Start
from .world import Process, SimulatedPool

__all__ = ["LongRunning"]

#: An action that never returns and has no time-out has its place, and its lane, as long as the process lives:
#: nobody promises when what is behind it starts.
ACTIONS = tuple(name for name in LIMITS if name != "hangs")

#: How often the processes look, in seconds, and how long they drain.
_LOOKS, _DRAINS = (1.0, 5.0, 20.0), (0.0, 10.0, 120.0)

#: Seconds until a process that ended is started again, by whatever keeps it going.
_AGAIN = (1.0, 60.0)


class LongRunning(History):
    """A history with one process or more.

    drained      how many processes came to their end in order
    worn_out     how many of them because half of their places were lost
    in_processes  how many starts there were in processes, of those in `starts`
    """

    def __init__(
        self,
        seed: int,
        faults: Faults,
        *,
        actions: tuple[str, ...] = ACTIONS,
        settings: Settings | None = None,
        over: Over = Over.TWIN,
        relanes: bool | None = None,
        processes: int | None = None,
        lives: int | None = None,
        look_every: float | None = None,
        start_within: float = 60.0,
        times_out: bool = False,
    ) -> None:
        """`processes` is how many there are, `lives` how often each is started at most.

        Where a process dies after a minute or two, it is started again often.
        """
        super().__init__(
            seed,
            faults,
            actions=actions,
            settings=settings,
            over=over,
            relanes=relanes,
            times_out=times_out,
        )
        self._chance = Random(seed + 5)
        self._number = processes or self._chance.choice([1, 1, 2, 3])
        self._start_within = start_within
        self._lives = lives or self._chance.choice([3, 40] if faults.any else [1, 3])
        self._looks = _LOOKS if look_every is None else (look_every,)
        self.drained = 0
        self.worn_out = 0
        self.in_processes = 0

    def run(self) -> "LongRunning":
        """Play it to the end."""
        for number in range(self._number):
            self.world.after(self._chance.uniform(0, self._start_within), partial(self._host, number, 0))
        super().run()
        return self

    def _host(self, number: int, life: int) -> None:
        process = Process(self.world, f"process-{number}.{life}", skew=self._skew())
        chance = self._chance

        def again() -> None:
            if life + 1 < self._lives:
                self.world.after(chance.uniform(*_AGAIN), partial(self._host, number, life + 1))

        def main() -> None:
            try:
                hosted = self._hosted(process)
                if self.faults.any or self._lives > 1:
                    self.world.after(chance.uniform(1, 4 * 3600), hosted.drain)
                hosted.run()
                self.drained += 1
                self.worn_out += hosted.is_worn_out
                self.last_healed = self.world.now
            except (AwsError, NotArmed, NotDeployed):
                pass
            process.kill()  # with what its threads still do

        process.start(main, on_death=again)
        if self.faults.any:
            self.world.after(chance.uniform(1, 2 * 3600), process.kill)
            if chance.random() < 0.3:
                self.world.after(chance.uniform(1, 1800), lambda: process.pause(chance.uniform(1, 400)))

    def _hosted(self, process: Process) -> HostedProcess:
        worker = Worker(backend=self._backend(process), concurrency=4, pool=lambda _: SimulatedPool(process))
        self._declare(worker, process)
        look_every, drain = self._chance.choice(self._looks), self._chance.choice(_DRAINS)
        return HostedProcess(
            worker, look_every=timedelta(seconds=look_every), drain_for=timedelta(seconds=drain)
        )

    def _action(self, name: str, process: Process) -> Callable[[Any, Task], None]:
        act = super()._action(name, process)
        if not process.name.startswith("process"):
            return act

        def counted(payload: Any, task: Task) -> None:
            self.in_processes += 1
            act(payload, task)

        return counted

    def ran_twice(self) -> list[Start]:
        """The starts of an attempt that another start had before: two had the task at the same time."""
        seen: set[tuple[Any, ...]] = set()
        again = []
        for start in self.starts:
            attempt = (start.id, start.due, start.attempt)
            again += [start] if attempt in seen else []
            seen.add(attempt)
        return again
