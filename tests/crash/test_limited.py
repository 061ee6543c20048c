"""A run of a limited action dies at its n-th AWS call: no task is lost, and the limit holds."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import pairwise

import pytest

from duebell import Status, Worker
from tests.crash.dying import Moment, Processes, new_worlds
from tests.crash.test_every_call import SOON, World, die_running, ring_in

pytestmark = pytest.mark.slow

IDS = ("a", "b")

#: The run makes fewer calls than this; the test sees to it.
MOST_CALLS = 70


class Limited(World):
    """A world whose action is started once in two seconds; `starts` has when."""

    def __init__(self, processes: Processes) -> None:
        self.starts: list[datetime] = []
        super().__init__(processes)

    def _actions(self, worker: Worker) -> None:
        @worker.action("note", attempts=2, at_most=1, per_second=0.5)
        def note(payload: object, task: object) -> None:
            self.starts.append(self.clock.now)
            self.ran.append(task.id)  # type: ignore[attr-defined]


@pytest.fixture
def world() -> Iterator[Callable[[], Limited]]:
    with new_worlds(Limited) as renew:
        yield renew


def test_a_run_that_dies_at_any_call_loses_starts_and_no_task(world: Callable[[], Limited]) -> None:
    for number in range(1, MOST_CALLS):
        for moment in Moment:
            scene = world()
            scene.add(*IDS)
            ring_in(scene, SOON)
            ended_well = die_running(scene, number, moment)
            scene.lambda_.let_it_ring()
            assert {scene.status(id) for id in IDS} == {Status.DONE}, (number, moment)
            assert set(scene.ran) == set(IDS)
            in_order = sorted(scene.starts)
            for first, second in pairwise(in_order):
                assert (second - first).total_seconds() >= 2
        if ended_well:
            return
    raise AssertionError("the run makes more calls")
