"""Tasks that owe a follow-up for longer, because AWS refuses what would add it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from duebell import Abort, Editor, Status, Then, Worker
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsUnavailable
from duebell_shared.instants import render
from duebell_shared.queue.items import stored
from tests.support import NOON, Clock
from tests.worker.hooks import Hooks
from tests.worker.test_follow_ups import Scene, refuse_follow_ups

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def scene(editor: Editor, worker: Worker) -> Scene:
    return Scene(editor, worker)


def listed(scene: Scene, status: str, prefix: str = "") -> list[str]:
    return sorted(task.id for task in scene.editor.list(status=status, prefix=prefix).tasks)


@pytest.mark.parametrize("prefix", ["", "r"])
def test_a_recurring_task_that_owes_a_follow_up_is_listed(
    scene: Scene, clock: Clock, aws: Hooks, prefix: str
) -> None:
    # Given a recurring task whose occurrence is done, and another task that is, both owing
    scene.editor.add("act", id="r", schedule="rate(1 hour)", start=NOON, then=Then("hear"))
    scene.editor.add("act", id="ra", due=NOON, then=Then("hear"))
    clock.advance(HOUR)
    refuse_follow_ups(aws)
    scene.run()
    assert scene.editor.get("r").owes

    # Then each is listed once: the one that goes on with those that wait
    assert listed(scene, "scheduled", prefix) == ["r"]
    assert listed(scene, "done", prefix) == ["ra"]
    assert not listed(scene, "failing", prefix)


@pytest.mark.parametrize("prefix", ["", "r"])
def test_a_failing_task_that_owes_a_follow_up_is_listed(
    scene: Scene, clock: Clock, aws: Hooks, prefix: str
) -> None:
    scene.error = Abort("never")
    scene.editor.add("guarded", id="r", schedule="rate(1 hour)", start=NOON)
    clock.advance(HOUR)
    for call in ("dynamodb.PutItem", "dynamodb.BatchExecuteStatement"):
        aws.refuse(call, "ThrottlingException", when=lambda body: "/failed" in body)
    scene.run()
    assert scene.editor.get("r").owes

    assert listed(scene, "failing", prefix) == ["r"]
    assert listed(scene, "scheduled", prefix) == ["r"]
    assert not listed(scene, "failed", prefix)


def test_what_is_behind_a_task_that_owes_for_long_runs_in_time(
    scene: Scene, clock: Clock, aws: Hooks
) -> None:
    # Given two tasks at the head of a lane that owe, and one behind them
    ids = [id for id in (f"t{n}" for n in range(40)) if scene.editor.queue.lane_of(id) == 0][:3]
    for id in ids[:2]:
        scene.editor.add("act", id=id, due=NOON, then=Then("hear"))
    scene.editor.add("act", id=ids[2], due=NOON + HOUR)
    mend = refuse_follow_ups(aws)
    for _ in range(3):
        scene.run()
        clock.advance(MINUTE)
    clock.advance(HOUR)

    # When it is due
    scene.run()

    # Then it is done, and the two still owe, until they can pay
    assert scene.editor.get(ids[2]).status is Status.DONE
    assert all(scene.editor.get(id).owes for id in ids[:2])
    mend()
    clock.advance(MINUTE)
    scene.run()
    assert sorted(scene.ids) == sorted(f"{id}/then" for id in ids[:2])


@pytest.mark.parametrize("count", [1, 2])
def test_an_id_that_holds_what_cannot_be_read_is_taken(
    scene: Scene, clock: Clock, backend: Backend, count: int
) -> None:
    # Given one or both ids of a follow-up that hold items which someone has edited
    ids = ["a/then", "a/then@2026-11-21T12:00:00.000Z"]
    for id in ids[:count]:
        there = scene.editor.add("act", due=NOON + HOUR, id=id)
        edit(backend, there.lane, id, due="tomorrow")
    scene.editor.add("act", due=NOON, id="a", then=Then("hear"))

    # When the task is done
    scene.run()

    # Then it has its follow-up under the other id, or says why there is none
    task = scene.editor.get("a")
    assert (task.owes, task.queued) == (None, None)
    assert scene.ids == ids[count:]
    assert bool(task.follow_up_error) == (count == 2)


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


def test_a_task_that_owes_says_why_the_last_try_failed(scene: Scene, clock: Clock, aws: Hooks) -> None:
    # Given a follow-up that DynamoDB throttles, twice
    scene.editor.add("act", id="a", due=NOON, then=Then("hear"))
    mend = refuse_follow_ups(aws)
    scene.run()

    # Then the task says so, with one write for the same reason
    first = scene.editor.get("a")
    assert first.owes
    assert "ThrottlingException" in (first.follow_up_error or "")
    clock.advance(MINUTE)
    scene.run()
    assert scene.editor.get("a") == first

    # When it can be added, then nothing is left of that
    mend()
    clock.advance(MINUTE)
    scene.run()
    after = scene.editor.get("a")
    assert (after.owes, after.follow_up_error) == (None, None)
    assert scene.ids == ["a/then"]


def test_the_reason_of_one_occurrence_is_not_that_of_the_next(scene: Scene, clock: Clock, aws: Hooks) -> None:
    # Given a recurring task whose first follow-up can never be added
    scene.editor.add("act", id="r", schedule="rate(1 hour)", start=NOON, then=Then("hear"))
    clock.advance(HOUR)
    scene.editor.add("act", id=f"r/then@{render(clock.now)}", due=NOON + 9 * HOUR)
    scene.run()
    first = scene.editor.get("r").follow_up_error
    assert first

    # When the next is owed for longer, and why that is could not be written
    clock.advance(HOUR)
    refuse_follow_ups(aws)
    aws.refuse("dynamodb.UpdateItem", "InternalServerError", when=lambda body: "ThrottlingException" in body)
    scene.run()

    # Then it does not say why the first was refused
    task = scene.editor.get("r")
    assert task.owes
    assert task.follow_up_error is None
