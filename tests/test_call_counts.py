"""What each operation costs in AWS calls, and that none of them is a Scan."""

from datetime import UTC, datetime, timedelta

import pytest

from duebell import Editor, Status, Worker
from duebell_shared.backend import Backend
from tests.support import Calls, Clock
from tests.worker.called import Called

HEAD = datetime(2026, 12, 1, tzinfo=UTC)
AFTER_IT = HEAD + timedelta(days=1)

#: All that duebell ever calls, in an editor or in a worker; the policies in infra allow no more.
USED = {
    "BatchExecuteStatement",
    "BatchGetItem",
    "DescribeRule",
    "GetItem",
    "ListTargetsByRule",
    "GetQueueAttributes",
    "PutItem",
    "PutRule",
    "Query",
    "UpdateItem",
}


@pytest.mark.parametrize("waiting", [1, 10, 200])
def test_a_task_that_is_not_the_new_head_costs_one_write_and_one_read(
    editor: Editor, calls: Calls, waiting: int
) -> None:
    # Given a queue
    editor.add("act", due=HEAD)
    editor.add_many({"action": "act", "due": AFTER_IT} for _ in range(waiting - 1))
    for number in range(8):  # whatever lane each is in
        # When a task is added that is due later than its head
        calls.clear()
        editor.add("act", due=AFTER_IT + timedelta(seconds=number))
        # Then that is a write and a read, and the rule is left alone
        assert calls == {"PutItem": 1, "GetItem": 1}


def test_a_worker_that_could_be_called_costs_nothing_when_it_is_not_needed(
    backend: Backend, calls: Calls
) -> None:
    called = Called()
    editor = Editor(backend=called.by(backend))
    editor.add("act", due=HEAD)
    calls.clear()
    editor.add("act", due=AFTER_IT)
    assert calls == {"PutItem": 1, "GetItem": 1}
    assert called.events == []


def test_the_first_add_of_a_process_reads_the_number_of_lanes_and_the_worker_too(
    editor: Editor, backend: Backend, calls: Calls
) -> None:
    editor.add("act", due=HEAD)
    calls.clear()
    Editor(backend=backend).add("act", due=AFTER_IT)
    assert calls == {"PutItem": 1, "GetItem": 3}


def test_an_editor_reads_the_worker_once_a_minute(editor: Editor, calls: Calls, clock: Clock) -> None:
    editor.add("act", due=HEAD)
    for seconds, reads in ((0, 1), (59, 1), (1, 2), (59, 1), (1, 2)):
        clock.advance(timedelta(seconds=seconds))
        calls.clear()
        editor.add("act", due=AFTER_IT)
        assert calls == {"PutItem": 1, "GetItem": reads}


def test_a_new_head_sets_the_rule_once(editor: Editor, calls: Calls) -> None:
    editor.add("act", due=AFTER_IT)
    calls.clear()
    editor.add("act", due=HEAD)
    assert calls == {"PutItem": 3, "GetItem": 1, "DescribeRule": 1, "PutRule": 1}


def test_reading_a_task_is_one_read(editor: Editor, calls: Calls) -> None:
    editor.add("act", due=HEAD, id="one")
    calls.clear()
    editor.get("one")
    assert calls == {"GetItem": 1}


def test_many_tasks_arm_once(editor: Editor, calls: Calls) -> None:
    editor.ensure_armed()
    calls.clear()
    editor.add_many({"action": "act", "due": HEAD - timedelta(minutes=each)} for each in range(50))
    assert calls["PutRule"] == 1
    assert calls["GetItem"] <= 3  # the lanes, the worker, the record
    assert calls["BatchExecuteStatement"] == 2  # 25 tasks each
    assert calls["PutItem"] == 2  # the record: lowered with the rule held, confirmed


def test_a_page_costs_what_it_shows(editor: Editor, calls: Calls) -> None:
    editor.add_many({"action": "act", "due": HEAD + timedelta(minutes=each)} for each in range(120))
    calls.clear()
    page = editor.list(limit=20)
    assert len(page.tasks) == 20
    assert calls == {"GetItem": 1, "Query": 4, "BatchGetItem": 1}


def test_nothing_is_a_scan_and_nothing_is_created(
    editor: Editor, backend: Backend, calls: Calls, clock: Clock
) -> None:
    # Given everything that an editor can do
    for number in range(8):
        editor.add("act", due=HEAD, id=f"task-{number}", payload={"n": number})
    editor.add("act", due=HEAD, id="task-0", if_exists="keep")
    editor.add("act", due=HEAD, id="task-0", if_exists="replace")
    editor.add_many([{"action": "act", "due": HEAD}])
    editor.move("task-1", due=HEAD - timedelta(days=1))
    editor.update("task-2", payload={"n": "x"})
    editor.pause("task-3")
    editor.resume("task-3")
    editor.cancel("task-4")
    for status in (None, *Status):
        editor.list(status=status)
    editor.status(thorough=True)
    editor.ensure_armed()
    # And that a worker does
    worker = Worker(backend=backend)
    worker.action("act")(lambda: None)
    clock.now = AFTER_IT
    worker.run()
    # Then no call is any other than these
    assert set(calls) == USED
