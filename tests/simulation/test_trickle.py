"""After a burst that several runs shared one run waits, and each task starts to the second."""

from datetime import timedelta

import pytest

from tests.simulation.test_simulation import PROMPT
from tests.simulation.trickle import Trickle

pytestmark = pytest.mark.slow

HOUR = timedelta(hours=1)

#: By then the burst is done.
DONE = timedelta(minutes=15)


@pytest.mark.parametrize(
    ("seed", "every"),
    [
        pytest.param(1, 2.0, id="two-seconds"),
        pytest.param(3, 10.0, id="ten-seconds"),
    ],
)
def test_for_hours_after_a_burst_one_run_waits_and_tasks_start_to_the_second(seed: int, every: float) -> None:
    # Given a burst that several runs share, and tasks that come due one by one, for three hours
    trickle = Trickle(seed, burst=1000, every=every, hours=3).run()
    assert trickle.most_at_once >= 3
    # Then each task was started once
    assert len(trickle.starts) == len(set(trickle.starts)) == 1000 + len(trickle.added)
    # And once the burst was done there was one run at a time
    assert 0.95 < trickle.runs_at_a_time(DONE, HOUR) < 1.05
    assert 0.95 < trickle.runs_at_a_time(HOUR, 3 * HOUR) < 1.02
    # Which started each task within the second, but for a few while a successor took over
    late = [seconds for due, seconds in trickle.late if due > trickle.began + DONE]
    assert max(late) <= PROMPT
    assert sum(seconds > 1 for seconds in late) <= len(late) / 200


def test_runs_that_always_have_something_under_way_become_one_too() -> None:
    # Given actions that take so long that no run ever has nothing to do but wait
    trickle = Trickle(1, burst=1000, every=2, takes=10, hours=2).run()
    assert trickle.most_at_once >= 3
    # Then the runs become one as their times end
    assert trickle.runs_at_a_time(DONE, 2 * HOUR) < 1.1


def test_a_second_burst_is_shared_again() -> None:
    first = Trickle(1, burst=1000, every=5, hours=1)
    first.burst_again_after(HOUR / 2)
    first.run()
    assert len(first.starts) == len(set(first.starts)) == 2000 + len(first.added)
    assert first.runs_at_a_time(HOUR / 2, HOUR / 2 + timedelta(minutes=1)) > 1.5
    assert first.runs_at_a_time(HOUR / 2 + DONE, HOUR) < 1.02
