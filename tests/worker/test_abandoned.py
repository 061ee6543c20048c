"""Tasks that a run left running when it died: run again by the next, one at a time, as far as attempts go."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from duebell import Editor, ProblemKind, Status, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.errors import AwsUnavailable
from tests.support import NOON, Clock
from tests.worker.other_runs import die_while_running
from tests.worker.stage import Stage


def story_of(worker: Worker, stage: Stage, *, seconds: float) -> list[str]:
    """The begins and ends of actions that take so long."""
    story: list[str] = []

    @worker.action("act")
    def act(_: object, task: Task) -> None:
        story.append(f"{task.id} begins")
        stage.sleep(seconds)
        story.append(f"{task.id} ends")

    return story


def test_tasks_left_running_are_run_after_all_others_and_one_at_a_time(
    editor: Editor, staged: Worker, backend: Backend, stage: Stage, clock: Clock
) -> None:
    # Given a run that died with three tasks under way, and two more that are due
    story = story_of(staged, stage, seconds=10)
    for id in ("left-1", "left-2", "left-3"):
        editor.add("act", due=NOON, id=id)
    die_while_running(backend, clock, "left-1", "left-2", "left-3")
    editor.add("act", due=NOON, id="new-1")
    editor.add("act", due=NOON, id="new-2")

    # When the next run comes
    report = staged.run()

    # Then the others go first, side by side, and those that were left follow one by one
    assert report.done == 5
    assert sorted(story[:2]) == ["new-1 begins", "new-2 begins"]
    assert sorted(story[2:4]) == ["new-1 ends", "new-2 ends"]
    for begins, ends in zip(story[4::2], story[5::2], strict=True):
        assert begins.split()[0] == ends.split()[0]
    assert sorted(story[4::2]) == ["left-1 begins", "left-2 begins", "left-3 begins"]


def test_what_comes_due_does_not_wait_for_a_task_left_running_that_takes_long(
    editor: Editor, staged: Worker, backend: Backend, stage: Stage, clock: Clock
) -> None:
    # Given tasks that were left running, of which one takes long, and one that comes due meanwhile
    began: dict[str, datetime] = {}

    @staged.action("act")
    def act(payload: int, task: Task) -> None:
        began[task.id] = clock.now
        stage.sleep(payload)

    editor.add("act", due=NOON, id="left-1", payload=600)
    editor.add("act", due=NOON, id="left-2", payload=10)
    die_while_running(backend, clock, "left-1", "left-2")
    due = clock.now + timedelta(minutes=1)
    editor.add("act", due=due, id="new", payload=10)

    # When the next run comes
    report = staged.run(time_left=timedelta(minutes=15))

    # Then that one is done at its time, beside the one that takes long
    assert report.done == 3
    assert due <= began["new"] <= due + timedelta(seconds=5)
    assert sorted(began, key=began.__getitem__) in (["left-1", "new", "left-2"], ["left-2", "left-1", "new"])


def test_a_task_that_ends_its_process_each_time_fails_when_attempts_are_used_up(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock
) -> None:
    # Given a task that ended the process of all its runs
    called = []
    worker.action("kill", attempts=3)(lambda: called.append("kill"))
    worker.action("act")(lambda: called.append("act"))
    editor.add("kill", due=NOON, id="a")
    for number in range(3):
        die_while_running(backend, clock, "a", run=f"dead-{number}", last=3)

    # When the next run comes, with a neighbour due
    editor.add("act", due=NOON)
    report = worker.run()

    # Then it is not tried a fourth time, and says what happened
    assert called == ["act"]
    assert (report.failed, report.done) == (1, 1)
    task = editor.get("a")
    assert (task.status, task.attempt) == (Status.FAILED, 3)
    assert task.failure is not None
    assert task.failure.type == "WorkerDied"
    assert "all 3 attempts are used up" in task.failure.message
    assert [one.attempt for one in task.failures if str(one.error).startswith("WorkerDied")] == [1, 2, 3]
    assert [problem.kind for problem in editor.status().problems] == [ProblemKind.FAILED_TASKS]


@pytest.mark.parametrize(("attempts", "deaths"), [(1, 1), (3, 1), (3, 3)])
def test_a_last_attempt_that_was_claimed_and_never_begun_is_made(  # noqa: PLR0917
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, attempts: int, deaths: int
) -> None:
    # Given tasks that runs claimed together, which died before they called any action
    called: list[tuple[str, int]] = []
    worker.action("act", attempts=attempts)(lambda _, task: called.append((task.id, task.attempt)))
    ids = [f"task-{number}" for number in range(5)]
    for id in ids:
        editor.add("act", due=NOON, id=id)
    for number in range(deaths):
        die_while_running(backend, clock, *ids, run=f"dead-{number}")
    # When the next run comes
    report = worker.run()
    # Then each is done, at its last attempt at the latest
    assert (report.done, report.failed) == (5, 0)
    assert sorted(called) == [(id, min(deaths + 1, attempts)) for id in ids]


def test_the_last_attempt_is_recorded_before_it_is_made_and_others_cost_no_write(
    editor: Editor, worker: Worker, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: dict[str, int | None] = {}
    for name, attempts in (("once", 1), ("twice", 2)):
        worker.action(name, attempts=attempts)(
            lambda _, task: begun.update({task.id: editor.get(task.id).begun})
        )
        editor.add(name, due=NOON, id=name)
    saves: list[tuple[Task, Task]] = []
    save_many = backend.store.save_many

    def count(changes: Any) -> Any:
        saves.extend(changes)
        return save_many(changes)

    monkeypatch.setattr(backend.store, "save_many", count)
    worker.run()
    assert begun == {"once": 1, "twice": None}
    assert sorted(old.id for old, _ in saves) == ["once", "once", "twice"]
    # And what is done has nothing of it left
    assert editor.get("once").begun is None


def test_a_task_that_is_cancelled_before_its_last_attempt_is_begun_is_not_begun(
    editor: Editor, worker: Worker, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    worker.action("act", attempts=1)(lambda: called.append("act"))
    editor.add("act", due=NOON, id="a")
    claim_many = backend.store.claim_many

    def claim_and_cancel(*given: Any, **more: Any) -> Any:
        claimed = claim_many(*given, **more)
        monkeypatch.undo()
        editor.cancel("a")
        return claimed

    monkeypatch.setattr(backend.store, "claim_many", claim_and_cancel)
    worker.run()
    assert not called
    assert editor.get("a").status is Status.CANCELLED


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_beginning_that_is_not_answered_is_looked_up(
    editor: Editor, worker: Worker, backend: Backend, monkeypatch: pytest.MonkeyPatch, is_stored: bool
) -> None:
    # Given a DynamoDB that does not answer when the last attempt is recorded as begun
    called: list[str] = []
    worker.action("act", attempts=1)(lambda: called.append("act"))
    editor.add("act", due=NOON, id="a")
    save_many = backend.store.save_many

    def unanswered(changes: Any) -> Any:
        if is_stored:
            save_many(changes)
        monkeypatch.undo()
        return [AwsUnavailable("nobody answered") for _ in changes]

    monkeypatch.setattr(backend.store, "save_many", unanswered)
    # When a run comes, and another one if that fails
    try:
        worker.run()
    except AwsUnavailable:
        assert not is_stored
        assert not called
        monkeypatch.undo()
        backend.sleep(LEASE.total_seconds())
        worker.run()
    # Then the attempt is made once
    assert called == ["act"]
    assert editor.get("a").status is Status.DONE


@pytest.mark.parametrize("change", ["cancel", "move"])
def test_a_task_left_running_may_be_cancelled_or_moved_meanwhile(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, change: str
) -> None:
    called = []
    worker.action("act")(lambda: called.append("act"))
    editor.add("act", due=NOON, id="a")
    die_while_running(backend, clock, "a")
    if change == "cancel":
        editor.cancel("a")
    else:
        editor.move("a", due=NOON + timedelta(days=1))
    report = worker.run()
    assert (report.attempts, called) == (0, [])
    assert report.rings_at == (None if change == "cancel" else NOON + timedelta(days=1))
