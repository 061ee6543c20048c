"""The write units of a task's life, by what is kept of it: exact, for items below 1 KB."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

import pytest
from bench.capacity.units import size_of, write_units
from msgspec.structs import replace

from duebell_shared.instants import MILLISECOND
from duebell_shared.queue.items import item_of
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import History, RetentionPolicy, Status
from duebell_shared.tasks.task import Task
from tests.support import NOON

SECOND = timedelta(seconds=1)

#: As JSON it has 100 bytes.
PAYLOAD = {"item": "x" * 89}


def claimed(task: Task) -> Task:
    """As a run claims it, which rings up to two minutes late and not on a whole second."""
    assert task.queued
    late = 47 * SECOND + (task.runs * 997 % 1_000) * MILLISECOND
    return replace(
        task,
        status=Status.RUNNING,
        attempt=task.attempt + 1,
        rev=task.rev + 1,
        started_at=task.queued + late,
        run="0123456789abcdef" * 2,
        lateness_ms=late // MILLISECOND,
    )


def units(life: Sequence[Task | None]) -> int:
    """Of all the writes that make each of these of the one before."""
    items = [None if task is None else item_of(task) for task in life]
    return sum(write_units(before, after) for before, after in pairwise(items))


@pytest.mark.parametrize(("history", "most"), [(History.ALL, 6), (History.FAILED, 5), (History.NONE, 5)])
def test_a_task_that_is_done_takes_six_write_units_or_five(history: History, most: int) -> None:
    keep = RetentionPolicy(history=history)
    task = new_task(id="trial-expiry:4711", action="act", due=NOON, payload=PAYLOAD, now=NOON)
    running = claimed(task)
    done = running.done(now=NOON + SECOND, keep=keep)
    after = done if done.is_kept(keep) else None
    assert units([None, task, running, after]) == most
    assert (after is None) == (history is History.NONE)


def daily() -> Task:
    task = new_task(
        id="daily-report:customer-4711",
        action="send_report",
        schedule="cron(0 9 ? * MON-FRI *)",
        timezone="Europe/Berlin",
        payload=PAYLOAD,
        now=NOON,
    )
    return replace(task, changed_by="someone@example.com")


def test_each_occurrence_takes_four_write_units_and_its_item_stays_below_a_kilobyte() -> None:
    task = daily()
    assert units([None, task]) == 3  # it enters the index of the past, and no occurrence touches that
    for _ in range(1_000):
        running = claimed(task)
        assert running.started_at
        over = running.done(now=running.started_at + 700 * MILLISECOND, keep=RetentionPolicy())
        assert units([task, running, over]) == 4
        assert max(size_of(item_of(running)), size_of(item_of(over))) <= 1_000
        task = over
    assert len(task.occurrences) == 20
