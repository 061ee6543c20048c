"""A list that changes one task several times, and comes again."""

from datetime import timedelta
from typing import Any

import pytest

from duebell_editor import Editor
from duebell_editor.intake import Intake
from duebell_editor.intake.marks import Made, Mark
from duebell_shared.backend import Backend
from duebell_worker import Worker
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
    assert after.changed_by == "intake m-1-2"
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
    assert editor.get("a").changed_by == "intake m-1-2 without 1"
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
    assert editor.get("a").changed_by == "intake m-1-1 without 0"
    # When the list comes again and the update is made
    assert again(intake.take([record(both)])) == []
    # Then the task is due when the move says, which was sent after it
    task = editor.get("a")
    assert (task.payload, task.due.month, task.changed_by) == (1, 2, "intake m-1-1")


def test_what_took_effect_is_read_from_the_last_author() -> None:
    marks = [Mark("m", place) for place in (0, 2, 3, 7)]

    def made(changed_by: str | None) -> list[int | None]:
        found = Made(marks)
        found.recall(changed_by)
        return [mark.place for mark in marks if mark in found]

    assert made("intake m-0") == [0]
    assert made("intake m-3") == [0, 2, 3]
    assert made("intake m-7 without 0,3") == [2, 7]
    assert made("intake m-7 alone") == [7]
    for other in (None, "anna", "intake m", "intake m2-7", "intake m-7-1", "intake m-7 without ", "m-7"):
        assert made(other) == []


def test_changes_that_are_too_many_to_name_are_made_again() -> None:
    # Given a list of which many changes did not take effect
    marks = [Mark("0" * 36, place) for place in range(60)]
    made = Made(marks)
    # When the last one does
    author = made.author(marks[-1])
    # Then that one alone is known
    assert author.endswith("-59 alone")
    made.recall(author)
    assert [mark.place for mark in marks if mark in made] == [59]
    # And as long as they can be named they are
    few = Made(marks[:20])
    assert few.author(marks[19]).endswith(",17,18")
    assert len(few.author(marks[19])) <= 128


def test_two_deliveries_in_one_batch_are_one() -> None:
    marks = [Mark("m", place) for place in (0, 1, 0, 1)]
    assert Made(marks).author(marks[1]) == "intake m-1 without 0"


def test_a_message_of_one_change_is_known_by_its_id_however_long_that_is() -> None:
    for id in ("m", "x" * 500, "a\nb"):
        mark = Mark(id)
        made = Made([mark])
        made.recall(made.author(mark))
        assert mark in made
        assert mark not in Made([mark])
