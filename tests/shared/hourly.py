"""A task of every full hour, as a run starts and ends it. Values only."""

from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.recurrence import Missed
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import Task
from tests.support import NOON

HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
KEEP = RetentionPolicy(retention=timedelta(days=30))
FAILURE = Failure(type="ValueError", message="no", traceback="here\n" * 100)
NOON_PLUS = [NOON + number * HOUR for number in range(200)]


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
    claimed = replace(
        task,
        status=Status.RUNNING,
        attempt=task.attempt + 1,
        rev=task.rev + 1,
        started_at=at,
        run="run",
        lateness_ms=lateness,
    )
    return claimed.caught_up()


def done(task: Task, at: datetime | None = None) -> Task:
    running = started(task, at)
    assert running.started_at
    return running.done(now=running.started_at + SECOND, keep=KEEP)


def failed(task: Task, at: datetime | None = None) -> Task:
    running = started(task, at)
    assert running.started_at
    return running.failed(FAILURE, now=running.started_at + SECOND, keep=KEEP)
