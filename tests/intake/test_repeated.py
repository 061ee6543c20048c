"""A list that changes one task several times, and comes again."""

from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, TaskConflict
from tests.intake.conftest import Inbox, record
from tests.intake.test_batches import failing
from tests.support import NOON

HOUR = timedelta(hours=1)

MOVE = {"do": "move", "id": "a", "in": 600}
CANCEL = {"do": "cancel", "id": "a"}


def update(payload: object) -> dict[str, Any]:
    return {"do": "update", "id": "a", "payload": payload}


@pytest.mark.parametrize("last", [CANCEL, MOVE, update(2)], ids=["cancel", "move", "update"])
def test_a_list_that_has_taken_effect_is_done_when_it_comes_again(inbox: Inbox, last: dict[str, Any]) -> None:
    inbox.editor.add("remind", due=HOUR, id="a")
    changes = [{**MOVE, "in": 900}, update(1), last]
    inbox.take(record(changes))
    after = inbox.editor.get("a")
    # When SQS delivers it once more, for the last time
    inbox.take(record(changes, received=10))
    # Then nothing has changed, and nothing is a dead letter
    assert inbox.editor.get("a") == after
    assert after.changed_by == "intake m-1"
    assert inbox.wrong() == {}


@pytest.mark.parametrize("changes", [MOVE, [MOVE, update({})]], ids=["one", "two"])
def test_a_move_that_comes_twice_leaves_the_next_occurrence_alone(inbox: Inbox, changes: object) -> None:
    # Given a recurring task whose occurrence was moved by a message, and has run since
    inbox.worker.action("report")(lambda: None)
    inbox.editor.add("report", schedule="rate(1 day)", start=NOON + HOUR, id="a")
    inbox.take(record(changes))
    inbox.clock.advance(2 * HOUR)
    assert inbox.worker.run().done == 1
    due = inbox.editor.get("a").due
    # When the message comes once more, then the next occurrence is where it was
    inbox.take(record(changes))
    assert inbox.editor.get("a").due == due > inbox.clock.now


def test_a_wrong_change_among_right_ones_is_told_when_its_list_is_done(inbox: Inbox) -> None:
    # Given a change that the worker's action refuses, and one that waits for its task
    def remind(*, user: int) -> None: ...

    inbox.declare("remind", remind)
    inbox.editor.add("remind", due=HOUR, id="a", payload={"user": 1})
    changes = [update({"user": 2}), update({"user": "anna"}), CANCEL, {**CANCEL, "id": "nowhere"}]
    assert inbox.again(record(changes)) == ["m-1"]
    assert inbox.wrong() == {}
    # When the list is given up
    inbox.take(record(changes, received=10))
    # Then what was refused is a dead letter, as is the later change of its task; what took effect is none
    assert set(inbox.wrong()) == {"1", "2", "3"}
    assert inbox.editor.get("a").payload == {"user": 2}


def test_a_later_change_waits_for_an_earlier_one_of_its_list(inbox: Inbox) -> None:
    inbox.editor.add("remind", due=HOUR, id="a")
    both = [update(1), MOVE]
    with failing(Editor, "update", TaskConflict("it runs")):
        assert inbox.again(record(both)) == ["m-1"]
    assert inbox.editor.get("a").due == NOON + HOUR
    # When the list comes again, then both are made
    inbox.take(record(both))
    task = inbox.editor.get("a")
    assert (task.payload, task.due, task.changed_by) == (1, NOON + HOUR / 6, "intake m-1")
