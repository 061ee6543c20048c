"""Backfill: past occurrences of a recurring task, added as tasks of their own."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duebell import InvalidQuery, InvalidTask, Task, TaskNotFound, Then
from tests.editor.memory import Scheduler
from tests.support import NOON

FIRST, LAST = datetime(2026, 10, 24, tzinfo=UTC), datetime(2026, 10, 26, 8, tzinfo=UTC)
#: Clocks go back in Berlin on 25 October: 09:00 is 07:00 UTC before, and 08:00 UTC after.
DUES = tuple(datetime(2026, 10, day, hour, tzinfo=UTC) for day, hour in ((24, 7), (25, 8), (26, 8)))


def report(scheduler: Scheduler, **options: Any) -> Task:
    given = {"schedule": "0 9 * * *", "timezone": "Europe/Berlin", "id": "report", **options}
    return scheduler.editor.add("report", **given)


def test_the_occurrences_of_a_range_are_tasks_with_ids_of_their_own(scheduler: Scheduler) -> None:
    # Given a recurring task
    own: dict[str, Any] = {"payload": [1.0], "tags": ["a"], "priority": 3, "then": Then("mail")}
    there = report(scheduler, **own, spread=timedelta(hours=1))
    # When it is backfilled, both ends included
    found = scheduler.editor.backfill("report", FIRST, LAST)
    # Then each occurrence is a task that waits now, due when it was, with what the task has
    assert (found.dues, found.added, found.there_already, found.failures) == (DUES, 3, 0, ())
    tasks = scheduler.editor.find(found.prefix).tasks
    assert [task.id for task in tasks] == [
        "report@2026-10-24T07:00:00.000Z",
        "report@2026-10-25T08:00:00.000Z",
        "report@2026-10-26T08:00:00.000Z",
    ]
    for task, due in zip(tasks, DUES, strict=True):
        assert (task.due, task.queued, task.recurrence) == (due, NOON, None)
        assert (task.payload_json, task.tags, task.priority, task.then) == ("[1.0]", ("a",), 3, there.then)
    # And the task itself is as it was; a repetition adds nothing
    assert scheduler.editor.get("report") == there
    again = scheduler.editor.backfill("report", FIRST, LAST)
    assert (again.added, again.there_already) == (0, 3)
    assert scheduler.editor.find(found.prefix).tasks == tasks


def test_they_are_spaced_and_a_dry_run_adds_nothing(scheduler: Scheduler) -> None:
    report(scheduler)
    plan = scheduler.editor.backfill("report", FIRST, LAST, dry_run=True)
    assert (plan.dues, plan.dry_run, plan.added) == (DUES, True, 0)
    assert not scheduler.editor.find(plan.prefix).tasks
    scheduler.editor.backfill("report", FIRST, LAST, per_second=0.1)
    tasks = scheduler.editor.find(plan.prefix).tasks
    assert [(task.due, task.queued) for task in tasks] == [
        (due, NOON + timedelta(seconds=10 * place)) for place, due in enumerate(DUES)
    ]


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"end": NOON + timedelta(minutes=1)}, InvalidQuery, "end: .* is after now"),
        ({"start": LAST, "end": FIRST}, InvalidQuery, "end: .* is before the start"),
        ({"start": FIRST.replace(tzinfo=None)}, InvalidQuery, "start: must be a datetime with a time zone"),
        ({"per_second": 0}, InvalidTask, "per_second: must be a number, 0.0001 to 1,000"),
        ({"id": "once"}, InvalidQuery, "id: 'once' runs once"),
        ({"id": "none"}, TaskNotFound, "none"),
        ({"id": "minutely", "start": NOON - timedelta(days=7)}, InvalidQuery, "at most 10,000 occurrences"),
    ],
)
def test_what_cannot_be_backfilled_is_refused(
    scheduler: Scheduler, given: dict[str, Any], error: type[Exception], words: str
) -> None:
    report(scheduler)
    report(scheduler, id="minutely", schedule="* * * * *")
    scheduler.editor.add("report", due=NOON, id="once")
    with pytest.raises(error, match=words):
        scheduler.editor.backfill(**{"id": "report", "start": FIRST, "end": NOON, **given})
    assert len(scheduler.editor.list().tasks) == 3
