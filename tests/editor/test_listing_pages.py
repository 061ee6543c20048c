"""Pages of any listing whatsoever: each task that is asked for exactly once, in order; and their bounds."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duebell_editor import Editor, InvalidQuery, Status
from tests.editor.memory import Scheduler
from tests.support import NOON

HOUR = timedelta(hours=1)
MILLISECOND = timedelta(milliseconds=1)


def ids(editor: Editor, **query: Any) -> list[str]:
    """The ids of all pages, one after the other."""
    found: list[str] = []
    cursor = None
    while True:
        page = editor.list(**query, cursor=cursor)
        found += [task.id for task in page.tasks]
        if (cursor := page.cursor) is None:
            return found


_DUES = st.lists(st.integers(min_value=0, max_value=4), max_size=12)
_STATUSES = st.sampled_from([None, list(Status), [Status.PAUSED], [Status.SCHEDULED, Status.CANCELLED]])


@given(dues=_DUES, limit=st.integers(min_value=1, max_value=5), status=_STATUSES)
def test_page_by_page_each_task_comes_exactly_once(
    dues: list[int], limit: int, status: list[Status] | None
) -> None:
    # Given tasks of all statuses, many of them due at the same moment
    scheduler = Scheduler.start()
    statuses = list(Status)
    for number, due in enumerate(dues):
        task = scheduler.editor.add("act", due=HOUR * due, id=f"{number:02}")
        scheduler.become(task, statuses[number % len(statuses)])
    # When they are read page by page
    found = ids(scheduler.editor, status=status, limit=limit)
    # Then each that is asked for comes once, by due date and then by id
    asked_for = status or [Status.SCHEDULED, Status.RUNNING]
    wanted = [task for task in scheduler.store.tasks.values() if task.status in asked_for]
    assert found == [task.id for task in sorted(wanted, key=lambda task: (task.due, task.id))]


@pytest.mark.parametrize(("count", "limit", "pages"), [(4, 4, 1), (5, 4, 2), (8, 4, 2), (0, 4, 1), (3, 1, 3)])
def test_the_last_page_has_no_cursor(scheduler: Scheduler, count: int, limit: int, pages: int) -> None:
    for number in range(count):
        scheduler.editor.add("act", due=HOUR * number)
    sizes: list[int] = []
    cursor = None
    while not sizes or cursor:
        page = scheduler.editor.list(limit=limit, cursor=cursor)
        sizes.append(len(page.tasks))
        cursor = page.cursor
    assert (sum(sizes), len(sizes)) == (count, pages)


def test_a_filter_that_few_tasks_pass_is_paged_by_these(scheduler: Scheduler) -> None:
    for number in range(20):
        scheduler.editor.add("rare" if number % 7 == 3 else "common", due=HOUR * number, id=f"{number:02}")
    assert ids(scheduler.editor, action="rare", limit=1) == ["03", "10", "17"]


def test_a_task_that_is_moved_between_two_pages_may_come_again_where_it_is_now(scheduler: Scheduler) -> None:
    for number in (1, 2, 3):
        scheduler.editor.add("act", due=HOUR * number, id=str(number))
    first = scheduler.editor.list(limit=1)
    scheduler.editor.move("1", due=5 * HOUR)
    assert [task.id for task in scheduler.editor.list(cursor=first.cursor).tasks] == ["2", "3", "1"]


def test_the_largest_page_and_the_usual_one(scheduler: Scheduler) -> None:
    scheduler.editor.add_many({"action": "act", "due": HOUR * number} for number in range(1001))
    assert len(scheduler.editor.list(limit=1000).tasks) == 1000
    assert len(scheduler.editor.list().tasks) == 100


@pytest.mark.parametrize("status", [None, "paused"])
@pytest.mark.parametrize(
    ("after", "before", "found"),
    [
        (NOON + 2 * HOUR, NOON + 3 * HOUR, "23"),
        (NOON + 2 * HOUR, NOON + 2 * HOUR, "2"),
        (NOON + 2 * HOUR + MILLISECOND, NOON + 3 * HOUR - MILLISECOND, ""),
        (NOON + 3 * HOUR, NOON + 2 * HOUR, ""),
        (NOON + 2 * HOUR - MILLISECOND / 2, NOON + 2 * HOUR + MILLISECOND / 2, "2"),
        (NOON + HOUR + MILLISECOND / 2, NOON + 3 * HOUR - MILLISECOND / 2, "2"),
        (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), "1234"),
    ],
)
def test_bounds_are_included_whether_in_the_queue_or_not(
    scheduler: Scheduler, status: str | None, after: datetime, before: datetime, found: str
) -> None:
    for number in range(1, 5):
        scheduler.editor.add("act", due=HOUR * number, id=str(number))
        if status:
            scheduler.editor.pause(str(number))
    assert ids(scheduler.editor, status=status, after=after, before=before) == list(found)


def test_a_bound_between_two_milliseconds_is_not_stretched(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=NOON + MILLISECOND, id="a")
    assert ids(scheduler.editor, before=NOON + MILLISECOND / 2) == []
    assert ids(scheduler.editor, after=NOON + MILLISECOND / 2) == ["a"]


@pytest.mark.parametrize(
    "at", ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-05:00", "2026-11-21T12:00:00"]
)
def test_a_cursor_at_a_time_that_no_task_can_have_is_none(scheduler: Scheduler, at: str) -> None:
    cursor = base64.urlsafe_b64encode(f'["{at}","id"]'.encode()).decode()
    with pytest.raises(
        InvalidQuery, match=r"^cursor: is not one that a listing gave: start again without it$"
    ):
        scheduler.editor.list(cursor=cursor)


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_listing_can_be_of_ids_that_begin_alike(scheduler: Scheduler, limit: int) -> None:
    ids = [f"{prefix}-{n}" for n in range(3) for prefix in ("a", "b")]
    for n, id in enumerate(ids):
        scheduler.editor.add("x", due=timedelta(minutes=n), id=id)
    scheduler.become(scheduler.editor.get("a-1"), Status.FAILED)
    found: list[str] = []
    cursor = None
    while True:
        page = scheduler.editor.list(prefix="a-", status=["scheduled", "failed"], limit=limit, cursor=cursor)
        found += [task.id for task in page.tasks]
        if (cursor := page.cursor) is None:
            break
    assert found == ["a-0", "a-1", "a-2"]


def test_a_prefix_is_text(scheduler: Scheduler) -> None:
    with pytest.raises(InvalidQuery, match="prefix: must be text, not int"):
        scheduler.editor.list(prefix=7)  # type: ignore[arg-type]
