"""Far more is due at once than one run can do in time, and hours after it; see docs/scale.md."""

from datetime import timedelta

import pytest

from .crowd import LIMIT, Crowd, Trickle

pytestmark = pytest.mark.slow

HOUR = timedelta(hours=1)

#: Write units of a lane in a second, and of a task that is claimed and done: 1 and 2.
UNITS, TASK = 1_000, 3

#: By then a burst is done; and seconds until the last of sixteen tasks of one moment is started.
DONE, PROMPT = timedelta(minutes=15), 2.5


def seconds_of(crowd: Crowd) -> float:
    return (crowd.starts[-1][0] - crowd.starts[0][0]).total_seconds()


def test_a_hundred_thousand_tasks_of_one_minute_are_done_within_one_time_out() -> None:
    crowd = Crowd(100_000, lanes=8, runs=8).run()
    # Each is done, once
    assert len(crowd.starts) == len({id for _, id in crowd.starts}) == 100_000
    # In time, and not much later than DynamoDB lets it be
    assert (max(crowd.starts)[0] - crowd.began).total_seconds() < min(LIMIT, 2 * 100_000 * TASK / (8 * UNITS))
    # By several runs, and by no more than there may be
    assert 1 < crowd.most_at_once <= 8


@pytest.mark.parametrize(("lanes", "tasks"), [(1, 1_500), (2, 3_000)])
def test_a_run_drains_lanes_as_fast_as_they_take_writes(lanes: int, tasks: int) -> None:
    crowd = Crowd(tasks, lanes=lanes, runs=1).run()
    assert len(crowd.starts) == len({id for _, id in crowd.starts}) == tasks
    assert crowd.most_at_once == 1
    assert tasks / seconds_of(crowd) == pytest.approx(lanes * UNITS / TASK, rel=0.15)


def test_beyond_some_lanes_it_is_the_run_that_limits() -> None:
    speeds = [4_000 / seconds_of(Crowd(4_000, lanes=lanes, runs=1).run()) for lanes in (4, 16)]
    assert speeds[0] > 2.5 * UNITS / TASK
    assert speeds[1] < 1.5 * speeds[0]


@pytest.mark.parametrize(("seed", "every"), [(1, 2.0), (3, 10.0)])
def test_for_hours_after_a_burst_one_run_waits_and_tasks_start_to_the_second(seed: int, every: float) -> None:
    # Given a burst that several runs share, and tasks that come due one by one, for three hours
    trickle = Trickle(seed, burst=1000, every=every, hours=3).run()
    assert trickle.most_at_once >= 3
    # Then each task was started once
    ids = [id for _, id in trickle.starts]
    assert len(ids) == len(set(ids)) == 1000 + len(trickle.added)
    # And once the burst was done there was one run at a time
    assert 0.95 < trickle.runs_at_a_time(DONE, HOUR) < 1.05
    assert 0.95 < trickle.runs_at_a_time(HOUR, 3 * HOUR) < 1.02
    # They started each task within the second, but for a few while a successor took over
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
    trickle = Trickle(1, burst=1000, every=5, hours=1)
    trickle.burst_again_after(HOUR / 2)
    trickle.run()
    assert len(trickle.starts) == len(set(trickle.starts)) == 2000 + len(trickle.added)
    assert trickle.runs_at_a_time(HOUR / 2, HOUR / 2 + timedelta(minutes=1)) > 1.5
    assert trickle.runs_at_a_time(HOUR / 2 + DONE, HOUR) < 1.02
