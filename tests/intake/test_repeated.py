"""A list that changes one task several times, and comes again."""

from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, Worker
from duebell_editor.intake import Intake
from duebell_editor.intake.effects import DoneChanges
from duebell_shared.backend import Backend
from duebell_shared.tasks.task import MAX_WITHOUT, IntakeMark
from tests.intake.conftest import Queues, again, record
from tests.support import NOON, Clock

HOUR = timedelta(hours=1)

MOVE = {"do": "move", "id": "a", "in": 600}
CANCEL = {"do": "cancel", "id": "a"}
NOWHERE = {"do": "cancel", "id": "nowhere"}


def update(payload: object, id: str = "a") -> dict[str, Any]:
    return {"do": "update", "id": id, "payload": payload}


@pytest.mark.moto
@pytest.mark.parametrize("last", [CANCEL, MOVE, update(2)], ids=["cancel", "move", "update"])
def test_a_list_that_has_taken_effect_is_done_when_it_comes_again(
    intake: Intake, editor: Editor, queues: Queues, last: dict[str, Any]
) -> None:
    editor.add("remind", due=HOUR, id="a")
    changes = [{**MOVE, "in": 900}, update(1), last]
    assert again(intake.take([record(changes)])) == []
    after = editor.get("a")
    # When SQS delivers it once more, for the last time
    assert again(intake.take([record(changes, received=10)])) == []
    # Then nothing has changed, and nothing is a dead letter
    assert editor.get("a") == after
    assert after.changed_by == "intake m-1"
    assert queues.dead() == []


@pytest.mark.moto
def test_two_changes_that_come_twice_leave_the_next_occurrence_alone(
    intake: Intake, editor: Editor, backend: Backend, clock: Clock
) -> None:
    worker = Worker(backend=backend)
    worker.action("report")(lambda: None)
    editor.add("report", schedule="rate(1 day)", start=NOON + HOUR, id="a")
    changes = [MOVE, update({})]
    assert again(intake.take([record(changes)])) == []
    clock.advance(2 * HOUR)
    assert worker.run().done == 1
    due = editor.get("a").due
    assert again(intake.take([record(changes)])) == []
    assert editor.get("a").due == due > clock.now


@pytest.mark.moto
def test_a_wrong_change_among_right_ones_is_told_when_its_list_is_done(
    intake: Intake, editor: Editor, backend: Backend, queues: Queues
) -> None:
    # Given a change that the worker's action refuses, and one that waits for its task
    def remind(*, user: int) -> None: ...

    worker = Worker(backend=backend)
    worker.action("remind")(remind)
    worker.register()
    editor.add("remind", due=HOUR, id="a", payload={"user": 1})
    changes = [update({"user": 2}), update({"user": "anna"}), CANCEL, NOWHERE]
    assert again(intake.take([record(changes)])) == ["m-1"]
    assert queues.dead() == []
    # When the list is given up
    assert again(intake.take([record(changes, received=10)])) == []
    # Then what was refused is a dead letter, and what took effect is none
    assert {told["duebell-place"] for _, told in queues.dead()} == {"1", "3"}
    assert editor.get("a").payload == {"user": 2}


@pytest.mark.moto
def test_the_later_change_holds_when_an_earlier_one_is_made_after_it(
    intake: Intake, editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given a task that runs: it can be moved, and not updated
    worker = Worker(backend=backend)
    both = [
        {**update(1), "due": "2027-01-01T00:00:00Z"},
        {"do": "move", "id": "a", "due": "2027-02-02T00:00:00Z"},
    ]

    @worker.action("remind")
    def remind() -> None:
        assert again(intake.take([record(both)])) == ["m-1"]

    editor.add("remind", due=HOUR, id="a")
    clock.advance(HOUR)
    worker.run()
    # When the list comes again and the update is made
    assert again(intake.take([record(both)])) == []
    # Then the task is due when the move says, which was sent after it
    task = editor.get("a")
    assert (task.payload, task.due.month, task.changed_by) == (1, 2, "intake m-1")


def marks_of(source: str, *places: int) -> list[IntakeMark]:
    return [IntakeMark(source=source, place=place) for place in places]


@pytest.mark.parametrize("missing", [MAX_WITHOUT, MAX_WITHOUT + 1])
def test_changes_that_are_too_many_to_name_are_made_again(missing: int) -> None:
    # Given a list of which many changes did not take effect, and then one and the last did
    marks = marks_of("m", *range(missing + 2))
    made = DoneChanges(marks)
    made.add(marks[0])
    # When their mark is read
    found = DoneChanges(marks)
    found.recall(made.mark(marks[-1]))
    # Then the last one is known, and the first as long as all that are missing are named
    known = [mark.place for mark in marks if mark in found]
    assert known == ([0, missing + 1] if missing == MAX_WITHOUT else [missing + 1])
