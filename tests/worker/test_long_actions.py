"""Long actions in a long-running process: it claims other lanes beside them, or leaves these to others."""

from datetime import datetime
from uuid import uuid4

import pytest

from duebell import Reservation, Status, Task
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable
from duebell_shared.instants import NEVER
from tests.support import NOON
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted
from tests.worker.other_runs import key_of

OUT = AwsUnavailable("no answer")


def test_an_action_of_five_hours_is_started_once_and_hinders_nobody(hosted: Hosted) -> None:
    hosted.takes(5 * HOUR)
    long = hosted.add("long", NOON + MINUTE)
    dues = [NOON + MINUTE + SECOND, NOON + 2 * HOUR + 17 * SECOND, NOON + 4 * HOUR]
    for due in dues[:2]:
        hosted.add("act", due)
    hosted.at(NOON + 3 * HOUR, lambda: hosted.add("act", dues[2]))  # while it runs
    hosted.run_until(NOON + 6 * HOUR)
    assert hosted.starts == dues
    done = hosted.editor.get(long.id)
    assert (done.status, done.attempt) == (Status.DONE, 1)
    assert done.finished_at == NOON + MINUTE + 5 * HOUR


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_lane_that_is_claimed_later_is_looked_into(is_answered: bool, hosted: Hosted) -> None:
    # Given a run that waits for a due date, and another one that gives lanes back, one due before that
    hosted.add("act", NOON + 60 * SECOND, lane=0)
    hosted.add("act", NOON + 55 * SECOND, lane=3)
    other = hosted.other(2, 3)

    def give_back() -> None:
        other.lease.clear()
        other.lease.release({2: NEVER, 3: NOON + 55 * SECOND}, unless_due_within=None)

    hosted.at(NOON + 52 * SECOND, give_back)
    claims: list[ArmingRecord] = []
    swap = hosted.store.swap_record

    def swapped(old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        written = swap(old, new)
        before = {lane.owner for lane in old.lanes} if old else set()
        is_more = None in before and len(before) == 2 and {lane.owner for lane in new.lanes} < before
        if written and is_more and not claims:
            claims.append(new)
            if not is_answered:
                raise OUT
        return written

    hosted.store.swap_record = swapped  # type: ignore[method-assign]
    # When the run claims these, and perhaps the answer to that is lost
    hosted.run_until(NOON + HOUR)
    # Then what waits in them starts in time
    assert claims
    assert hosted.starts == [NOON + 55 * SECOND, NOON + 60 * SECOND]


def test_a_run_that_finds_work_every_minute_ends_from_time_to_time(hosted: Hosted) -> None:
    hosted.editor.add("act", schedule="rate(1 minute)")
    hosted.run_until(NOON + HOUR)
    # Each minute is served to the second
    assert {start.second for start in hosted.starts} == {hosted.starts[0].second}
    assert len(hosted.starts) >= 59
    # And the results are told more than once, with the metrics of a run
    assert len(hosted.log.lines("run")) >= 10


def test_lanes_are_left_to_others_while_long_actions_have_all_places(hosted: Hosted) -> None:
    # Given a process whose places are taken for an hour, and a task in a lane in which nothing runs
    hosted.serve(parallel_runs=2)
    hosted.takes(HOUR)
    for lane in (0, 1):
        hosted.add("long", NOON + SECOND, lane=lane)
    hosted.add("act", NOON + 2 * SECOND, lane=3)
    free: list[tuple[datetime, datetime]] = []
    for seconds in (60, 1800):
        hosted.at(
            NOON + seconds * SECOND,
            lambda: free.append((hosted.record.free_due(hosted.clock.now), hosted.rings_at)),
        )
    hosted.run_until(NOON + 2 * HOUR)
    # Then the lane is free for the next process that looks, and the rule rings for it
    assert all(due <= NOON + MINUTE for due, _ in free)
    assert free[0][1] <= NOON + 3 * MINUTE
    assert not hosted.called.events
    # And as nobody claims it, the process does as soon as it has a place
    [start] = hosted.starts
    assert NOON + HOUR <= start <= NOON + HOUR + 10 * SECOND


def test_a_share_is_given_to_a_lambda_where_it_may_be_called(hosted: Hosted) -> None:
    hosted.serve(parallel_runs=2, calls=True)
    hosted.takes(HOUR)
    for lane in (0, 1):
        hosted.add("long", NOON + SECOND, lane=lane)
    hosted.add("act", NOON + 2 * SECOND, lane=3)
    hosted.run_until(NOON + 5 * MINUTE)
    assert {"duebell": {"lanes": [2, 3]}} in hosted.called.events


def test_alone_by_its_setting_a_process_keeps_its_lanes(hosted: Hosted) -> None:
    hosted.takes(HOUR)
    for lane in (0, 1):
        hosted.add("long", NOON + SECOND, lane=lane)
    hosted.add("act", NOON + 2 * SECOND, lane=3)
    hosted.run_until(NOON + 2 * HOUR)
    assert not hosted.log.lines("shared")
    assert len(hosted.starts) == 1


# Reserved tasks, and tasks that a run left running, beside a long action.


def begin_long(hosted: Hosted) -> None:
    """Have the process, which has two places, begin an action of five hours soon."""
    hosted.takes(5 * HOUR)
    hosted.add("long", NOON + MINUTE, lane=0)


def confirm(hosted: Hosted, reservation: Reservation) -> None:
    answer = hosted.store.transact([reservation.write], token=uuid4().hex)
    assert not answer.refusals


def leave_running(hosted: Hosted, *tasks: Task) -> None:
    """A run that holds lanes 2 and 3, and dies with these tasks under way."""
    hosted.other(2, 3)
    for task in tasks:
        key, now = key_of(task), hosted.clock.now
        assert hosted.store.claim(key, run="other", now=now, status=Status.SCHEDULED)


def test_a_task_that_is_confirmed_during_a_long_action_is_run(hosted: Hosted) -> None:
    # Given a long action, and a task that is reserved when it is due, and confirmed five seconds later
    begin_long(hosted)
    reserved_at = NOON + 10 * MINUTE

    def reserve() -> None:
        reservation = hosted.editor.reserve("act", due=reserved_at, id="a")
        hosted.at(reserved_at + 5 * SECOND, lambda: confirm(hosted, reservation))

    hosted.at(reserved_at, reserve)

    # When a process comes to it that has an action under way; then it runs it soon
    hosted.run_until(NOON + 6 * HOUR)
    [started_at] = hosted.starts
    assert reserved_at + 5 * SECOND <= started_at < reserved_at + 20 * SECOND


def test_a_task_that_was_left_running_is_run_during_a_long_action(hosted: Hosted) -> None:
    # Given a long action, and a run that dies with a task under way
    begin_long(hosted)
    leave_running(hosted, hosted.add("act", NOON + SECOND, lane=3))

    # When its lease is over; then the process runs it, beside the action that it has under way
    hosted.run_until(NOON + 6 * HOUR)
    [started_at] = hosted.starts
    assert NOON + 2 * MINUTE <= started_at < NOON + 3 * MINUTE


def test_long_actions_that_were_left_running_run_side_by_side(hosted: Hosted) -> None:
    # Given a run that dies with two tasks under way, of hours each
    hosted.takes(5 * HOUR)
    tasks = [hosted.add("long", NOON + SECOND, lane=lane) for lane in (2, 3)]
    leave_running(hosted, *tasks)

    # When their lease is over
    hosted.run_until(NOON + 6 * HOUR)

    # Then one is begun a minute after the other: the first may be what killed the run
    first, second = sorted(hosted.editor.get(task.id).started_at or NOON for task in tasks)
    assert NOON + 2 * MINUTE <= first < NOON + 3 * MINUTE
    assert first + MINUTE <= second < first + 2 * MINUTE
