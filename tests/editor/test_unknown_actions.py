"""The doctor names tasks that wait for an action that the worker does not have."""

from datetime import timedelta

import pytest

from duebell import Editor, Problem, ProblemKind, Worker
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
        "of the 5 tasks that run next, the worker does not have the actions of 3: 'gone' (2), 'sell' (1)"
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


def test_nothing_is_said_of_a_worker_that_cannot_start(
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
