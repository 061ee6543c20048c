"""Long-running processes beside the Lambda: told to end, killed, stopped, and started again.

They claim and run as the Lambda does, for hours, and their clocks differ. In the end some of them are gone
for good: then it is all the Lambda's.
"""

from datetime import timedelta
from functools import partial
from typing import Any

from duebell import AwsError, NotArmed, Task, Worker
from duebell_shared.errors import NotDeployed
from duebell_worker.process import Process as HostedProcess
from tests.simulation.world import Process, SimulatedPool

from .part import LIMITS, Act, Part

#: An action that never returns and has no time-out has its place, and its lane, as long as the process lives:
#: nobody promises when what is behind it starts.
ACTIONS = tuple(name for name in LIMITS if name != "hangs")

#: Seconds for which a process drains.
_DRAINS = (0.0, 10.0, 120.0)

#: Seconds until a process that ended is started again, by whatever keeps it going.
_AGAIN = (1.0, 60.0)


class Hosting(Part):
    """One process or more.

    number        how many there are
    lives         how often each is started at most: where a process dies after a minute or two, often
    start_within  seconds
    """

    salt = 5
    number: int | None = None
    lives: int | None = None
    start_within = 60.0

    def start(self) -> None:
        self._number = self.number or self._random.choice([1, 1, 2, 3])
        self._lives = self.lives or self._random.choice([3, 40] if self._played.faults.any else [1, 3])
        for number in range(self._number):
            live = partial(self._live, f"process-{number}", self._host, rest=_AGAIN, lives=self._lives)
            self._world.after(self._random.uniform(0, self.start_within), partial(live, skewed=True))

    def _host(self, process: Process) -> None:
        chance, played = self._random, self._played
        if played.faults.any:
            self._world.after(chance.uniform(1, 2 * 3600), process.kill)
            if chance.random() < 0.3:
                self._world.after(chance.uniform(1, 1800), lambda: process.pause(chance.uniform(1, 400)))
        try:
            hosted = self._hosted(process)
            if played.faults.any or self._lives > 1:
                self._world.after(chance.uniform(1, 4 * 3600), hosted.drain)
            hosted.run()
            self._count["drained"] += 1
            self._count["worn out"] += hosted.is_worn_out
            played.last_healed = self._world.now
        except (AwsError, NotArmed, NotDeployed):
            pass
        process.kill()  # with what its threads still do

    def _hosted(self, process: Process) -> HostedProcess:
        worker = Worker(
            backend=self._played.backend(process), concurrency=4, pool=lambda _: SimulatedPool(process)
        )
        self._played.declare(worker, process)
        return HostedProcess(worker, drain_for=timedelta(seconds=self._random.choice(_DRAINS)))

    def around(self, name: str, process: Process, act: Act) -> Act:
        is_hosted = process.name.startswith("process")

        def counted(payload: Any, task: Task) -> None:
            self._count["started in processes"] += is_hosted
            act(payload, task)

        return counted
