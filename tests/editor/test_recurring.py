"""Recurring tasks through the editor: added, changed, and refused with the field named."""

from datetime import datetime, timedelta

import pytest

from duebell import InvalidTask, Missed, Status, TaskConflict
from tests.editor.memory import Scheduler
from tests.support import NOON, SetFor

HOUR = timedelta(hours=1)


def test_the_rule_rings_for_the_first_occurrence(scheduler: Scheduler) -> None:
    task = scheduler.editor.add(
        "report", schedule="cron(0 9 ? * MON-FRI *)", timezone="Europe/Berlin", id="r"
    )
    assert task.due == datetime.fromisoformat("2026-11-23T08:00:00Z")
    assert task.recurrence
    assert task.recurrence.next_due == datetime.fromisoformat("2026-11-24T08:00:00Z")
    assert task.recurrence.missed is Missed.ONCE
    assert scheduler.events.expression == SetFor(task.due)
    assert scheduler.editor.get("r") == task


# Changing.


def test_another_schedule_arms_for_its_first(scheduler: Scheduler) -> None:
    scheduler.editor.add("report", schedule="rate(5 hours)", id="r", max_runs=7)
    scheduler.clock.advance(HOUR)
    task = scheduler.editor.update("r", schedule="cron(30 13 * * ? *)", payload={"n": 1})
    assert (task.due, task.payload, task.rev) == (NOON + 1.5 * HOUR, {"n": 1}, 2 + 1)
    assert task.recurrence
    assert (task.recurrence.max_runs, task.recurrence.schedule.start) == (7, None)
    assert scheduler.events.expression == SetFor(task.due)


def test_another_time_zone_keeps_the_expression(scheduler: Scheduler) -> None:
    scheduler.editor.add("report", schedule="0 9 * * *", timezone="Europe/Berlin", id="r", missed="all")
    task = scheduler.editor.update("r", timezone="America/New_York")
    assert task.due == datetime.fromisoformat("2026-11-21T14:00:00Z")
    assert task.recurrence
    assert task.recurrence.missed is Missed.ALL
    task = scheduler.editor.update("r", missed="skip", max_runs=9)
    assert task.recurrence
    assert (task.recurrence.missed, task.recurrence.max_runs) == (Missed.SKIP, 9)
    assert task.recurrence.schedule.timezone == "America/New_York"


def test_a_task_that_runs_once_cannot_become_one_that_recurs(scheduler: Scheduler) -> None:
    scheduler.editor.add("report", due=9 * HOUR, id="once")
    with pytest.raises(InvalidTask, match="schedule: cannot be given to task 'once', which runs once"):
        scheduler.editor.update("once", schedule="rate(2 hours)")


def test_a_due_date_and_a_schedule_do_not_go_together(scheduler: Scheduler) -> None:
    scheduler.editor.add("report", schedule="rate(5 hours)", id="r")
    with pytest.raises(InvalidTask, match="due: cannot be combined with a schedule"):
        scheduler.editor.update("r", schedule="rate(1 hour)", due=HOUR)
    assert scheduler.editor.update("r", due=HOUR).due == NOON + HOUR


def test_run_now(scheduler: Scheduler) -> None:
    editor = scheduler.editor
    editor.add("report", schedule="rate(5 hours)", id="r")
    task = editor.run_now("r")
    assert task.queued == NOON
    assert scheduler.events.expression == SetFor(NOON + timedelta(minutes=1))
    scheduler.become(task, Status.RUNNING)
    with pytest.raises(TaskConflict, match="it is running"):
        editor.run_now("r")
    editor.add("report", due=5 * HOUR, id="once")
    assert editor.run_now("once").due == NOON
