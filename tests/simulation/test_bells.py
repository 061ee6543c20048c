"""Histories with a schedule as the bell, and histories in which a live queue changes its bell."""

import pytest

from duebell_shared.bell.bell import BellKind
from duebell_shared.settings import Settings
from tests.simulation.changed_bell import ChangedBell
from tests.simulation.faults import Faults
from tests.simulation.history import History
from tests.simulation.weather import CALM, ROUGH

pytestmark = pytest.mark.slow


def broken(histories: list[History]) -> dict[int, list[str]]:
    found = {history.seed: history.run().problems() for history in histories}
    return {seed: problems for seed, problems in found.items() if problems}


@pytest.mark.parametrize("faults", [CALM, ROUGH], ids=["calm", "rough"])
def test_with_a_schedule_the_same_is_promised(faults: Faults) -> None:
    settings = [Settings(lanes=lanes, bell=BellKind.SCHEDULE, function="worker") for lanes in (1, 2, 4)]
    histories: list[History] = [History(seed, faults, settings=settings[seed % 3]) for seed in range(15)]
    for history in histories:
        history.aws.bell = BellKind.SCHEDULE
    assert not broken(histories)


@pytest.mark.parametrize("to", list(BellKind))
@pytest.mark.parametrize("faults", [CALM, ROUGH], ids=["calm", "rough"])
def test_no_ring_is_missing_while_the_bell_is_changed(to: BellKind, faults: Faults) -> None:
    assert not broken([ChangedBell(seed, faults, to=to) for seed in range(15)])


def test_a_bell_that_is_removed_without_arming_the_other_loses_rings() -> None:
    assert broken([ChangedBell(seed, CALM, to=BellKind.SCHEDULE, arms=False) for seed in range(60)])
