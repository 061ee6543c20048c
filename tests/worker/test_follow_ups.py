"""Follow-ups: the tasks that are added when a task is done, or has failed for good."""

from datetime import timedelta
from typing import Any

import pytest

from duebell_editor import Editor, Then
from duebell_worker import Status, Task, Worker
from tests.support import NOON, Clock

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


class Scene:
    """An editor, a worker with an action that can fail, one that follows, and one that hears of failures.

    followed  what the follow-up got: the id of its task, and its payload
    """

    def __init__(self, editor: Editor, worker: Worker) -> None:
        self.editor = editor
        self.worker = worker
        self.followed: list[tuple[str, Any]] = []
        self.error: Exception | None = None
        worker.action("act", attempts=2)(self._act)
        worker.action("guarded", attempts=1, on_failed="hear")(self._act)
        worker.action("hear", attempts=1)(self._hear)

    def _act(self, _: object, task: Task) -> None:
        if self.error:
            raise self.error

    def _hear(self, payload: dict[str, Any], task: Task) -> None:
        self.followed.append((task.id, payload))

    @property
    def ids(self) -> list[str]:
        return [id for id, _ in self.followed]

    def run(self) -> None:
        self.worker.run()


@pytest.fixture
def scene(editor: Editor, worker: Worker) -> Scene:
    return Scene(editor, worker)


def test_a_task_that_is_done_has_its_follow_up(scene: Scene) -> None:
    # Given a task with a follow-up an hour later
    scene.editor.add("act", due=NOON, id="a", then=Then("hear", {"order": 42}, after=HOUR))

    # When it has run
    scene.run()

    # Then it is done, and the follow-up waits
    assert scene.editor.get("a").status is Status.DONE
    follow_up = scene.editor.get("a/then")
    assert (follow_up.status, follow_up.due) == (Status.SCHEDULED, NOON + HOUR)
    assert follow_up.payload == {"order": 42}


def test_a_task_that_failed_for_good_is_given_to_on_failed(scene: Scene, clock: Clock) -> None:
    # Given a task whose two attempts fail
    scene.error = ValueError("no such sale")
    scene.editor.add("act", due=NOON, id="a", payload={"item": 7}, on_failed="hear")

    # When both were made
    scene.run()
    assert not scene.editor.find("a/").tasks
    clock.advance(HOUR)
    scene.run()

    # Then the other action has run, in the same run, with the failed task as its payload
    [(id, told)] = scene.followed
    assert id == "a/failed"
    assert told.pop("failed_at") == "2026-11-21T13:00:00.000Z"
    assert told == {
        "id": "a",
        "action": "act",
        "due": "2026-11-21T12:00:00.000Z",
        "attempts": 2,
        "error": {"type": "ValueError", "message": "no such sale"},
        "payload": {"item": 7},
    }
    assert scene.editor.get("a").status is Status.FAILED
    assert scene.editor.get("a/failed").status is Status.DONE
