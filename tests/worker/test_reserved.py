"""Reserved tasks in a run: left while their transactions may come, run once confirmed, dropped in the end."""

from typing import Any
from uuid import uuid4

import pytest

from duebell import Reservation, Status
from tests.support import NOON
from tests.worker.scene import MINUTE, SECOND, Scene


@pytest.fixture
def reservation(scene: Scene) -> Reservation:
    """A reserved task that is due."""
    return scene.editor.reserve("act", due=NOON, id="a")


def commit(scene: Scene, reservation: Reservation) -> bool:
    """Confirm the task by a transaction of the user's own; tell whether that was committed."""
    return not scene.store.transact([reservation.write], token=uuid4().hex).refusals


def test_a_due_task_is_not_run_before_it_is_confirmed(scene: Scene, reservation: Reservation) -> None:
    # When the rule rings
    report = scene.worker.run()
    # Then the task is left as it is, and the rule rings again for it before its grace ends
    assert (scene.done, report.attempts) == ([], 0)
    task = scene.editor.get("a")
    assert (task.status, task.attempt, task.rev) == (Status.RESERVED, 0, 1)
    assert report.rings_at
    assert report.rings_at <= NOON + 2 * MINUTE
    # And once it is confirmed, that ring runs it, as its first attempt
    assert commit(scene, reservation)
    scene.clock.now = report.rings_at
    assert scene.worker.run().done == 1
    assert (scene.editor.get("a").attempt, scene.starts) == (1, [report.rings_at])


def test_a_transaction_of_a_moment_makes_its_task_two_seconds_late(
    scene: Scene, reservation: Reservation, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a transaction that is committed while a run waits for it
    get_many = scene.store.get_many

    def get_then_commit(keys: Any) -> Any:
        found = get_many(keys)
        monkeypatch.undo()
        assert commit(scene, reservation)
        return found

    monkeypatch.setattr(scene.store, "get_many", get_then_commit)
    # When the rule rings; then the same run runs it
    assert scene.worker.run().done == 1
    assert scene.starts == [NOON + 2 * SECOND]


def test_a_task_that_is_never_confirmed_is_dropped_when_its_grace_is_over(
    scene: Scene, reservation: Reservation
) -> None:
    # Given a transaction that takes far too long
    rings = 0
    while (at := scene.worker.run().rings_at) is not None and rings < 9:
        rings += 1
        scene.clock.now = max(scene.clock.now, at)
    # Then the rule rang a few times, and the task is gone a minute after its grace: clocks differ by as much
    assert rings <= 4
    assert NOON + 3 * MINUTE <= scene.clock.now < NOON + 5 * MINUTE
    assert not scene.store.tasks
    # And the late transaction is not committed, so that nothing is run
    assert not commit(scene, reservation)
    scene.worker.run()
    assert scene.done == []


def test_a_task_can_be_confirmed_until_its_grace_is_over_by_any_clock(
    scene: Scene, reservation: Reservation
) -> None:
    # Given a worker whose clock is a minute ahead, and a grace that is about to end by the editor's
    scene.clock.now = NOON + 2 * MINUTE + MINUTE - 4 * SECOND
    scene.worker.run()
    # Then the task can still be confirmed
    assert commit(scene, reservation)


def test_a_task_that_is_confirmed_at_the_moment_of_its_drop_is_run(
    scene: Scene, reservation: Reservation, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a reservation that has ended, and a transaction that is committed just before the run's delete
    scene.clock.now = NOON + 10 * MINUTE
    save_many = scene.store.save_many

    def commit_first(changes: Any) -> Any:
        if changes[0][1] is None:
            assert commit(scene, reservation)
        return save_many(changes)

    monkeypatch.setattr(scene.store, "save_many", commit_first)
    # When the run comes to drop it; then it is run instead
    assert scene.worker.run().done == 1
    assert scene.done == ["a"]


def test_many_reserved_tasks_are_dropped_beside_a_task_that_runs(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given tasks whose transactions failed, and one of another kind
    for number in range(30):
        scene.editor.reserve("act", due=NOON, id=f"r{number}")
    scene.editor.add("act", due=NOON, id="a")
    claim, claimed_as = scene.store.claim, set[Status]()

    def note(*key: Any, status: Status, **given: Any) -> Any:
        claimed_as.add(status)
        return claim(*key, status=status, **given)

    monkeypatch.setattr(scene.store, "claim", note)
    # When the rule rings
    report = scene.run(at=NOON + 10 * MINUTE)
    # Then all of those are gone, and none was claimed as left running
    assert (report.done, report.rings_at, scene.done) == (1, None, ["a"])
    assert claimed_as == {Status.SCHEDULED}
    assert [id for _, id in scene.store.tasks] == ["a"]
