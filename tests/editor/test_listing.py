"""Listing: in due order across lanes, filtered, and page by page so that each task comes exactly once."""

import base64
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from duebell import Editor, Failure, InvalidQuery, Page, Status, Task
from duebell_shared.backend import Backend
from duebell_shared.tasks.status import RetentionPolicy
from duebell_shared.tasks.task import QueueKey
from tests.support import NOON, Calls

HOUR = timedelta(hours=1)
DUE = NOON + HOUR


def ids(page: Page) -> list[str]:
    return [task.id for task in page.tasks]


def pages(editor: Editor, *, cursor: str | None = None, **filters: Any) -> Iterator[Page]:
    yield (page := editor.list(**filters, cursor=cursor))
    while page.cursor:
        yield (page := editor.list(**filters, cursor=page.cursor))


def start(editor: Editor, backend: Backend, id: str) -> Task:
    task = editor.get(id)
    assert task.queued
    key = QueueKey(task.queued, task.id, task.lane)
    claimed = backend.store.claim(key, run="run", now=backend.clock(), status=Status.SCHEDULED)
    assert claimed
    return claimed


@pytest.fixture
def one_of_each(editor: Editor, backend: Backend) -> None:
    """A task in each status, an hour apart, named by it."""
    for number, status in enumerate(Status):
        editor.add("act", due=DUE + number * HOUR, id=status)
    keep = RetentionPolicy(retention=HOUR)
    for status in (Status.RUNNING, Status.DONE, Status.FAILED, Status.EXPIRED):
        running = start(editor, backend, status)
        if status is Status.DONE:
            backend.store.save(running, running.done(now=NOON, keep=keep))
        if status is Status.FAILED:
            failure = Failure(type="E", message="")
            backend.store.save(running, running.failed(failure, now=NOON, keep=keep))
        if status is Status.EXPIRED:
            backend.store.save(running, running.expired(now=NOON, keep=keep))
    reserved = editor.get(Status.RESERVED)
    until = DUE + len(Status) * HOUR
    backend.store.save(reserved, msgspec.structs.replace(reserved.reserved("r", until=until), rev=2))
    blocked = editor.get(Status.BLOCKED)
    backend.store.save(blocked, msgspec.structs.replace(blocked, status=Status.BLOCKED, queued=None, rev=2))
    editor.pause(Status.PAUSED)
    editor.cancel(Status.CANCELLED)


# Order and filters.


@pytest.mark.usefixtures("one_of_each")
def test_what_waits_or_runs_is_listed_unless_other_is_asked_for(editor: Editor) -> None:
    assert ids(editor.list()) == ["scheduled", "running", "reserved"]


@pytest.mark.usefixtures("one_of_each")
def test_of_several_statuses(editor: Editor) -> None:
    # Those that ended stand where they did, at noon; the others where they are due
    some = ids(editor.list(status=["failed", Status.PAUSED, "scheduled"]))
    assert some == ["failed", "scheduled", "paused"]
    everything = [
        "cancelled",
        "done",
        "expired",
        "failed",
        "scheduled",
        "running",
        "paused",
        "reserved",
        "blocked",
    ]
    assert ids(editor.list(status=Status)) == everything
    assert ids(editor.list(status=Status, latest_first=True)) == everything[::-1]
    assert ids(editor.list(status=(each for each in ["done"]))) == ["done"]


# Pages.


def test_what_is_added_between_pages_comes_once_or_not_at_all(editor: Editor) -> None:
    there, added = {f"task-{n}" for n in range(0, 20, 2)}, {f"task-{n}" for n in range(1, 20, 2)}
    editor.add_many({"action": "act", "due": DUE, "id": id} for id in there)
    first = editor.list(limit=3)
    # When tasks are added before the place where the page ended, after it, and at the same moment
    editor.add_many({"action": "act", "due": DUE, "id": id} for id in added)
    editor.add("act", due=DUE - HOUR, id="sooner")
    editor.add("act", due=DUE + HOUR, id="later")
    # Then the pages to come have what was there, once, and what was added behind that place
    rest = [id for page in pages(editor, limit=3, cursor=first.cursor) for id in ids(page)]
    assert len(set(rest)) == len(rest)
    assert there - set(ids(first)) <= set(rest) <= (there - set(ids(first))) | added | {"later"}
    assert rest[-1] == "later"


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_tasks_that_a_page_showed_may_be_gone(editor: Editor, limit: int) -> None:
    every = {f"task-{n}" for n in range(12)}
    editor.add_many({"action": "act", "due": DUE, "id": id} for id in every)
    first = editor.list(limit=limit)
    for id in ids(first):
        editor.cancel(id)
    rest = [id for page in pages(editor, limit=limit, cursor=first.cursor) for id in ids(page)]
    assert sorted(rest) == sorted(every - set(ids(first)))


# What cannot be right.


def _cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


NO_CURSOR = "cursor: is not one that a listing gave: start again without it"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": 0}, "limit: must be 1 to 1000, not 0"),
        ({"limit": 1001}, "limit: must be 1 to 1000, not 1001"),
        (
            {"status": "ready"},
            "status: 'ready' is not a valid Status; it is one of scheduled, running, paused",
        ),
        ({"status": ["done", "ready"]}, "status: 'ready' is not a valid Status; it is one of scheduled"),
        ({"status": ["overdue", "failing"]}, "status: overdue stands alone, without failing"),
        ({"after": datetime(2026, 1, 1)}, "after: must be a datetime with a time zone, not datetime.dat"),  # noqa: DTZ001
        ({"before": datetime(2026, 1, 1)}, "before: must be a datetime with a time zone, not datetime.da"),  # noqa: DTZ001
        ({"cursor": ""}, NO_CURSOR),
        ({"cursor": "ü\ud800"}, NO_CURSOR),
        ({"cursor": _cursor("{}")}, NO_CURSOR),
        ({"cursor": _cursor('["2026-11-21T12:00:00Z",false,0,""]')}, NO_CURSOR),
    ],
)
def test_what_cannot_be_right_is_told_before_anything_is_read(
    editor: Editor, calls: Calls, query: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidQuery) as raised:
        editor.list(**query)
    assert str(raised.value).startswith(message)
    assert not calls
