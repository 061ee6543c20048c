"""Editors move a recurring task, run it at once, or give it another schedule. Values only."""

import pytest
from msgspec.structs import replace

from duebell_shared.errors import InvalidTask, TaskConflict
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.recurrence import Origin, Recurrence
from duebell_shared.tasks.status import Status
from tests.shared.hourly import FAILURE, HOUR, MINUTE, done, hourly, started
from tests.support import NOON


def test_moving_moves_this_occurrence_only() -> None:
    task = hourly().moved(NOON + HOUR + 20 * MINUTE, now=NOON)
    assert (task.due, task.queued) == (NOON + HOUR + 20 * MINUTE, NOON + HOUR + 20 * MINUTE)
    assert done(task).due == NOON + 2 * HOUR


def test_moving_one_beyond_the_next_delays_no_other() -> None:
    later = NOON + 2 * HOUR + 30 * MINUTE
    task = hourly().moved(later, now=NOON)
    assert task.queued == NOON + 2 * HOUR
    task = done(task)
    assert (task.due, task.queued) == (later, later)
    assert done(task).due == NOON + 3 * HOUR


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


def test_an_extra_run_beside_a_retry_keeps_its_attempts() -> None:
    task = (
        started(hourly())
        .to_retry(NOON + HOUR + 10 * MINUTE, FAILURE, now=NOON + HOUR)
        .run_now(now=NOON + HOUR + MINUTE)
    )
    assert (task.queued, task.attempt) == (NOON + HOUR + MINUTE, 0)
    task = done(task)
    assert (task.due, task.queued, task.attempt) == (NOON + HOUR, NOON + HOUR + 10 * MINUTE, 1)


def test_an_extra_run_that_fails_is_retried_as_such() -> None:
    task = started(hourly().run_now(now=NOON + MINUTE)).to_retry(NOON + 2 * MINUTE, FAILURE, now=NOON + HOUR)
    task = done(task)
    assert task.last
    assert (task.last.extra, task.last.attempts, task.runs, task.due) == (True, 2, 0, NOON + HOUR)


def test_one_moved_while_paused_stays_paused() -> None:
    task = hourly().paused().moved(NOON + 3 * HOUR, now=NOON)
    assert (task.status, task.due, task.queued) == (Status.PAUSED, NOON + 3 * HOUR, None)
    task = task.resumed(now=NOON)
    assert task.queued == NOON + 2 * HOUR


def test_another_schedule_holds_from_now_on() -> None:
    task = done(hourly())
    assert task.recurrence
    schedule = make_schedule("rate(10 minutes)", now=NOON + HOUR + MINUTE)
    task = task.rescheduled(replace(task.recurrence, schedule=schedule), now=NOON + HOUR + MINUTE)
    assert (task.due, task.queued) == (NOON + HOUR + 11 * MINUTE, NOON + HOUR + 11 * MINUTE)
    assert done(task).due == NOON + HOUR + 21 * MINUTE
    assert task.runs == 1


def test_another_schedule_keeps_a_retry() -> None:
    task = started(hourly()).to_retry(NOON + HOUR + 10 * MINUTE, FAILURE, now=NOON + HOUR)
    assert task.recurrence
    schedule = make_schedule("rate(1 hour)", now=NOON + HOUR + MINUTE)
    task = task.rescheduled(replace(task.recurrence, schedule=schedule), now=NOON + HOUR + MINUTE)
    assert (task.due, task.attempt) == (NOON + HOUR, 1)
    assert done(task).due == NOON + 2 * HOUR + MINUTE


def test_a_task_that_runs_once_can_be_made_to_recur() -> None:
    once = new_task(id="one", action="act", due=NOON + HOUR, payload=None, now=NOON)
    schedule = make_schedule("rate(2 hours)", now=NOON)
    paused = once.paused().rescheduled(Recurrence(schedule=schedule), now=NOON)
    assert (paused.status, paused.due, paused.queued) == (Status.PAUSED, NOON + 2 * HOUR, None)


def test_a_change_that_leaves_nothing_to_run_is_refused() -> None:
    task = done(hourly())
    assert task.recurrence
    with pytest.raises(InvalidTask, match="leaves nothing to run"):
        task.rescheduled(replace(task.recurrence, max_runs=1), now=NOON + 2 * HOUR)
