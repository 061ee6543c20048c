"""Tasks that have ended and owe a follow-up count as such: neither as waiting nor as overdue."""

from datetime import timedelta

from duebell import Editor, Problem, ProblemKind, Status, Then
from duebell_shared.tasks.task import STARTS_WITHIN, Task
from tests.editor.memory import Scheduler
from tests.support import NOON, Calls, Clock

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def owe(scheduler: Scheduler, task: Task) -> None:
    """Have this task done, and owe its follow-up."""
    assert scheduler.become(scheduler.become(task, Status.RUNNING), Status.DONE).owes


def problem_of(scheduler: Scheduler) -> Problem:
    [found] = [one for one in scheduler.editor.status().problems if one.kind is ProblemKind.OWING]
    return found


def test_a_task_that_owes_is_counted_once(scheduler: Scheduler) -> None:
    # Given a task that is done and owes, one that is overdue, and one that waits
    ended = scheduler.editor.add("act", due=MINUTE, id="ended", then=Then("hear"))
    scheduler.editor.add("act", due=MINUTE, id="late")
    scheduler.editor.add("act", due=HOUR, id="waits")
    scheduler.clock.now = NOON + 2 * MINUTE
    owe(scheduler, ended)
    scheduler.clock.now = NOON + 10 * MINUTE

    # Then each counts for what it is
    status = scheduler.editor.status()
    assert (status.owing, status.queued, status.overdue, status.due_tonight) == (1, 2, 1, 1)
    assert status.next_due == NOON + MINUTE
    assert scheduler.editor.past_counts().done == 1
    first, *others = scheduler.editor.timeline(NOON, count=3)
    assert (first.count, first.overdue, [one.count for one in others]) == (1, 1, [1, 0])


def test_what_waits_behind_hundreds_that_owe_is_counted_as_well(scheduler: Scheduler) -> None:
    # Given more that owe than one read of tasks returns, before one that runs
    tasks = [scheduler.editor.add("act", due=MINUTE, then=Then("hear")) for _ in range(230)]
    last = scheduler.editor.add("act", due=2 * MINUTE)
    scheduler.clock.now = NOON + 3 * MINUTE
    for task in tasks:
        owe(scheduler, task)
    scheduler.become(last, Status.RUNNING)

    status = scheduler.editor.status()
    assert (status.owing, status.queued, status.running) == (230, 1, 1)


def test_follow_ups_that_are_owed_for_long_are_a_problem(scheduler: Scheduler) -> None:
    task = scheduler.editor.add("act", due=MINUTE, id="charge-42", then=Then("hear"))
    scheduler.clock.now = NOON + 2 * MINUTE
    owe(scheduler, task)

    # Then it is no problem for as long as a run may take to try again
    scheduler.clock.now += STARTS_WITHIN
    assert ProblemKind.OWING not in {one.kind for one in scheduler.editor.status().problems}
    scheduler.clock.now += timedelta(seconds=1)
    found = problem_of(scheduler)
    assert found.what.endswith("the first by 'charge-42' since 2026-11-21T12:02:00.000Z")
    assert "each run tries again" in found.way_out
    assert (found.at, found.mendable) == (NOON + 2 * MINUTE, True)
    # And nothing is told to be overdue, for which the way out would be another
    assert ProblemKind.OVERDUE not in {one.kind for one in scheduler.editor.status().problems}


def test_a_status_costs_no_more_where_nothing_owes(editor: Editor, clock: Clock, calls: Calls) -> None:
    editor.add("act", due=MINUTE)
    clock.advance(10 * MINUTE)
    calls.clear()
    editor.status()
    assert calls["BatchGetItem"] == 1
