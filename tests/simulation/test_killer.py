"""A task that kills its process makes its neighbours late by a lease for each death, and by few deaths."""

from datetime import timedelta
from itertools import pairwise
from statistics import median

import pytest

from duebell import Editor, Task
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.settings import Settings
from tests.simulation.crowd import CalmQueue
from tests.simulation.history import History
from tests.simulation.parts.relaning import Relaning
from tests.simulation.weather import Faults
from tests.simulation.world import Process

pytestmark = pytest.mark.slow

#: Seconds from the due date until the first run, at most: the ring is somewhere in its minute.
RUNG = 62.0

#: Seconds of calls, and in which what has not died is done one by one.
CALLS = 40.0

LEASE_SECONDS = LEASE.total_seconds()

#: Seconds from the end of a lease until the rule rings, at most: its echo is for two minutes after that at
#: the latest, and comes somewhere in its minute.
RUNG_AGAIN = 180.0


class Killer(CalmQueue):
    """Twelve neighbours, which take two seconds, and a few killers after one, all due in five minutes."""

    again = (60.0, 120.0)

    def __init__(self, seed: int, killers: tuple[str, ...]) -> None:
        super().__init__(seed, Settings(lanes=4))
        self._killers = killers
        self.due = self.began + timedelta(minutes=5)
        self.deaths: list[float] = []
        self.late: dict[str, float] = {}

    def run(self) -> "Killer":
        self.does("editor", self._add)
        self.world.run_until(self.due + timedelta(hours=2))
        assert len(self.late) == 12
        assert not any(task.queued for task in self.aws.store.tasks.values())
        return self

    def _add(self, editor: Editor, _: Process) -> None:
        for id in (*self._killers, *(f"n-{number:03}" for number in range(12))):
            editor.add("kill" if id in self._killers else "act", due=self.due, id=id)

    def act(self, process: Process, task: Task) -> None:
        if task.action == "kill":
            process.sleep(1.0)
            process.crash()
        process.sleep(2.0)
        self.late[task.id] = self._since_due()

    def died(self) -> None:
        self.deaths.append(self._since_due())

    def _since_due(self) -> float:
        return (self.world.now - self.due).total_seconds()


def play(*killers: str) -> list[Killer]:
    return [Killer(seed, killers).run() for seed in range(15)]


@pytest.mark.parametrize("killer", ["a-first", "n-006-among-them", "z-last"])
def test_neighbours_wait_for_two_deaths_at_most_wherever_the_killer_sorts(killer: str) -> None:
    for history in play(killer):
        assert len(history.deaths) == 5
        assert max(history.late.values()) <= RUNG + 2 * LEASE_SECONDS + CALLS


def test_neighbours_wait_for_a_death_of_each_killer_and_one_more() -> None:
    for history in play("a-1", "a-2", "a-3"):
        assert max(history.late.values()) <= RUNG + 4 * LEASE_SECONDS + RUNG_AGAIN + CALLS


def test_half_of_the_deaths_are_followed_by_a_run_within_a_lease() -> None:
    # Given that Lambda tries again twice, and that the rule rings for the end of every third run's lease
    gaps = [later - sooner for history in play("a-first") for sooner, later in pairwise(history.deaths)]
    assert median(gaps) <= LEASE_SECONDS + 2
    assert max(gaps) <= LEASE_SECONDS + RUNG_AGAIN + 2


def test_an_invocation_that_is_delivered_twice_runs_each_task_once() -> None:
    # Given that every invocation comes twice, half of them with one request id, and tasks that take minutes
    for seed in range(25):
        faults, actions = Faults(duplicate=1.0), ("quick", "slow")
        history = History(seed, faults, actions=actions, parts={Relaning: False}).run()
        assert not history.problems()
        # Then no run took a task for one that a dead run left running
        tasks = history.aws.store.tasks.values()
        assert not any("WorkerDied" in str(one.error) for task in tasks for one in task.failures), (
            f"seed {seed}"
        )
