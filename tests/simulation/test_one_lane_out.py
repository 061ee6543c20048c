"""One lane of eight for which nothing is answered for an hour: the others go on as if nothing were."""

from datetime import timedelta

import msgspec
import pytest

from duebell_shared.bell.expression import LEAD
from duebell_shared.queue.places import lane_of
from duebell_shared.settings import Settings
from tests.simulation.history import History
from tests.simulation.lateness import lateness
from tests.simulation.weather import CALM, ONE_LANE_OUT

pytestmark = pytest.mark.slow

LANES = 8

#: The longest that a ring takes to the Lambda, calls that come to nothing before a run goes on, and slack.
DELIVERY = timedelta(seconds=25)
UNANSWERED = timedelta(seconds=20)


def test_the_promises_hold_for_all_other_lanes_meanwhile_and_for_this_one_afterwards() -> None:
    # Given everything that goes wrong in the other simulated histories, and one lane that is out for an hour
    for seed in range(40):
        assert not History(seed, ONE_LANE_OUT).run().problems(), f"seed {seed}"


def test_tasks_of_all_other_lanes_are_on_time_while_one_is_out() -> None:
    # Given nothing else that goes wrong, and actions that take no time
    weather = msgspec.structs.replace(CALM, lane_outage=1.0)
    bound = (LEAD + timedelta(minutes=2) + DELIVERY + UNANSWERED).total_seconds()
    late, started = [], 0
    for seed in range(20):
        history = History(seed, weather, actions=("quick",), settings=Settings(lanes=LANES)).run()
        assert not history.problems(), f"seed {seed}"
        late += lateness(history)
        started += sum(lane_of(start.id, LANES) == history.aws.lane_outage.lane for start in history.starts)
    # Then they start within the documented bound, and those of the lane that was out have started after all
    assert max(late) <= bound
    assert started > 0


def test_a_lane_that_is_out_costs_few_runs() -> None:
    # Given a task in it, and nobody who adds another one
    class OneTask(History):
        def _step(self, editor: object, process: object, id: str) -> None:
            """Nobody calls any more."""

    runs = []
    for seed in range(8):
        history = OneTask(
            seed, msgspec.structs.replace(CALM, lane_outage=1.0), settings=Settings(lanes=LANES)
        )
        history.run()
        runs.append(history.invocations)
    assert max(runs) <= 12
