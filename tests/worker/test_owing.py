"""Tasks that owe a follow-up for longer, because AWS refuses what would add it."""

from datetime import timedelta

import pytest

from duebell_editor import Editor, Then
from duebell_worker import Abort, Status, Worker
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
