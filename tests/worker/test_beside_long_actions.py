"""Reserved tasks, and tasks that a run left running, beside an action of hours in a long-running process."""

from uuid import uuid4

import pytest

from duebell import Reservation, Status, Task
from tests.support import NOON, Clock
from tests.worker.dead import key_of
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted
from tests.worker.log_lines import Log
from tests.worker.stage import Stage


@pytest.fixture
def hosted(clock: Clock, stage: Stage, log: Log) -> Hosted:
    """A process that has two places, and an action of five hours."""
    hosted = Hosted(clock, stage, log)
    hosted.takes(5 * HOUR)
    return hosted


def begin_long(hosted: Hosted) -> None:
    """Have the process begin the long action soon."""
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


def test_a_task_that_is_never_confirmed_is_dropped_during_a_long_action(hosted: Hosted) -> None:
    # Given a long action, and a task that is reserved when it is due, and never confirmed
    begin_long(hosted)
    there: list[Task | None] = []
    lane = hosted.editor.queue.lane_of("a")
    hosted.at(NOON + 10 * MINUTE, lambda: hosted.editor.reserve("act", due=hosted.clock.now, id="a"))
    for minutes in (12, 15):
        hosted.at(NOON + minutes * MINUTE, lambda: there.append(hosted.store.get(lane, "a")))

    # When a process comes to it that has an action under way
    hosted.run_until(NOON + 6 * HOUR)

    # Then it leaves it for its grace, and drops it after that
    before, after = there
    assert before
    assert before.status is Status.RESERVED
    assert after is None
    assert not hosted.starts


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
    tasks = [hosted.add("long", NOON + SECOND, lane=lane) for lane in (2, 3)]
    leave_running(hosted, *tasks)

    # When their lease is over
    hosted.run_until(NOON + 6 * HOUR)

    # Then one is begun a minute after the other: the first may be what killed the run
    first, second = sorted(hosted.editor.get(task.id).started_at or NOON for task in tasks)
    assert NOON + 2 * MINUTE <= first < NOON + 3 * MINUTE
    assert first + MINUTE <= second < first + 2 * MINUTE
