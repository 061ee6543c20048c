"""A task that kills its process makes its neighbours late by a lease for each death, and by few deaths."""

from itertools import pairwise
from statistics import median

import pytest

from duebell_shared.bell.run_rules import LEASE
from tests.simulation.faults import Faults
from tests.simulation.history import History
from tests.simulation.killer import Killer

pytestmark = pytest.mark.slow

#: Seconds from the due date until the first run, at most: the ring is somewhere in its minute.
RUNG = 62.0

#: Seconds of calls, and in which what has not died is done one by one.
CALLS = 40.0

LEASE_SECONDS = LEASE.total_seconds()

#: Seconds from the end of a lease until the rule rings, at most: its echo is for two minutes after that at
#: the latest, and comes somewhere in its minute.
RUNG_AGAIN = 180.0


def play(*killers: str) -> list[Killer]:
    """Fifteen histories of twelve neighbours of these killers, each done, and each killer failed."""
    histories = [Killer(seed, killers, neighbours=12).run() for seed in range(15)]
    assert not any(history.problems() for history in histories)
    return histories


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
        history = History(seed, Faults(duplicate=1.0), actions=("quick", "slow"), relanes=False).run()
        assert not history.problems()
        # Then no run took a task for one that a dead run left running
        tasks = history.aws.store.tasks.values()
        assert "WorkerDied" not in {one.type for task in tasks for one in task.failures}, f"seed {seed}"
