"""Tasks under way: changed meanwhile, or left running by a run that died, which the next one runs again."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from duebell import Editor, ProblemKind, Status, Task, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.errors import AwsUnavailable
from tests.support import NOON, Clock
from tests.worker.memory import in_lane
from tests.worker.other_runs import die_while_running
from tests.worker.scene import HOUR, Scene
from tests.worker.stage import Stage


@pytest.fixture
def called(worker: Worker) -> list[str]:
    """The tasks that the action `act` was called with; it has one attempt."""
    called: list[str] = []
    worker.action("act", attempts=1)(lambda _, task: called.append(task.id))
    return called


def test_tasks_left_running_are_run_after_all_others_and_one_at_a_time_and_nothing_waits_for_them(
    editor: Editor, staged: Worker, backend: Backend, stage: Stage, clock: Clock
) -> None:
    # Given a run that died with three long tasks under way, two that are due, and one that comes due later
    began: dict[str, datetime] = {}

    @staged.action("act")
    def act(_: object, task: Task) -> None:
        began[task.id] = clock.now
        stage.sleep(100 if task.id in left else 10)

    left = ["left-1", "left-2", "left-3"]
    for id in left:
        editor.add("act", due=NOON, id=id)
    die_while_running(backend, clock, *left)
    begins = clock.now
    for id, due in (("new-1", NOON), ("new-2", NOON), ("late", begins + timedelta(seconds=60))):
        editor.add("act", due=due, id=id)

    # When the next run comes
    assert staged.run(time_left=timedelta(minutes=15)).done == 6

    # Then the new ones go first, side by side, and those that were left follow one by one
    assert began["new-1"] == began["new-2"] == begins
    one, two, three = sorted(began[id] for id in left)
    assert begins + timedelta(seconds=10) <= one <= two - timedelta(seconds=100)
    assert two <= three - timedelta(seconds=100)
    # And what comes due is done at its time, beside one of them
    assert timedelta(seconds=60) <= began["late"] - begins <= timedelta(seconds=65)


def test_a_task_that_ends_its_process_each_time_fails_when_attempts_are_used_up(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock
) -> None:
    # Given a task that ended the process of all its runs
    called = []
    worker.action("kill", attempts=3)(lambda: called.append("kill"))
    editor.add("kill", due=NOON, id="a")
    for number in range(3):
        die_while_running(backend, clock, "a", run=f"dead-{number}", last=3)

    # When the next run comes, then it is not tried a fourth time, and says what happened
    assert (worker.run().failed, called) == (1, [])
    task = editor.get("a")
    assert (task.status, task.attempt) == (Status.FAILED, 3)
    assert task.failure is not None
    assert task.failure.type == "WorkerDied"
    assert "all 3 attempts are used up" in task.failure.message
    assert [one.attempt for one in task.failures if str(one.error).startswith("WorkerDied")] == [1, 2, 3]
    assert [problem.kind for problem in editor.status().problems] == [ProblemKind.FAILED_TASKS]


@pytest.mark.parametrize(("attempts", "deaths"), [(1, 1), (3, 3)])
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


def test_the_last_attempt_is_recorded_before_it_is_made_and_others_cost_no_write(clock: Clock) -> None:
    scene, begun = Scene(clock), dict[str, int | None]()
    for attempts in (1, 2):
        scene.worker.action(f"{attempts}", attempts=attempts)(
            lambda _, task: begun.update({task.action: scene.editor.get(task.id).begun})
        )
        scene.editor.add(f"{attempts}", due=NOON, id=in_lane(attempts))
    scene.worker.run()
    assert begun == {"1": 1, "2": None}
    assert [scene.store.calls["save", lane] for lane in (1, 2)] == [2, 1]
    # And what is done has nothing of it left
    assert scene.editor.get(in_lane(1)).begun is None


def test_a_task_that_is_cancelled_before_its_last_attempt_is_begun_is_not_begun(clock: Clock) -> None:
    scene, called = Scene(clock), list[str]()
    scene.worker.action("once", attempts=1)(lambda: called.append("once"))
    scene.editor.add("once", due=NOON, id="a")

    def cancel(verb: str, _: int) -> bool:
        if verb == "save":
            scene.store.refuse(())
            scene.editor.cancel("a")
        return False

    scene.store.refuses = cancel
    scene.worker.run()
    assert not called
    assert scene.editor.get("a").status is Status.CANCELLED


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_beginning_that_is_not_answered_is_looked_up(  # noqa: PLR0917
    editor: Editor,
    worker: Worker,
    backend: Backend,
    called: list[str],
    monkeypatch: pytest.MonkeyPatch,
    is_stored: bool,
) -> None:
    # Given a DynamoDB that does not answer when the last attempt is recorded as begun
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
        backend.sleep(LEASE.total_seconds())
        worker.run()
    # Then the attempt is made once
    assert called == ["a"]
    assert editor.get("a").status is Status.DONE


@pytest.mark.parametrize("change", ["cancel", "move"])
def test_a_task_left_running_may_be_cancelled_or_moved_meanwhile(  # noqa: PLR0917
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, called: list[str], change: str
) -> None:
    editor.add("act", due=NOON, id="a")
    die_while_running(backend, clock, "a")
    if change == "cancel":
        editor.cancel("a")
    else:
        editor.move("a", due=NOON + timedelta(days=1))
    report = worker.run()
    assert (report.attempts, called) == (0, [])
    assert report.rings_at == (None if change == "cancel" else NOON + timedelta(days=1))


# Tasks that are moved, cancelled or replaced while the run that they concern goes on.


CHANGES: dict[str, Callable[[Editor], Task]] = {
    "move": lambda editor: editor.move("a", due=NOON + HOUR),
    "cancel": lambda editor: editor.cancel("a"),
    "replace": lambda editor: editor.add("act", due=NOON + HOUR, id="a", payload="new", if_exists="replace"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("fails", [False, True])
def test_what_an_editor_changes_while_it_runs_stays_as_the_editor_left_it(
    editor: Editor, worker: Worker, change: str, fails: bool
) -> None:
    # Given an action during which an editor changes its task
    left: list[Task] = []

    @worker.action("act", attempts=1)
    def act() -> None:
        left.append(CHANGES[change](editor))
        if fails:
            raise ValueError("too late to matter")

    editor.add("act", due=NOON, id="a")
    report = worker.run()

    # Then what came of the attempt no longer applies
    assert (report.superseded, report.attempts) == (1, 1)
    assert editor.get("a") == left[0]
    assert report.rings_at == (None if change == "cancel" else NOON + HOUR)


def test_a_task_that_is_moved_to_now_while_it_runs_runs_again_in_the_same_run(
    editor: Editor, staged: Worker, stage: Stage, clock: Clock
) -> None:
    # Given an action that is moved to now while it runs
    attempts = []

    @staged.action("act")
    def act(payload: object, task: Task) -> None:
        attempts.append(task.attempt)
        if len(attempts) == 1:
            editor.move("a", due=clock.now)
            stage.sleep(30)

    editor.add("act", due=NOON, id="a")

    # When it is run, then once for each due date, the second as a first attempt
    report = staged.run()
    assert attempts == [1, 1]
    assert (report.done, report.superseded) == (1, 1)
    assert editor.get("a").status is Status.DONE


def test_a_task_that_is_cancelled_before_its_turn_is_not_started(editor: Editor, backend: Backend) -> None:
    # Given a worker for one task at a time, and a task that cancels the one after it, which the run has read
    started = []
    worker = Worker(backend=backend, concurrency=1, pool=lambda _: InlinePool())
    worker.action("first")(lambda: editor.cancel("second"))
    worker.action("second")(lambda: started.append("second"))
    editor.add("first", due=NOON - HOUR)
    editor.add("second", due=NOON, id="second")

    # When both are due, then the second never runs
    report = worker.run()
    assert (report.done, report.attempts, started) == (1, 1, [])
    assert editor.get("second").status is Status.CANCELLED
