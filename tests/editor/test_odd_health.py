"""What is rarely wrong, and what only looks like it."""

from datetime import timedelta

from msgspec.structs import replace

from duebell import Problem, ProblemKind, Status
from duebell_shared.bell.arming import Lane
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import RetentionPolicy
from tests.editor.memory import KEEP, Scheduler
from tests.support import NOON

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def only(scheduler: Scheduler, *, thorough: bool = False) -> Problem:
    [problem] = scheduler.editor.status(thorough=thorough).problems
    return problem


def test_a_date_that_has_passed_is_not_overdue_when_it_was_just_added(scheduler: Scheduler) -> None:
    task = scheduler.editor.add("act", due=-1000 * HOUR)
    assert (task.due, task.queued) == (NOON - 1000 * HOUR, NOON)
    assert scheduler.editor.status().healthy
    scheduler.clock.advance(10 * MINUTE)
    assert ProblemKind.OVERDUE in {problem.kind for problem in scheduler.editor.status().problems}


def test_a_lease_that_ends_in_years(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=HOUR)
    armer = scheduler.backend.armer
    armer.change(lambda record: record.claimed("odd", now=NOON, until=NOON + 9999 * HOUR))
    armer.ensure()
    problem = only(scheduler)
    assert (problem.kind, problem.mendable) == (ProblemKind.HELD_TOO_LONG, True)
    assert "duebell doctor --fix" in problem.way_out
    assert scheduler.editor.ensure_armed().healthy


def test_tasks_in_lanes_that_someone_took_away(scheduler: Scheduler) -> None:
    scheduler.editor.ensure_armed()
    stray = new_task(id="stray", action="act", due=HOUR, payload=None, now=NOON)
    assert scheduler.store.insert(replace(stray, lane=9))
    problem = only(scheduler, thorough=True)
    assert problem.kind is ProblemKind.LANES
    assert problem.what == "tasks wait in lane 9, and the arming record has only 4 lanes: someone edited it"
    # And what it says to do mends it
    scheduler.store.record = None
    scheduler.editor.ensure_armed()
    assert scheduler.editor.status(thorough=True).healthy
    assert scheduler.store.record
    assert scheduler.store.record.lanes[9] == Lane(due=NOON + HOUR)


def test_recurring_tasks_that_fail_and_go_on(scheduler: Scheduler) -> None:
    for id in ("a", "b", "well"):
        task = scheduler.editor.add("act", schedule="rate(1 hour)", id=id)
        if id != "well":
            scheduler.become(task, Status.FAILED)
    assert scheduler.editor.status().failing == 2
    problem = only(scheduler)
    assert problem.kind is ProblemKind.FAILING_TASKS
    assert problem.what == "the last occurrence failed of 2 recurring tasks: 'a' and 1 more"
    assert "duebell run-now" in problem.way_out
    # And a success ends it
    for id in ("a", "b"):
        task = scheduler.editor.get(id)
        assert scheduler.store.save(task, task.done(now=NOON, keep=RetentionPolicy(retention=KEEP)))
    assert scheduler.editor.status(thorough=True).healthy
