"""Tasks that are moved, cancelled, replaced or added while the run that they concern goes on."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from duebell import Editor, Status, Task, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from tests.support import NOON, Clock
from tests.worker.stage import Stage

HOUR = timedelta(hours=1)


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
