"""Follow-ups: the tasks that are added when a task is done, or has failed for good."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from duebell import Abort, Editor, Status, Task, TaskConflict, Then, Worker
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsUnavailable
from duebell_shared.instants import render
from duebell_shared.queue.items import stored
from duebell_shared.tasks.status import History
from tests.support import NOON, Clock
from tests.worker.hooks import Hooks
from tests.worker.log_lines import Log

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


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


def refuse_follow_ups(aws: Hooks) -> Callable[[], None]:
    """Have DynamoDB throttle every write of a follow-up; what is returned ends that."""
    calls = ("dynamodb.PutItem", "dynamodb.BatchExecuteStatement")
    ends = [aws.refuse(call, "ThrottlingException", when=lambda body: "/then" in body) for call in calls]

    def mend() -> None:
        for end in ends:
            end()

    return mend


@pytest.fixture
def scene(editor: Editor, worker: Worker) -> Scene:
    return Scene(editor, worker)


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


def test_a_result_has_its_own_follow_up_and_the_action_says_who_hears_of_failures_unless_the_task_does(
    scene: Scene,
) -> None:
    # Given tasks that are done and name an action for failures, and one that names one for success as well
    scene.editor.add("guarded", due=NOON, id="good")
    scene.editor.add("guarded", due=NOON, id="both", on_failed="act", then=Then("hear"))
    scene.run()
    assert scene.ids == ["both/then"]

    # When others fail, then those are told of them that the tasks name, or else the action
    scene.error = Abort("never")
    scene.editor.add("act", due=NOON, id="bad", then=Then("hear"))
    scene.editor.add("guarded", due=NOON, id="default")
    scene.editor.add("guarded", due=NOON, id="own", on_failed="act")
    scene.editor.add("guarded", due=NOON, id="none", on_failed="")
    scene.run()
    assert scene.ids == ["both/then", "default/failed"]
    assert scene.editor.get("own/failed").action == "act"
    assert [task.id for task in scene.editor.find("none").tasks] == ["none"]


def test_an_action_that_hears_of_failures_is_not_told_of_its_own(editor: Editor, worker: Worker) -> None:
    # Given an action whose failures it would be told of itself
    @worker.action("hear", attempts=1, on_failed="hear")
    def hear() -> None:
        raise ValueError("deaf")

    editor.add("hear", due=NOON, id="a")
    worker.run()

    # Then it ends with the first
    assert sorted(task.id for task in editor.find("a").tasks) == ["a", "a/failed"]
    assert editor.get("a/failed").status is Status.FAILED


def test_a_task_that_is_retried_and_fails_again_is_told_again(scene: Scene, clock: Clock) -> None:
    scene.error = ValueError("no")
    scene.editor.add("guarded", due=NOON, id="a")
    scene.run()
    clock.advance(MINUTE)
    scene.editor.retry("a")
    scene.run()

    assert scene.ids == ["a/failed", "a/failed@2026-11-21T12:01:00.000Z"]


def test_the_failed_task_is_told_without_a_payload_that_is_too_large(scene: Scene) -> None:
    scene.error = ValueError("no")
    scene.editor.add("guarded", due=NOON, id="a", payload={"text": "x" * (350 * 1024 - 20)})
    scene.run()

    [(_, told)] = scene.followed
    assert "payload" not in told
    assert told["error"]["message"] == "no"


def test_each_occurrence_has_its_follow_up(scene: Scene, clock: Clock) -> None:
    # Given a recurring task that is done, then fails, then is done
    scene.editor.add("guarded", schedule="rate(1 hour)", start=NOON, id="r", then=Then("hear", {"n": 1}))
    for error in (None, Abort("never"), None):
        clock.advance(HOUR)
        scene.error = error
        scene.run()

    # Then each has its own, and the task goes on
    assert scene.ids == [
        "r/then@2026-11-21T13:00:00.000Z",
        "r/failed@2026-11-21T14:00:00.000Z",
        "r/then@2026-11-21T15:00:00.000Z",
    ]
    task = scene.editor.get("r")
    assert (task.status, task.due, task.queued) == (Status.SCHEDULED, NOON + 4 * HOUR, NOON + 4 * HOUR)
    assert task.runs == 3
    assert scene.worker.backend.armer.read().target == NOON + 4 * HOUR


@pytest.mark.parametrize("recurs", [False, True], ids=["once", "recurring"])
def test_a_follow_up_that_is_not_added_is_owed(scene: Scene, clock: Clock, aws: Hooks, recurs: bool) -> None:
    # Given follow-ups that AWS refuses for now
    when: dict[str, Any] = {"schedule": "rate(1 hour)", "start": NOON} if recurs else {"due": NOON}
    scene.editor.add("act", id="a", then=Then("hear"), **when)
    if recurs:
        clock.advance(HOUR)
    now = clock()
    mend = refuse_follow_ups(aws)
    scene.run()

    # Then the task owes it, is in the queue, and cannot be changed
    assert scene.worker.backend.armer.read().target == now + MINUTE
    ended = scene.editor.get("a")
    assert ended.owes
    assert (ended.status, ended.can) == (Status.DONE, ())
    for change in (scene.editor.cancel, scene.editor.pause, scene.editor.run_now, scene.editor.retry):
        with pytest.raises(TaskConflict, match="follow-up is being added"):
            change("a")
    with pytest.raises(TaskConflict, match="follow-up is being added"):
        scene.editor.add("act", due=NOON, id="a", if_exists="replace")

    # And a later run adds it
    mend()
    clock.advance(MINUTE)
    scene.run()
    id = "a/then@2026-11-21T13:00:00.000Z" if recurs else "a/then"
    assert scene.ids == [id]
    task = scene.editor.get("a")
    assert task.owes is None
    assert task.queued == (now + HOUR if recurs else None)


def test_a_task_that_owes_is_exported_once_and_pays_elsewhere(
    scene: Scene, clock: Clock, aws: Hooks, backend: Backend
) -> None:
    scene.editor.add("act", due=NOON, id="a", then=Then("hear"))
    mend = refuse_follow_ups(aws)
    scene.run()
    lines = list(scene.editor.export_tasks())
    mend()
    task = scene.editor.get("a")
    assert backend.store.save(task, None)

    assert len(lines) == 1
    assert scene.editor.import_tasks(lines).written == 1
    clock.advance(MINUTE)
    scene.run()
    assert scene.ids == ["a/then"]
    assert scene.editor.get("a").expires_at


def test_a_task_that_is_not_kept_is_deleted_once_its_follow_up_is_there(
    scene: Scene, backend: Backend
) -> None:
    settings = msgspec.structs.replace(backend.settings, history=History.NONE)
    scene.worker._given_backend = msgspec.structs.replace(backend, settings=settings)
    scene.editor.add("act", due=NOON, id="a", then=Then("hear"))
    scene.run()

    assert scene.ids == ["a/then"]
    assert not scene.editor.find("a").tasks


@pytest.mark.parametrize("is_readable", [True, False])
@pytest.mark.parametrize("count", [1, 2])
def test_a_follow_up_whose_id_is_taken_has_another_or_its_task_says_that_there_is_none(
    scene: Scene, backend: Backend, log: Log, count: int, is_readable: bool
) -> None:
    # Given one or both ids of a follow-up that are the user's, or hold items which someone has edited
    ids = ["a/then", "a/then@2026-11-21T12:00:00.000Z"]
    for id in ids[:count]:
        there = scene.editor.add("act", due=NOON + HOUR, id=id)
        if not is_readable:
            edit(backend, there.lane, id, due="tomorrow")
    scene.editor.add("act", due=NOON, id="a", then=Then("hear"))

    # When the task is done
    scene.run()

    # Then it has its follow-up under the other id, or says why there is none
    task = scene.editor.get("a")
    assert (task.status, task.owes, task.queued) == (Status.DONE, None, None)
    assert scene.ids == ids[count:]
    assert (ids[-1] in (task.follow_up_error or "")) == (count == 2)
    assert [line["id"] for line in log.lines("follow_up_refused")] == ["a"][: count - 1]


def edit(backend: Backend, lane: int, id: str, *, due: str) -> None:
    """Write this into the item behind duebell's back."""
    store: Any = backend.store
    store._client.update_item(
        TableName=store.name,
        Key=stored(lane=lane, id=id),
        UpdateExpression="SET #due = :due",
        ExpressionAttributeNames={"#due": "due"},
        ExpressionAttributeValues={":due": {"S": due}},
    )


