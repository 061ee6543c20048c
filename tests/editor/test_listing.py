"""Listing: in due order across lanes, filtered, and page by page so that each task comes exactly once."""

import base64
import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from duebell import Editor, InvalidQuery, Page, Status
from tests.editor.memory import Scheduler
from tests.editor.paging import all_ids
from tests.support import NOON, Calls

HOUR = timedelta(hours=1)
DUE = NOON + HOUR


def ids(page: Page) -> list[str]:
    return [task.id for task in page.tasks]


def test_tasks_are_listed_by_status_and_time(scheduler: Scheduler) -> None:
    # Given a task in each status, an hour apart, named by it
    editor = scheduler.editor
    for number, status in enumerate(Status):
        scheduler.become(editor.add("act", due=DUE + number * HOUR, id=status), status)
    # Then those in the queue are listed, unless others are asked for
    assert ids(editor.list()) == ["scheduled", "running", "reserved"]
    # And those that ended stand where they did, at noon; the others where they are due
    some = ids(editor.list(status=["failed", Status.PAUSED, "scheduled"]))
    assert some == ["failed", "scheduled", "paused"]
    in_queue = ["scheduled", "running", "paused", "reserved", "blocked"]
    everything = ["cancelled", "done", "expired", "failed", *in_queue]
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
    rest = _rest(editor, first, limit=3)
    assert len(set(rest)) == len(rest)
    assert there - set(ids(first)) <= set(rest) <= (there - set(ids(first))) | added | {"later"}
    assert rest[-1] == "later"


def _rest(editor: Editor, page: Page, *, limit: int) -> list[str]:
    found: list[str] = []
    while page.cursor:
        page = editor.list(limit=limit, cursor=page.cursor)
        found += ids(page)
    return found


@pytest.mark.parametrize("status", [None, [Status.DONE, Status.FAILED], [Status.PAUSED]])
def test_on_one_page_tasks_of_the_same_moment_stand_by_id(
    scheduler: Scheduler, status: list[Status] | None
) -> None:
    names = [f"{n:02}" for n in range(30)]
    for id in reversed(names):
        task = scheduler.editor.add("act", due=NOON + HOUR, id=id)
        if status:
            scheduler.become(task, status[int(id) % len(status)])
    assert all_ids(scheduler.editor.list, status=status, limit=30) == names


# Filters that cannot be right.


def _cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


NO_CURSOR = "cursor: is not one that a listing gave: start again without it"
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001

#: Positions that no task can have.
PLACES: list[list[object]] = [
    ["9999-12-31T23:59:59.999999Z", "", 0, "id"],
    ["9999-12-31T23:59:59-05:00", "", 0, "id"],
    ["2026-11-21T12:00:00", "", 0, "id"],
    ["2026-11-21T12:00:00Z", "elsewhere", 0, "id"],
    ["2026-11-21T12:00:00Z", "", -1, "id"],
    ["2026-11-21T12:00:00Z", "", 0, 513 * "é"],
    ["2026-11-21T12:00:00Z", False, 0, ""],
]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": 0}, "limit: must be 1 to 1000, not 0"),
        ({"limit": True}, "limit: must be 1 to 1000, not True"),
        ({"limit": 10**400}, "limit: must be 1 to 1000, not 1000"),
        ({"status": 3}, "status: must be text, or several in a list, not 3"),
        ({"status": ["done", "ready"]}, "status: must be one of scheduled, running, paused, reserved, "),
        ({"status": ["overdue", "failing"]}, "status: overdue stands alone, without failing"),
        ({"prefix": 7}, "prefix: must be text, not int"),
        ({"latest_first": "maybe"}, "latest_first: must be True or False, not 'maybe'"),
        ({"after": NAIVE}, "after: must be a datetime with a time zone, not datetime.dat"),
        ({"before": "soon"}, "before: must be a datetime with a time zone, not 'soon'"),
        ({"cursor": ""}, NO_CURSOR),
        ({"cursor": "ü\ud800"}, NO_CURSOR),
        ({"cursor": _cursor("{}")}, NO_CURSOR),
        *(({"cursor": _cursor(json.dumps(place))}, NO_CURSOR) for place in PLACES),
    ],
)
def test_what_cannot_be_right_is_told_before_anything_is_read(
    editor: Editor, calls: Calls, query: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidQuery) as raised:
        editor.list(**query)
    assert str(raised.value).startswith(message)
    assert len(str(raised.value)) < 200
    assert not calls
