"""Far more is due at once than one run can do in time."""

from datetime import timedelta

import pytest

from tests.simulation.crowd import Crowd

pytestmark = pytest.mark.slow

#: What Lambda allows a run by default, in seconds.
TIME_OUT = 300

#: Three write units a task, and a thousand a second in each of eight lanes: it cannot be done faster.
BOUND_BY_DYNAMODB = 100_000 * 3 / 8_000


def test_a_hundred_thousand_tasks_of_one_minute_are_done_within_one_time_out() -> None:
    crowd = Crowd(100_000, lanes=8, runs=8)
    began = crowd.world.now

    crowd.run()

    # Each is done, once
    assert len(crowd.starts) == len({id for _, id in crowd.starts}) == 100_000
    # In time, and not much later than DynamoDB lets it be
    taken = max(at for at, _ in crowd.starts) - began
    assert taken < timedelta(seconds=TIME_OUT)
    assert taken < timedelta(seconds=2 * BOUND_BY_DYNAMODB)
    # By several runs, and by no more than there may be
    assert 1 < crowd.most_at_once <= 8
    assert sum(report["done"] for report in crowd.reports) == 100_000


@pytest.mark.parametrize("runs", [1, 3])
def test_fewer_runs_do_it_too_as_far_as_they_get(runs: int) -> None:
    crowd = Crowd(6_000, lanes=8, runs=runs)
    crowd.run()
    assert len(crowd.starts) == len({id for _, id in crowd.starts}) == 6_000
    assert crowd.most_at_once <= runs