def test_a_follow_up_that_was_changed_meanwhile_is_not_added_again(
    scene: Scene, clock: Clock, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a task whose follow-up was added, when AWS refuses the write after that
    scene.editor.add("act", due=NOON, id="a", then=Then("hear", after=HOUR))
    save_many = backend.store.save_many

    def refused(changes: Sequence[Any]) -> Sequence[Any]:
        is_second = any(old.owes for old, _ in changes)
        return [AwsUnavailable("as told")] * len(changes) if is_second else save_many(changes)

    with monkeypatch.context() as patch:
        patch.setattr(backend.store, "save_many", refused)
        scene.run()
    assert scene.editor.get("a").owes

    # When it gets another action before a run writes the task again
    scene.editor.update("a/then", action="act")
    clock.advance(MINUTE)
    scene.run()

    # Then there is no second one
    assert [task.id for task in scene.editor.find("a/").tasks] == ["a/then"]
    assert scene.editor.get("a").owes is None


def test_the_reason_of_one_occurrence_is_not_that_of_the_next(scene: Scene, clock: Clock, aws: Hooks) -> None:
    # Given a recurring task whose first follow-up can never be added
    scene.editor.add("act", id="r", schedule="rate(1 hour)", start=NOON, then=Then("hear"))
    clock.advance(HOUR)
    scene.editor.add("act", id=f"r/then@{render(clock.now)}", due=NOON + 9 * HOUR)
    scene.run()
    first = scene.editor.get("r").follow_up_error
    assert first

    # When the next is owed for longer
    clock.advance(HOUR)
    refuse_follow_ups(aws)
    scene.run()

    # Then it does not say why the first was refused
    task = scene.editor.get("r")
    assert task.owes
    assert task.follow_up_error is None
