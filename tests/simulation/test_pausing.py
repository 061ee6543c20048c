"""Nothing is lost, early, late for hours or started in closed hours, whatever else goes wrong."""

import pytest

from tests.simulation.faults import Faults
from tests.simulation.history import Over
from tests.simulation.pausing import everything
from tests.simulation.weather import CALM, ROUGH

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("seeds", "faults", "over"),
    [
        (range(8), CALM, Over.TWIN),
        (range(1_000, 1_012), ROUGH, Over.TWIN),
        (range(2_000, 2_003), ROUGH, Over.WIRE),
    ],
    ids=["calm", "rough", "rough-wire"],
)
def test_what_is_parked_is_neither_lost_nor_early_nor_late(seeds: range, faults: Faults, over: Over) -> None:
    broken, parked, reopened = {}, 0, 0
    for seed in seeds:
        history = everything(seed, faults, over=over).run()
        if problems := history.problems():
            broken[seed] = problems
        parked += history.parked
        reopened += history.reopened
    assert not broken
    assert parked
    assert reopened
