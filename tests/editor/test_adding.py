"""Adding a task: stored as given, the rule armed for it, and what becomes of one that is there already."""

from datetime import timedelta
from typing import Literal

import pytest

from duebell import Editor, IfExists, Status, Task, TaskExists, TaskNotFound
from duebell_shared.bell.arming import GRACE
from tests.editor.memory import KEEP, Scheduler
from tests.support import NOON, SetFor

HOUR = timedelta(hours=1)

#: Without that of tasks that may never be added, see test_reserving.py, and of batches.
CERTAIN = [status for status in Status if status not in {Status.RESERVED, Status.BLOCKED}]
EVERY_POLICY: list[Literal["fail", "keep", "replace"]] = ["fail", "keep", "replace"]


@pytest.fixture
def editor(scheduler: Scheduler) -> Editor:
    return scheduler.editor


def test_a_task_is_returned_as_it_is_stored(editor: Editor) -> None:
    task = editor.add("remind", due=NOON + HOUR, payload={"user": 7}, id="trial-expiry:XYZ123")
    assert task == editor.get("trial-expiry:XYZ123")
    assert (task.action, task.due, task.payload) == ("remind", NOON + HOUR, {"user": 7})
    assert (task.status, task.attempt, task.created_at) == (Status.SCHEDULED, 0, NOON)


@pytest.mark.parametrize("payload", [0, "", [], False, {}])
def test_an_empty_payload_is_one(editor: Editor, payload: object) -> None:
    assert editor.add("remind", due=HOUR, payload=payload).payload == payload
    assert editor.add("remind", due=HOUR).payload == {}


def test_a_task_that_was_never_added_is_not_found(editor: Editor) -> None:
    with pytest.raises(TaskNotFound) as raised:
        editor.get("x")
    assert str(raised.value) == (
        "there is no task 'x': none was added by this id, or it has ended and its retention time is over"
    )
    assert raised.value.id == "x"


# When there is one already.


@pytest.mark.parametrize("status", CERTAIN)
def test_an_id_that_is_taken_is_refused(scheduler: Scheduler, status: Status) -> None:
    # Given a task of that id, waiting or as history
    there = scheduler.become(scheduler.editor.add("old", due=HOUR, id="one"), status)
    # When another is added
    with pytest.raises(TaskExists) as raised:
        scheduler.editor.add("new", due=HOUR, id="one")
    # Then it says what to do, and nothing has changed
    assert str(raised.value) == (
        "a task 'one' exists already: choose another id, or add with if_exists='keep' "
        "(leave it as it is) or if_exists='replace'"
    )
    assert raised.value.id == "one"
    assert scheduler.editor.get("one") == there


@pytest.mark.parametrize("status", CERTAIN)
def test_keeping_returns_what_is_there(scheduler: Scheduler, status: Status) -> None:
    there = scheduler.become(scheduler.editor.add("old", due=HOUR, id="one"), status)
    before = scheduler.snapshot()
    assert scheduler.editor.add("new", due=HOUR / 2, id="one", if_exists=IfExists.KEEP) == there
    assert scheduler.snapshot() == before


@pytest.mark.parametrize("status", [one for one in Status if one is not Status.BLOCKED])
def test_replacing_makes_it_the_new_one_with_nothing_of_the_old(scheduler: Scheduler, status: Status) -> None:
    # Given a task of any status
    there = scheduler.become(scheduler.editor.add("old", due=2 * HOUR, id="one", payload=1), status)
    scheduler.clock.advance(timedelta(minutes=1))
    # When it is replaced by one that is due earlier
    task = scheduler.editor.add("new", due=NOON + HOUR, id="one", if_exists="replace")
    # Then that one is there, as if it were new, and the rule is armed for it
    assert scheduler.editor.get("one") == task
    assert task == Task(
        id="one",
        lane=there.lane,
        action="new",
        due=NOON + HOUR,
        queued=NOON + HOUR,
        rev=there.rev + 1,
        created_at=NOON + timedelta(minutes=1),
    )
    assert scheduler.events.expression == SetFor(NOON + HOUR)


@pytest.mark.parametrize("if_exists", EVERY_POLICY)
def test_history_that_has_expired_counts_as_deleted_whether_it_is_or_not(
    scheduler: Scheduler, if_exists: Literal["fail", "keep", "replace"]
) -> None:
    # Given history that DynamoDB has not yet come to delete
    scheduler.become(scheduler.editor.add("old", due=HOUR, id="one"), Status.DONE)
    scheduler.clock.advance(KEEP)
    with pytest.raises(TaskNotFound):
        scheduler.editor.get("one")
    # Then its id is free
    task = scheduler.editor.add("new", due=HOUR, id="one", if_exists=if_exists)
    assert (task.action, task.rev) == ("new", 1)
    assert scheduler.editor.get("one") == task


def test_adding_again_what_is_overdue_sets_a_rule_that_missed_its_minute(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=HOUR, id="one")
    scheduler.clock.now = NOON + HOUR + GRACE + timedelta(seconds=1)
    scheduler.editor.add("act", due=HOUR, id="one", if_exists="keep")
    safe = NOON + HOUR + GRACE + timedelta(minutes=2)
    assert scheduler.events.expression == SetFor(safe)
