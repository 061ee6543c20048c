"""Adding with `if_exists="push"`: a task that waits already waits anew, for so long at most."""

from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, InvalidTask, NewTask, Status, Task, TaskConflict
from tests.editor.memory import Scheduler
from tests.support import NOON, Calls, Clock, SetFor

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def push(scheduler: Scheduler, *, due: Any = 10 * MINUTE, **options: Any) -> Task:
    return scheduler.editor.add("index", due=due, id="one", if_exists="push", **options)


def test_each_push_gives_the_new_due_date_and_payload(scheduler: Scheduler) -> None:
    push(scheduler, payload=1)
    scheduler.clock.advance(5 * MINUTE)
    task = push(scheduler, payload=2)
    assert scheduler.editor.get("one") == task
    assert (task.due, task.queued, task.payload) == (NOON + 15 * MINUTE, NOON + 15 * MINUTE, 2)
    assert (task.created_at, task.status, task.rev) == (NOON, Status.SCHEDULED, 2)
    # And the rule is left alone: it rings once for nothing
    assert scheduler.events.expression == SetFor(NOON + 10 * MINUTE)


def test_pushes_never_go_beyond_max_wait_after_the_first_add(scheduler: Scheduler) -> None:
    # Given pushes every four minutes by ten, for half an hour at most
    dues = []
    for _ in range(7):
        task = push(scheduler, max_wait=30 * MINUTE)
        assert task.queued == task.due
        dues.append((task.due - NOON) // MINUTE)
        scheduler.clock.advance(4 * MINUTE)
    assert dues == [10, 14, 18, 22, 26, 30, 30]
    # When it is overdue, and others push it still
    scheduler.clock.now = NOON + HOUR
    task = push(scheduler, max_wait=30 * MINUTE, payload="last")
    # Then it keeps its place in the queue
    assert (task.due, task.queued) == (NOON + 30 * MINUTE, NOON + 30 * MINUTE)
    assert task.payload == "last"


@pytest.mark.parametrize("status", [None, Status.RUNNING, Status.DONE])
def test_a_first_push_is_not_due_beyond_max_wait_either(scheduler: Scheduler, status: Status | None) -> None:
    if status:
        scheduler.become(scheduler.editor.add("index", due=HOUR, id="one"), status)
    scheduler.clock.advance(5 * HOUR)
    task = push(scheduler, due=HOUR, max_wait=20 * MINUTE)
    assert (task.due, task.queued) == (NOON + 5 * HOUR + 20 * MINUTE, NOON + 5 * HOUR + 20 * MINUTE)
    # Nor one of many, whose spread comes on top
    tasks = [NewTask(action="index", due=HOUR, id="two", spread=HOUR)]
    scheduler.editor.add_many(tasks, if_exists="push", max_wait=20 * MINUTE)
    task = scheduler.editor.get("two")
    assert task.due == NOON + 5 * HOUR + 20 * MINUTE
    assert task.queued
    assert task.due < task.queued <= task.due + HOUR


def test_a_limit_that_has_passed_makes_it_due_now(scheduler: Scheduler) -> None:
    push(scheduler, due=9 * HOUR)
    scheduler.clock.advance(HOUR)
    task = push(scheduler, due=9 * HOUR, max_wait=30 * MINUTE)
    assert (task.due, task.queued) == (NOON + HOUR, NOON + HOUR)
    assert scheduler.events.expression == SetFor(NOON + HOUR + MINUTE)


@pytest.mark.parametrize(("action", "stays"), [("index", True), ("other", False)])
def test_an_overdue_task_keeps_its_place_in_the_line_of_its_limit(
    scheduler: Scheduler, action: str, stays: bool
) -> None:
    # Given an overdue task that a run has put back, as its action is limited
    push(scheduler)
    scheduler.clock.advance(HOUR)
    place = scheduler.clock.now + HOUR
    claimed = scheduler.become(scheduler.editor.get("one"), Status.RUNNING)
    assert scheduler.store.save(claimed, claimed.held_back(place))
    scheduler.clock.advance(MINUTE)
    # When it is pushed, with its own action or with another
    task = scheduler.editor.add(
        action, due=MINUTE, id="one", payload=2, if_exists="push", max_wait=30 * MINUTE
    )
    # Then it waits in that line only for its own
    since = NOON + 10 * MINUTE
    assert (task.queued, task.limited_since) == ((place, since) if stays else (scheduler.clock.now, None))
    assert (task.due, task.payload) == (since, 2)


def test_a_paused_task_stays_paused(scheduler: Scheduler) -> None:
    scheduler.become(scheduler.editor.add("index", due=HOUR, id="one"), Status.PAUSED)
    task = push(scheduler, due=2 * HOUR, payload=2, max_wait=90 * MINUTE)
    assert (task.status, task.queued, task.due) == (Status.PAUSED, None, NOON + 90 * MINUTE)
    assert scheduler.editor.resume("one").queued == NOON + 90 * MINUTE


@pytest.mark.parametrize(
    "status", [Status.RUNNING, Status.DONE, Status.FAILED, Status.CANCELLED, Status.EXPIRED]
)
def test_one_that_does_not_wait_is_followed_by_a_new_one(scheduler: Scheduler, status: Status) -> None:
    # Given a task that has begun or is over
    there = scheduler.become(scheduler.editor.add("index", due=HOUR, id="one", payload=1), status)
    scheduler.clock.advance(5 * HOUR)
    # When it is pushed, with a limit that would be over if it still waited
    task = push(scheduler, payload=2, max_wait=HOUR)
    # Then the new one waits, and its time begins now
    assert (task.status, task.attempt, task.payload) == (Status.SCHEDULED, 0, 2)
    assert (task.due, task.created_at) == (NOON + 5 * HOUR + 10 * MINUTE, NOON + 5 * HOUR)
    assert task.rev == there.rev + 1
    # And an outcome of the one before does not apply to it
    assert not scheduler.store.save(there, None)


def test_a_recurring_task_is_not_pushed(scheduler: Scheduler) -> None:
    there = scheduler.editor.add("index", schedule="rate(1 hour)", id="one")
    with pytest.raises(TaskConflict, match=r"cannot push task 'one': it recurs. Choose another id"):
        push(scheduler)
    assert scheduler.editor.get("one") == there
    scheduler.editor.cancel("one")
    assert push(scheduler).recurrence is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"id": None}, "id: is missing: a push needs one"),
        ({"due": None, "schedule": "rate(1 day)"}, "schedule: a recurring task cannot be pushed"),
        ({"if_exists": "keep", "max_wait": HOUR}, "max_wait: is only for pushes"),
        ({"max_wait": 60}, "max_wait: must be a timedelta, not int"),
        ({"max_wait": -HOUR}, "max_wait: must be a millisecond or more"),
        ({"rev": 1}, "rev: is only for replacements"),
    ],
)
def test_what_cannot_be_right_is_refused_first(scheduler: Scheduler, given: Any, message: str) -> None:
    before = scheduler.snapshot()
    with pytest.raises(InvalidTask, match=message):
        scheduler.editor.add(**{"action": "index", "due": HOUR, "id": "one", "if_exists": "push", **given})
    assert scheduler.snapshot() == before


def test_a_push_to_a_later_due_date_leaves_the_rule_alone(editor: Editor, calls: Calls, clock: Clock) -> None:
    editor.add("index", due=10 * MINUTE, id="one", if_exists="push")
    clock.advance(MINUTE / 2)  # the worker's record is read once a minute
    calls.clear()
    editor.add("index", due=10 * MINUTE, id="one", if_exists="push")
    assert calls == {"PutItem": 1, "GetItem": 2, "UpdateItem": 1}


def test_a_push_that_loses_against_a_claim_is_followed_by_a_run(scheduler: Scheduler) -> None:
    # Given a run that claims the task between the push's read and its write
    there = push(scheduler)
    scheduler.clock.advance(10 * MINUTE)
    scheduler.before("save", lambda: scheduler.become(there, Status.RUNNING))
    # When the push looks again, then it is a new task
    task = push(scheduler)
    assert (task.status, task.due) == (Status.SCHEDULED, NOON + 20 * MINUTE)
    assert task.created_at == NOON + 10 * MINUTE
