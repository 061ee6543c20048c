"""Histories with batches: what comes after one comes once, after all of its tasks, whatever dies."""

from typing import Any

import pytest

from tests.simulation.history import History, Over
from tests.simulation.weather import CALM, ROUGH

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("seeds", "given"),
    [
        (range(20), {"faults": ROUGH}),
        (range(60, 70), {"faults": ROUGH, "relanes": True}),
        (range(90, 92), {"faults": ROUGH, "over": Over.WIRE}),
        (range(8), {"faults": CALM}),
    ],
    ids=["rough", "relaned", "wire", "calm"],
)
def test_each_batch_goes_on_once_after_all_of_its_tasks(seeds: range, given: dict[str, Any]) -> None:
    broken, closed = {}, 0
    for seed in seeds:
        history = History(seed, **given, batches=True).run()
        if problems := history.problems():
            broken[seed] = problems
        assert history.batching
        closed += len(history.batching.closed)
    assert not broken
    assert closed > len(seeds)
