"""Limits hold whatever dies, and nothing that waits for them is lost."""

from datetime import timedelta

import pytest

from tests.simulation.faults import Faults
from tests.simulation.limited import ACTIONS, AT_MOST, Changed, Limited, LimitedProcesses
from tests.simulation.weather import CALM, ROUGH

pytestmark = pytest.mark.slow

#: Processes die at any call, and calls fail; but clocks agree, and no process stands still past its lease.
CRASHES = Faults(crash=0.02, refuse=0.02, fail=0.01, duplicate=0.1, drop=0.1)

#: The time from the start that the semaphore counts to that of the action: a last attempt is
#: recorded between.
SLACK = timedelta(seconds=5)


def play(seed: int, faults: Faults, kind: type[Limited] = Limited, **options: int) -> Limited:
    history = kind(seed, faults, actions=ACTIONS, relanes=False, **options)
    history.run()
    assert history.problems() == []
    return history


@pytest.mark.parametrize("faults", [CALM, CRASHES], ids=["calm", "crashes"])
@pytest.mark.parametrize("batch", range(2))
def test_limits_hold_and_nothing_is_lost(batch: int, faults: Faults) -> None:
    waited = 0
    for seed in range(1_000 * batch, 1_000 * batch + 10):
        history = play(seed, faults)
        waited += history.waited
        assert history.beyond_rate(slack=SLACK) == []
        for action, most in AT_MOST.items():
            assert history.most.get(action, 0) <= most
    assert waited


def test_nothing_is_lost_when_everything_goes_wrong() -> None:
    for seed in range(8):
        play(seed, ROUGH)


def test_processes_and_the_lambda_share_one_limit() -> None:
    waited = both = 0
    for seed in range(10):
        # Processes that drain in time, and come back; the Lambda runs what they leave
        history = play(seed, CALM, LimitedProcesses, processes=2, lives=3)
        assert isinstance(history, LimitedProcesses)
        waited += history.waited
        both += 0 < history.in_processes < len(history.starts)
        assert history.beyond_rate(slack=SLACK) == []
        for action, most in AT_MOST.items():
            assert history.most.get(action, 0) <= most
    assert waited
    assert both


def test_nothing_is_lost_with_limits_where_processes_die() -> None:
    for seed in range(8):
        play(seed, ROUGH, LimitedProcesses)


@pytest.mark.parametrize("faults", [CALM, ROUGH], ids=["calm", "rough"])
def test_nothing_is_lost_while_limits_are_changed(faults: Faults) -> None:
    waited = 0
    for seed in range(10):
        history = play(seed, faults, Changed)
        assert isinstance(history, Changed)
        waited += history.waited
        assert faults.any or history.while_paused == []
    assert waited
