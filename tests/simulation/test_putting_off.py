"""Histories in which actions snooze and users push tasks, in part over the wire."""

import pytest

from tests.simulation.faults import Faults
from tests.simulation.history import History, Over
from tests.simulation.weather import CALM, ROUGH

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("seeds", "faults", "over"),
    [
        (range(40), ROUGH, Over.TWIN),
        (range(200, 203), ROUGH, Over.WIRE),
        (range(15), CALM, Over.TWIN),
    ],
)
def test_what_duebell_promises_holds_of_tasks_that_are_put_off(
    seeds: range, faults: Faults, over: Over
) -> None:
    broken, snoozed, pushed, again = {}, 0, 0, 0
    for seed in seeds:
        history = History(seed, faults, over=over, puts_off=True).run()
        assert history.putting_off
        snoozed += history.putting_off.snoozed
        pushed += history.putting_off.pushed
        again += history.putting_off.pushed_again
        if problems := history.problems():
            broken[seed] = problems
    assert not broken
    assert snoozed > 2 * len(seeds)
    assert pushed > len(seeds)
    assert again > len(seeds) / 4


def test_when_nothing_goes_wrong_a_snooze_uses_no_attempt_up() -> None:
    # Given tasks that come back, however they come back
    snoozed = 0
    for seed in range(30):
        history = History(seed, CALM, actions=("quick", "flaky", "asks"), puts_off=True).run()
        assert history.putting_off
        assert not history.problems()
        # Then those that never fail had one attempt, however often they were snoozed
        sure = {id for id, known in history.known.items() if known.action == "quick"}
        attempts = [start.attempt for start in history.starts if start.id in sure]
        assert set(attempts) <= {1}, f"seed {seed}"
        snoozed += len(attempts) - len(sure)
    assert snoozed > 60
