"""Hundreds of histories of the real code in a simulated AWS. `make soak` plays some that nobody has seen."""

from datetime import timedelta

import pytest

from duebell_shared.bell.expression import LEAD
from duebell_shared.settings import Precision, Settings
from tests.simulation.faults import Faults
from tests.simulation.history import History
from tests.simulation.lateness import lateness
from tests.simulation.weather import CALM, ROUGH

pytestmark = pytest.mark.slow

#: What the simulation adds to the bound: the longest that a ring takes to the Lambda, and slack for calls.
DELIVERY = timedelta(seconds=25)

#: Seconds: a quick delivery; a run's claim and its watchdog; and until the last of sixteen tasks of one
#: moment is started, of up to half a second each on four places.
DELIVERED, ARMED, PROMPT = 5.0, 2.0, 2.5


def play(seeds: range, faults: Faults) -> None:
    broken = {}
    for seed in seeds:
        if problems := History(seed, faults).run().problems():
            broken[seed] = problems
    assert not broken, f"replay with: python -m tests.simulation.play --trace --seed {min(broken)}"


@pytest.mark.parametrize("part", range(2))
def test_what_duebell_promises_holds_whatever_goes_wrong(part: int) -> None:
    play(range(part * 100, part * 100 + 100), ROUGH)


def test_when_nothing_goes_wrong_tasks_are_late_by_the_documented_bound_at_most() -> None:
    # Given tasks that come back, however they come back, and none that kills or hangs its process
    harmless = ("quick", "flaky", "bad", "asks", "chains", "slow")
    # A task due at once waits for the lead, then for the next whole minute, and for the ring within it.
    bound = (LEAD + timedelta(minutes=2) + DELIVERY).total_seconds()
    for seed in range(30):
        history = History(seed, CALM, actions=harmless).run()
        assert not history.problems()
        assert max(lateness(history), default=0) <= bound, f"seed {seed}"


def test_to_the_second_means_that_when_nothing_goes_wrong() -> None:
    # Given calls and rings that take a few seconds until the worker runs, and actions that take none
    settings = Settings(precision=Precision.SECOND, function="worker")
    known_first = 0
    for seed in range(30):
        history = History(seed, CALM, actions=("quick",), settings=settings, delivery=DELIVERED)
        problems = history.run().problems()
        assert not problems
        # What was known before starts as soon as the run has looked into each lane and claimed it, unless the
        # run's time was over, and its successor was on its way.
        known = lateness(history, known_for=DELIVERED + ARMED, succession=DELIVERED + ARMED)
        known_first += len(known)
        assert max(known, default=0) <= PROMPT, f"seed {seed}"
        # What is due at once waits for the call to reach the worker.
        assert max(lateness(history), default=0) <= DELIVERED + ARMED + PROMPT, f"seed {seed}"
    assert known_first > 30


def test_a_seed_replays_to_the_last_call() -> None:
    first, second = (History(4711, ROUGH).run() for _ in range(2))
    assert first.aws.trace == second.aws.trace
    assert first.starts == second.starts
