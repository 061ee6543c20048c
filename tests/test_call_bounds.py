"""The AWS calls of looking: as many for a long queue and a long history as for short ones."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from duebell import Editor
from duebell_editor.listing import history as histories
from duebell_editor.listing import timeline as timelines
from duebell_shared.backend import Backend
from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task
from tests.support import NOON, Calls

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


def ended(number: int, kind: Status, backend: Backend) -> Task:
    keep = backend.settings.retention_policy
    at = NOON - timedelta(minutes=number % 100)
    task = new_task(id=f"{kind}-{number}", action="act", due=at, payload=None, now=NOON)
    failure = Failure(type="E", message="")
    over = task.failed(failure, now=at, keep=keep) if kind is Status.FAILED else task.done(now=at, keep=keep)
    return replace(over, lane=lane_of(task.id, 4))


@pytest.fixture
def long(editor: Editor, backend: Backend) -> None:
    """Two thousand tasks that wait, some of them overdue, two thousand that have ended, 120 that recur."""
    editor.add_many(
        {"action": "act", "due": NOON + timedelta(minutes=number % 100), "id": f"waits-{number}"}
        for number in range(2_000)
    )
    editor.add_many({"action": "act", "schedule": "rate(1 hour)", "id": f"recurs-{n}"} for n in range(120))
    for kind in (Status.DONE, Status.FAILED):
        tasks = [ended(number, kind, backend) for number in range(1_000)]
        for first in range(0, 1_000, 25):
            assert all(made is True for made in backend.store.insert_many(tasks[first : first + 25]))


@pytest.mark.usefixtures("long")
def test_no_look_costs_more_than_some_calls(
    editor: Editor, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given more than are read
    for module in (timelines, histories):
        monkeypatch.setattr(module, "PAGE", 50)
    for name, look in LOOKS.items():
        calls.clear()
        look(editor)
        assert calls.total() <= MOST, (name, calls)
        assert calls["Scan"] == 0
