"""Which lanes a run leaves alone, and for how long."""

from datetime import timedelta

import pytest

from duebell_shared.bell.arming import LastRun, RestingLane
from duebell_shared.errors import AwsRefused, AwsUnavailable, UnreadableTask
from duebell_shared.tasks.task import QueueKey
from duebell_worker.run.lanes import Call, Trouble
from tests.support import NOON, Clock

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
ERROR = AwsUnavailable("throttled")


@pytest.fixture
def trouble(clock: Clock) -> Trouble:
    return Trouble("run", clock)


def fail(trouble: Trouble, clock: Clock, *calls: Call, lane: int = 0) -> None:
    """Have these calls fail, each as soon as the lane is looked at again."""
    for call in calls:
        clock.now = trouble.again_at(lane) or clock.now
        trouble.failed(lane, call, ERROR)


def test_a_lane_pauses_and_then_rests_for_a_minute(trouble: Trouble, clock: Clock) -> None:
    assert trouble.again_at(0) is None
    fail(trouble, clock, Call.READ)
    assert trouble.again_at(0) == NOON + 2 * SECOND
    fail(trouble, clock, Call.READ)
    assert (trouble.again_at(0), trouble.resting([0])) == (NOON + 4 * SECOND, ())
    fail(trouble, clock, Call.READ)
    assert trouble.again_at(0) == NOON + 4 * SECOND + MINUTE
    assert trouble.resting([0, 1]) == (RestingLane(lane=0, since=NOON),)
    assert trouble.again_at(1) is None


def test_kinds_of_calls_count_each_for_itself(trouble: Trouble, clock: Clock) -> None:
    fail(trouble, clock, Call.OUTCOME, Call.CLAIM, Call.OUTCOME, Call.CLAIM)
    assert trouble.resting([0]) == ()
    trouble.note(Call.READ, [(0, None)])
    trouble.note(Call.CLAIM, [(0, None)])
    fail(trouble, clock, Call.OUTCOME)
    assert trouble.resting([0]) == (RestingLane(lane=0, since=NOON),)


def test_a_lane_of_which_a_batch_wrote_something_is_not_in_trouble(trouble: Trouble) -> None:
    # Given a batch of which some writes were throttled, one was refused for itself and one item was odd
    results = [(0, ERROR), (0, None), (1, ERROR), (1, ERROR), (2, UnreadableTask("a", "odd")), (3, True)]
    trouble.note(Call.CLAIM, results)
    assert [trouble.again_at(lane) for lane in range(4)] == [None, NOON + 2 * SECOND, None, None]


def ended(*resting: RestingLane) -> LastRun:
    return LastRun(run="last", finished_at=NOON, resting=resting)


def test_a_lane_is_read_at_once_when_its_rest_is_over_although_no_run_has_ended_since(clock: Clock) -> None:
    last = ended(RestingLane(lane=0, since=NOON - 10 * MINUTE), RestingLane(lane=7, since=NOON))
    clock.now = NOON + 10 * MINUTE - SECOND
    assert Trouble("run", clock, last=last, lanes=[0]).again_at(0) == clock.now + 2 * SECOND
    clock.now = NOON + 10 * MINUTE
    trouble = Trouble("run", clock, last=last, lanes=[0])
    assert trouble.again_at(0) is None
    assert [one.lane for one in trouble.resting([0, 7])] == [0]


def test_a_lane_that_rested_before_rests_again_at_once_and_for_longer(clock: Clock) -> None:
    rested = RestingLane(lane=0, since=NOON - 10 * MINUTE)
    trouble = Trouble("run", clock, last=ended(rested), lanes=[0])
    assert trouble.again_at(0) == NOON + 2 * SECOND
    assert trouble.resting([0]) == (rested,)
    fail(trouble, clock, Call.READ)
    assert trouble.again_at(0) == NOON + 4 * SECOND + 10 * MINUTE
    clock.now = NOON + 90 * MINUTE
    fail(trouble, clock, Call.READ)
    assert trouble.again_at(0) == clock.now + 30 * MINUTE


def test_trouble_is_everyones_when_no_call_of_a_kind_is_answered(trouble: Trouble) -> None:
    refused = AwsRefused("no")
    trouble.failed(0, Call.CLAIM, refused)
    trouble.note(Call.READ, [(1, None)])
    assert trouble.error_of_all(1) is refused
    assert trouble.error_of_all(8) is None  # it may be that lane's alone
    trouble.failed(2, Call.CLAIM, refused)
    assert trouble.error_of_all(8) is refused
    trouble.note(Call.CLAIM, [(1, None)])
    assert trouble.error_of_all(8) is None


def test_tasks_that_are_skipped_no_more_are_not_kept_in_memory(trouble: Trouble, clock: Clock) -> None:
    # Given a long run that skips a task every second, readable or reserved
    for n in range(200):
        trouble.skip(QueueKey(queued=clock.now, id=f"odd-{n}", lane=0), until=clock.now + 2 * SECOND)
        trouble.skip(QueueKey(queued=clock.now, id=f"reserved-{n}", lane=1), until=clock.now + 3 * SECOND)
        clock.advance(SECOND)
        trouble.skipped(0)
    assert len(trouble._skipped) <= 6
    # When all of that is over, the run still knows that there was something
    clock.advance(MINUTE)
    assert trouble.skipped(1) == {}
    assert trouble.was_any
