"""Histories with follow-ups of tasks, once and recurring: over the wire, with more lanes, with days off."""

from typing import Any

import pytest

from tests.simulation.history import History, Over
from tests.simulation.weather import CALM, ROUGH

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("seeds", "given"),
    [
        (range(30), {"faults": ROUGH}),
        (range(100, 115), {"faults": ROUGH, "relanes": True, "rests": True}),
        (range(150, 165), {"faults": ROUGH, "puts_off": True}),
        (range(200, 203), {"faults": ROUGH, "over": Over.WIRE, "rests": True}),
        (range(15), {"faults": CALM, "rests": True}),
    ],
    ids=["rough", "relaned", "put-off", "wire", "calm"],
)
def test_each_task_that_ends_has_its_follow_up_once(seeds: range, given: dict[str, Any]) -> None:
    broken, owed = {}, 0
    for seed in seeds:
        history = History(seed, **given, follows=True).run()
        if problems := history.problems():
            broken[seed] = problems
        assert history.following
        owed += history.following.owed
    assert not broken
    assert owed > 3 * len(seeds)
