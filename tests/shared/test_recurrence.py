"""A task after each attempt: its occurrence, and the failures that it remembers. Values only."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duebell_shared.errors import InvalidTask, TaskConflict
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.recurrence import Missed, Origin
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import Task
from tests.support import NOON

HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
KEEP = RetentionPolicy(retention=timedelta(days=30))
FAILURE = Failure(type="ValueError", message="no", traceback="here")


def hourly(missed: Missed = Missed.ONCE, *, end: datetime | None = None, **rules: Any) -> Task:
    """A task of every full hour from 13:00 on."""
    return new_task(
        id="one", action="act", schedule="cron(0 * * * ? *)", missed=missed, end=end, now=NOON, **rules
    )


def started(task: Task, at: datetime | None = None) -> Task:
    """The task as a run starts it, at its time or later."""
    assert task.queued
    at = at or task.queued
    lateness = round((at - task.queued) / timedelta(milliseconds=1))
    changes = {"attempt": task.attempt + 1, "rev": task.rev + 1, "started_at": at, "lateness_ms": lateness}
    return replace(task, status=Status.RUNNING, run="run", **changes).caught_up()


def done(task: Task) -> Task:
    assert task.queued
    return started(task).done(now=task.queued + SECOND, keep=KEEP)


def failed(task: Task, at: datetime | None = None) -> Task:
    assert task.queued
    return started(task, at).failed(FAILURE, now=(at or task.queued) + SECOND, keep=KEEP)


# The chain.


def test_it_ends_failed_when_its_last_occurrence_failed() -> None:
    over = failed(hourly(end=NOON + HOUR))
    assert (over.status, over.failure, over.runs) == (Status.FAILED, FAILURE, 1)
    # And that one can be retried, which does not count as another
    again = over.retried(now=NOON + 5 * HOUR)
    assert (again.status, again.queued, again.due) == (Status.SCHEDULED, NOON + 5 * HOUR, NOON + HOUR)
    assert done(again).runs == 1


def test_an_extra_run_that_succeeds_ends_the_row_of_failures_and_one_that_fails_leaves_it() -> None:
    more = failed(hourly()).run_now(now=NOON + HOUR + MINUTE)
    assert [(one.runs, one.consecutive_failures) for one in (done(more), failed(more))] == [(1, 0), (1, 1)]


# Spread.


def test_a_spread_delays_each_occurrence_by_the_same() -> None:
    task = hourly(spread=10 * MINUTE)
    assert task.queued
    delay = task.queued - task.due
    assert timedelta(0) < delay < 10 * MINUTE
    after = done(task)
    assert after.queued
    assert (after.due, after.queued - after.due) == (NOON + 2 * HOUR, delay)
    assert after.last
    assert after.last.lateness_ms == 0


# Occurrences that no run reached in time, and tasks that are too late.


def test_all_are_a_hundred_at_most() -> None:
    now = NOON + 150 * HOUR + MINUTE
    running = started(hourly(Missed.ALL), now)
    assert (running.due, running.missed_runs) == (NOON + 51 * HOUR, 50)
    after = running.done(now=now, keep=KEEP)
    assert started(after, now).due == NOON + 52 * HOUR


def test_skip_runs_none_that_is_late() -> None:
    running = started(hourly(Missed.SKIP), NOON + 4 * HOUR + 6 * MINUTE)
    assert running.is_too_late
    after = running.expired(now=NOON + 4 * HOUR + 6 * MINUTE, keep=KEEP)
    assert (after.status, after.due, after.runs, after.attempt) == (Status.SCHEDULED, NOON + 5 * HOUR, 0, 0)
    assert after.last
    assert (after.last.result, after.last.missed, after.last.attempts) == ("skipped", 3, 0)


def test_skip_ends_expired_when_nothing_is_left() -> None:
    running = started(hourly(Missed.SKIP, end=NOON + 2 * HOUR), NOON + 4 * HOUR)
    over = running.expired(now=NOON + 4 * HOUR, keep=KEEP)
    assert (over.status, over.queued) == (Status.EXPIRED, None)
    assert over.retried(now=NOON + 5 * HOUR).queued == NOON + 5 * HOUR


def test_a_retry_is_not_taken_for_one_that_was_missed() -> None:
    # Given an occurrence that is retried, late, when the next has passed too
    task = started(hourly(), NOON + HOUR + 59 * MINUTE).to_retry(
        NOON + 2 * HOUR - SECOND, FAILURE, now=NOON + HOUR
    )
    running = started(task, NOON + 2 * HOUR + MINUTE)
    # Then it is that one that runs, and the next after it
    assert (running.due, running.missed_runs, running.attempt) == (NOON + HOUR, 0, 2)
    assert running.done(now=NOON + 2 * HOUR + MINUTE, keep=KEEP).due == NOON + 2 * HOUR


def test_a_retry_drops_the_result_of_the_occurrence_before_and_the_reason_that_it_was_not_kept() -> None:
    before = replace(started(hourly(), NOON + HOUR), result_json="1", result_error="too large")
    task = before.to_retry(NOON + 2 * HOUR, FAILURE, now=NOON + HOUR)
    assert (task.result_json, task.result_error) == (None, None)


def test_the_policy_on_missed_occurrences_applies_to_those_of_a_pause() -> None:
    paused = hourly(Missed.SKIP).paused()
    assert (paused.status, paused.queued) == (Status.PAUSED, None)
    resumed = paused.resumed(now=NOON)
    assert (resumed.status, resumed.queued) == (Status.SCHEDULED, NOON + HOUR)
    running = started(resumed, NOON + 3 * HOUR + 10 * MINUTE)
    assert (running.is_too_late, running.missed_runs) == (True, 2)


# Too late for one that runs once.


@pytest.mark.parametrize(("minutes", "is_too_late"), [(0, False), (30, False), (31, True)])
def test_a_task_expires_when_it_cannot_be_started_in_time(minutes: int, is_too_late: bool) -> None:
    task = new_task(id="one", action="act", due=NOON, payload=None, now=NOON, expires_after=30 * MINUTE)
    running = started(task, NOON + minutes * MINUTE)
    assert running.is_too_late is is_too_late


# Editors move a recurring task, run it at once, or give it another schedule. Values only.


def test_one_that_runs_is_not_moved() -> None:
    running = started(hourly())
    with pytest.raises(TaskConflict, match="cannot move task 'one': it is running"):
        running.moved(NOON + 5 * HOUR, now=NOON)


def test_an_extra_run_does_not_disturb_the_chain() -> None:
    task = hourly(max_runs=1).run_now(now=NOON + MINUTE)
    assert task.queued == NOON + MINUTE
    task = done(task)
    assert (task.due, task.queued, task.runs) == (NOON + HOUR, NOON + HOUR, 0)
    assert task.last
    assert (task.last.extra, task.last.due) == (True, NOON + MINUTE)
    assert task.recurrence
    assert task.recurrence.origin is Origin.SCHEDULE
    assert done(task).status is Status.DONE


def test_a_task_that_is_moved_while_paused_stays_paused_and_delays_no_other() -> None:
    task = hourly().paused().moved(NOON + 3 * HOUR, now=NOON)
    assert (task.status, task.due, task.queued) == (Status.PAUSED, NOON + 3 * HOUR, None)
    assert task.resumed(now=NOON).queued == NOON + 2 * HOUR


def test_a_change_that_leaves_nothing_to_run_is_refused() -> None:
    task = done(hourly())
    assert task.recurrence
    with pytest.raises(InvalidTask, match="leaves nothing to run"):
        task.rescheduled(replace(task.recurrence, max_runs=1))


# The failed attempts that a task remembers: which, how many, and until when.


def once() -> Task:
    return new_task(id="one", action="act", due=NOON, payload=None, now=NOON)


def retried(task: Task, at: datetime, *, again: datetime) -> Task:
    """The task after an attempt that took a second, failed, and is made again then."""
    failure = Failure(type="LookupError", message="lost")
    return started(task, at).to_retry(again, failure, now=at + SECOND)


def told(task: Task) -> list[tuple[datetime | None, int, str]]:
    return [(one.due, one.attempt, str(one.error).partition(":")[0]) for one in task.failures]


def test_those_of_an_occurrence_are_told_of_until_the_next_has_been_tried() -> None:
    # Given an occurrence that failed twice, and for good
    first, second = NOON + HOUR, NOON + 2 * HOUR
    task = failed(retried(hourly(), first, again=first + MINUTE), first + MINUTE)
    assert (task.due, task.attempt) == (second, 0)
    assert told(task) == [(first, 1, "LookupError"), (first, 2, "ValueError")]
    # When the next one is tried, it fails alone, or leaves nothing
    assert told(failed(task, second)) == [(second, 1, "ValueError")]
    assert started(task, second).done(now=second, keep=KEEP).failures == ()


def test_an_occurrence_that_is_moved_begins_anew_and_others_do_not() -> None:
    first, second, third = (NOON + number * HOUR for number in (1, 2, 3))
    task = retried(hourly(), first, again=third + MINUTE)
    task = retried(task, second, again=second + MINUTE)
    assert task.due == second
    moved = task.moved(third - MINUTE, now=second)
    assert (moved.attempt, moved.failure, told(moved)) == (0, None, [(first, 1, "LookupError")])


def test_attempts_that_were_left_running_failed_too() -> None:
    # Given an attempt that failed, and two that nobody heard of again
    task = retried(once(), NOON, again=NOON + MINUTE)
    for minutes in (1, 2, 3):
        task = started(task, NOON + minutes * MINUTE)
    # When the next has failed
    task = task.left_running()
    task = task.failed(Failure(type="E", message=""), now=NOON + HOUR, keep=KEEP)
    # Then all are told of, and of those two that they had not ended when the last began
    assert told(task) == [
        (NOON, 1, "LookupError"),
        (NOON, 2, "WorkerDied"),
        (NOON, 3, "WorkerDied"),
        (NOON, 4, "E"),
    ]
    assert {(one.at, one.ended_at) for one in task.failures[1:3]} == {(NOON + 3 * MINUTE, None)}


def test_however_many_were_left_running_ten_are_told_of() -> None:
    task = started(replace(once(), attempt=10**12), NOON).left_running()
    assert [one.attempt for one in task.failures] == [*range(10**12 - 9, 10**12 + 1)]
