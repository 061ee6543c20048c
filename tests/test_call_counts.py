"""The AWS calls of each operation: no Scan, and as many for a long queue as for a short one."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from duebell import Editor, Failure, Status, Worker
from duebell_editor.listing import history as histories
from duebell_editor.listing import timeline as timelines
from duebell_shared.backend import Backend
from duebell_shared.queue.places import lane_of
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.tasks.new_task import new_task
from tests.support import NOON, Calls, Clock
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


def test_a_task_that_is_not_the_new_head_costs_one_write_and_one_read(editor: Editor, calls: Calls) -> None:
    editor.add("act", due=HEAD)
    editor.add_many({"action": "act", "due": AFTER_IT} for _ in range(100))
    for number in range(8):  # whatever lane each is in
        calls.clear()
        editor.add("act", due=AFTER_IT + timedelta(seconds=number))
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


#: The most that one look may cost, however much is stored.
MOST = 20

LOOKS: dict[str, Callable[[Editor], object]] = {
    "list": lambda editor: editor.list(),
    "list, latest first": lambda editor: editor.list(latest_first=True),
    "list of the failed": lambda editor: editor.list(status="failed", latest_first=True),
    "list of all that ended": lambda editor: editor.list(
        status=["done", "failed", "expired", "cancelled"], latest_first=True
    ),
    "list of what failed": lambda editor: editor.list(status=["failed", "failing"], latest_first=True),
    "find": lambda editor: editor.find("waits-"),
    "failures": lambda editor: editor.failures(),
    "past counts": lambda editor: editor.past_counts(),
    "status": lambda editor: editor.status(),
    "timeline": lambda editor: editor.timeline(NOON - timedelta(hours=24), count=48),
    "timeline of a hundred minutes": lambda editor: editor.timeline(NOON, step="minute", count=100),
    "past_timeline": lambda editor: editor.past_timeline(NOON - timedelta(hours=24), count=25),
    "schedules": lambda editor: editor.schedules(),
}


def test_no_look_costs_more_than_some_calls(
    editor: Editor, backend: Backend, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given 2,000 tasks that wait, some of them overdue, 2,000 that have ended, and 120 that recur
    waiting = [
        {"action": "act", "due": NOON + timedelta(minutes=n % 100), "id": f"waits-{n}"} for n in range(2_000)
    ]
    recurring = [{"action": "act", "schedule": "rate(1 hour)"} for _ in range(120)]
    editor.add_many([*waiting, *recurring])
    keep, failure = backend.settings.retention_policy, Failure(type="E", message="")
    past = []
    for n in range(2_000):
        at = NOON - timedelta(minutes=n % 100)
        task = new_task(id=f"past-{n}", action="act", due=at, payload=None, now=NOON)
        task = replace(task, lane=lane_of(task.id, 4))
        past.append(task.failed(failure, now=at, keep=keep) if n % 2 else task.done(now=at, keep=keep))
    for first in range(0, 2_000, AT_ONCE):
        assert set(backend.store.insert_many(past[first : first + AT_ONCE])) == {True}
    # And that this is more than are read at once
    for module in (timelines, histories):
        monkeypatch.setattr(module, "LARGEST_PAGE", 50)
    for name, look in LOOKS.items():
        calls.clear()
        look(editor)
        assert calls.total() <= MOST, (name, calls)
        assert calls["Scan"] == 0
