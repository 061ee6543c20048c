"""Where a recurring task stands after each attempt. Values only."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from duebell_shared.errors import InvalidTask, TaskConflict
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.recurrence import Missed, Origin
from duebell_shared.tasks.status import Status
from tests.shared.hourly import FAILURE, HOUR, KEEP, MINUTE, NOON_PLUS, SECOND, done, failed, hourly, started
from tests.support import NOON

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


# What becomes of occurrences that nothing ran in time, and of a task that is too late. Values only.


def test_all_are_a_hundred_at_most() -> None:
    running = started(hourly(Missed.ALL), NOON_PLUS[150] + MINUTE)
    assert (running.due, running.missed_runs) == (NOON_PLUS[51], 50)
    after = running.done(now=NOON_PLUS[150] + MINUTE, keep=KEEP)
    assert started(after, NOON_PLUS[150] + MINUTE).due == NOON_PLUS[52]


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


def test_one_that_runs_is_not_moved_or_run_beside_itself() -> None:
    running = started(hourly())
    with pytest.raises(TaskConflict, match="cannot move task 'one': it is running"):
        running.moved(NOON + 5 * HOUR, now=NOON)
    with pytest.raises(TaskConflict, match="cannot run task 'one': it is running"):
        running.run_now(now=NOON)


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
