"""What docs/scale.md says of lanes, where each takes a thousand write units a second."""

import pytest

from .crowd import Crowd

pytestmark = pytest.mark.slow

#: Write units of a lane in a second, and of a task that is claimed and done: 1 and 2.
UNITS, TASK = 1_000, 3


@pytest.mark.parametrize(("lanes", "tasks"), [(1, 1_500), (2, 3_000)])
def test_a_run_drains_lanes_as_fast_as_they_take_writes(lanes: int, tasks: int) -> None:
    crowd = Crowd(tasks, lanes=lanes, runs=1)
    crowd.run()
    assert len({id for _, id in crowd.starts}) == tasks
    took = (crowd.starts[-1][0] - crowd.starts[0][0]).total_seconds()
    assert tasks / took == pytest.approx(lanes * UNITS / TASK, rel=0.15)


def test_beyond_some_lanes_it_is_the_run_that_limits() -> None:
    speeds = []
    for lanes in (4, 16):
        crowd = Crowd(4_000, lanes=lanes, runs=1)
        crowd.run()
        speeds.append(4_000 / (crowd.starts[-1][0] - crowd.starts[0][0]).total_seconds())
    assert speeds[0] > 2.5 * UNITS / TASK
    assert speeds[1] < 1.5 * speeds[0]
