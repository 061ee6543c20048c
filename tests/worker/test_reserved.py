"""Reserved tasks in a run: left while their transactions may come, run once confirmed, dropped in the end."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from duebell import Editor, Reservation, Status, Task, Worker
from duebell_shared.backend import Backend
from tests.support import NOON, Clock

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class Scene:
    """An editor, a worker with one action, and a user with transactions.

    ran  what ran: id, attempt and lateness in seconds
    """

    def __init__(self, editor: Editor, worker: Worker, backend: Backend, clock: Clock) -> None:
        self.editor = editor
        self.worker = worker
        self.store = backend.store
        self.clock = clock
        self.ran: list[tuple[str, int, int]] = []
        worker.action("act")(self._act)

    def _act(self, _: object, task: Task) -> None:
        self.ran.append((task.id, task.attempt, (task.lateness_ms or 0) // 1000))

    def reserve(self, id: str = "a", *, due: datetime = NOON, **more: Any) -> Reservation:
        return self.editor.reserve("act", due=due, id=id, **more)

    def commit(self, reservation: Reservation) -> bool:
        """Confirm it by a transaction of the user's own; tell whether that was committed."""
        write = reservation.write
        return not self.store.transact([write], token=uuid4().hex).refusals

    def is_stored(self, id: str = "a") -> bool:
        """Whether it is stored at all, even if it counts as expired."""
        return self.store.get(self.editor.queue.lane_of(id), id) is not None


@pytest.fixture
def scene(editor: Editor, worker: Worker, backend: Backend, clock: Clock) -> Scene:
    return Scene(editor, worker, backend, clock)


def test_a_due_task_is_not_run_before_it_is_confirmed(scene: Scene) -> None:
    # Given a task that is due, and not confirmed
    reservation = scene.reserve()

    # When the rule rings
    report = scene.worker.run()

    # Then it is left as it is, and the rule rings again for it before its grace ends
    assert (scene.ran, report.attempts) == ([], 0)
    task = scene.editor.get("a")
    assert (task.status, task.attempt, task.rev) == (Status.RESERVED, 0, 1)
    assert report.rings_at
    assert report.rings_at <= NOON + 2 * MINUTE

    # And once it is confirmed, that ring runs it, as its first attempt
    assert scene.commit(reservation)
    scene.clock.now = report.rings_at
    assert scene.worker.run().done == 1
    assert scene.ran == [("a", 1, (report.rings_at - NOON).seconds)]


def test_a_transaction_of_a_moment_makes_its_task_two_seconds_late(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a due task whose transaction is committed while a run waits for it
    reservation = scene.reserve()
    get_many, commits = scene.store.get_many, [scene.commit]

    def get_then_commit(keys: Any) -> Any:
        found = get_many(keys)
        if commits:
            assert commits.pop()(reservation)
        return found

    monkeypatch.setattr(scene.store, "get_many", get_then_commit)

    # When the rule rings; then the same run runs it
    assert scene.worker.run().done == 1
    assert scene.ran == [("a", 1, 2)]


def test_a_task_that_is_never_confirmed_is_dropped_when_its_grace_is_over(scene: Scene) -> None:
    # Given a reserved task that is due, and a transaction that takes far too long
    reservation = scene.reserve()
    rings: list[datetime] = []
    while (at := scene.worker.run().rings_at) is not None and len(rings) < 9:
        rings.append(at)
        scene.clock.now = max(scene.clock.now, at)

    # Then the rule rang a few times, and the task is gone a minute after its grace: clocks differ by as much
    assert len(rings) <= 4
    assert NOON + 3 * MINUTE <= scene.clock.now < NOON + 5 * MINUTE
    assert not scene.is_stored()

    # And the late transaction is not committed, so that nothing is run
    assert not scene.commit(reservation)
    scene.worker.run()
    assert scene.ran == []


def test_a_task_can_be_confirmed_until_its_grace_is_over_by_any_clock(scene: Scene) -> None:
    # Given a worker whose clock is a minute ahead, and a grace that is about to end by the editor's
    reservation = scene.reserve()
    scene.clock.now = NOON + 2 * MINUTE + MINUTE - 4 * SECOND
    scene.worker.run()

    # Then the task can still be confirmed
    assert scene.commit(reservation)


def test_a_task_that_is_confirmed_at_the_moment_of_its_drop_is_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a reservation that has ended, and a transaction that is committed just before the run's delete
    reservation = scene.reserve()
    scene.clock.now = NOON + 10 * MINUTE
    save_many = scene.store.save_many

    def commit_first(changes: Any) -> Any:
        if changes[0][1] is None:
            assert scene.commit(reservation)
        return save_many(changes)

    monkeypatch.setattr(scene.store, "save_many", commit_first)

    # When the run comes to drop it; then it is run instead
    assert scene.worker.run().done == 1
    assert [id for id, _, _ in scene.ran] == ["a"]


def test_many_reserved_tasks_are_read_and_dropped_together(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given tasks whose transactions failed, and one of another kind
    for number in range(30):
        scene.reserve(f"r{number}")
    scene.editor.add("act", due=NOON, id="a")
    scene.clock.now = NOON + 10 * MINUTE
    claimed_as: set[Status] = set()
    claim_many = scene.store.claim_many

    def claim(keys: Any, *, status: Status, **given: Any) -> list[Any]:
        claimed_as.add(status)
        return claim_many(keys, status=status, **given)

    monkeypatch.setattr(scene.store, "claim_many", claim)

    # When the rule rings
    report = scene.worker.run()

    # Then all of those are gone, none was claimed as left running, and the other task is done
    assert (report.done, report.rings_at) == (1, None)
    assert claimed_as == {Status.SCHEDULED}
    assert [id for id, _, _ in scene.ran] == ["a"]
    assert not any(scene.is_stored(f"r{number}") for number in range(30))
