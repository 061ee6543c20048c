"""The doctor names tasks that wait for an action that the worker does not have."""

from datetime import timedelta

import pytest

from duebell import Editor, Problem, ProblemKind, Worker
from duebell_editor.status import status as module
from duebell_shared.backend import Backend
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.worker_record import WorkerRecord

HOUR = timedelta(hours=1)


@pytest.fixture
def worker(backend: Backend) -> Worker:
    worker = Worker(backend=backend)
    worker.action("tick")(lambda: None)
    return worker


def found(editor: Editor) -> Problem | None:
    problems = editor.doctor().status.problems
    return next((one for one in problems if one.kind is ProblemKind.UNKNOWN_ACTIONS), None)


def test_waiting_tasks_whose_action_no_worker_has_are_counted_by_action(
    editor: Editor, worker: Worker
) -> None:
    # Given tasks that were added before the worker was known
    for id, action in (("b", "gone"), ("a", "gone"), ("c", "sell"), ("d", "tick"), ("e", "duebell.verify")):
        editor.add(action, due=HOUR, id=id)
    editor.add("other", due=HOUR, id="f")
    editor.cancel("f")
    assert found(editor) is None
    # When the worker has made itself known
    worker.register()
    # Then the doctor says which will fail
    problem = found(editor)
    assert problem
    assert problem.what == (
        "tasks wait whose action the worker does not have: 'gone' of 2 tasks, the first 'a', "
        "'sell' of the task 'c'"
    )
    assert "`duebell update ID --action NAME`" in problem.way_out
    assert not problem.mendable
    # And the status, which reads less, does not
    assert ProblemKind.UNKNOWN_ACTIONS not in {one.kind for one in editor.status().problems}
    # Until a worker has them
    worker.action("gone")(lambda: None)
    worker.action("sell")(lambda: None)
    worker.register()
    assert found(editor) is None


def test_the_read_is_bounded_and_says_so(
    editor: Editor, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_READ", 3)
    editor.add_many([{"action": f"gone-{n}", "due": (n + 1) * HOUR, "id": f"task-{n}"} for n in range(8)])
    worker.register()
    problem = found(editor)
    assert problem
    assert "'gone-2'" in problem.what
    assert "'gone-3'" not in problem.what
    assert problem.what.endswith("(of the 3 tasks that run next; later ones were not read)")
    monkeypatch.setattr(module, "_MOST_READ", 8)
    assert (problem := found(editor))
    assert problem.what.endswith("'gone-4' of the task 'task-4' and 3 more actions")


def test_nothing_is_said_of_a_worker_that_cannot_start_or_has_more_actions_than_are_known(
    editor: Editor, worker: Worker, backend: Backend
) -> None:
    editor.add("gone", due=HOUR)
    worker.register()
    record = backend.store.read(WorkerRecord)
    assert record
    assert record.worker
    assert found(editor)
    failed = record.failed(record.worker, Failure(type="ImportError", message="no"))
    assert backend.store.swap(record, failed)
    assert found(editor) is None
    worker.register()
    assert found(editor)
    for n in range(1_000):
        worker.action(f"{n}-{'x' * 100}")(lambda: None)
    worker.register()
    assert found(editor) is None
