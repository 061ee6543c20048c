"""Listing: filtered, in order of time, page by page so that each task comes exactly once, at bounded cost."""

import base64
import itertools
import json
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duebell import Editor, Failure, InvalidQuery, Page, ProblemKind, Status, Then
from duebell_editor.listing import failures
from duebell_infra.testing import MemoryStore
from duebell_shared.instants import NEVER
from duebell_shared.tasks.status import RetentionPolicy
from duebell_shared.tasks.task import QueueKey, Task
from tests.editor.memory import KEEP, Scheduler
from tests.support import NOON, Calls

HOUR, MILLISECOND = timedelta(hours=1), timedelta(milliseconds=1)
DUE = NOON + HOUR
GROUP = "customer-42/"
TIMEOUT = Failure(type="TimeoutError", message="the bank\ndid not answer")
DECLINED = Failure(type="CardDeclined", message="no")


def ids(page: Page) -> list[str]:
    return [task.id for task in page.tasks]


def pages(read: Callable[..., Page], *given: Any, **query: Any) -> list[list[str]]:
    """The ids of each page of this method of an editor."""
    found = []
    while True:
        page = read(*given, **query)
        found.append(ids(page))
        if not page.cursor:
            return found
        query["cursor"] = page.cursor


def all_ids(read: Callable[..., Page], *given: Any, **query: Any) -> list[str]:
    """The ids of all pages, one after the other."""
    return [*itertools.chain(*pages(read, *given, **query))]


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


def test_a_task_that_owes_a_follow_up_is_listed_once(scheduler: Scheduler) -> None:
    # Given a task that has ended, and one that recurs, which owe a follow-up
    editor = scheduler.editor
    when: dict[str, dict[str, Any]] = {"once": {"due": DUE}, "often": {"schedule": "rate(2 hours)"}}
    for id, due in when.items():
        task = editor.add("act", **due, id=id, then=Then("hear"))
        scheduler.become(scheduler.become(task, Status.RUNNING), Status.DONE)
    # Then the one is done, and the other waits
    assert [ids(editor.list(status=status)) for status in ("done", "scheduled")] == [["once"], ["often"]]
    assert sorted(ids(editor.list(status=Status))) == ["often", "once"]


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
    rest = all_ids(editor.list, limit=3, cursor=first.cursor)
    assert len(set(rest)) == len(rest)
    assert there - set(ids(first)) <= set(rest) <= (there - set(ids(first))) | added | {"later"}
    assert rest[-1] == "later"


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


_DUES = st.lists(st.integers(min_value=0, max_value=4), max_size=12)
_STATUSES = st.sampled_from([None, list(Status), [Status.PAUSED], [Status.SCHEDULED, Status.CANCELLED]])


class OrderOfItsOwn(MemoryStore):
    """Tasks of the same moment come in an order that is not that of their ids."""

    def queued(self, lane: int, **bounds: Any) -> Iterator[QueueKey]:
        after, before = bounds.get("after"), bounds.get("before", NEVER)
        latest_first = bounds.get("latest_first", False)

        def place(key: QueueKey) -> tuple[datetime, int, str]:
            return key.queued, zlib.crc32(key.id.encode()), key.id

        begin = after.queued if isinstance(after, QueueKey) else after
        end = before.queued if isinstance(before, QueueKey) else before
        for key in sorted(super().queued(lane, after=begin, before=end), key=place, reverse=latest_first):
            is_behind = not isinstance(after, QueueKey) or place(key) > place(after)
            is_ahead = not isinstance(before, QueueKey) or place(key) < place(before)
            if is_behind and is_ahead:
                yield key


@given(
    store=st.sampled_from([MemoryStore, OrderOfItsOwn]),
    dues=_DUES,
    limit=st.integers(min_value=1, max_value=5),
    status=_STATUSES,
    group=st.sampled_from([("", 1), ("0", 1), ("1", 1), ("0", 400)]),
)
def test_page_by_page_each_task_comes_exactly_once(
    store: type[MemoryStore], dues: list[int], limit: int, status: list[Status] | None, group: tuple[str, int]
) -> None:
    # Given tasks of all statuses, many of them due at the same moment
    prefix, of_a_lane = group
    scheduler = Scheduler.start(store=store())
    statuses = list(Status)
    for number, due in enumerate(dues):
        task = scheduler.editor.add("act", due=HOUR * due, id=f"{number:02}", priority=number % 3)
        scheduler.become(task, statuses[number % len(statuses)])
    # When they are read page by page
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("duebell_editor.listing.listing._OF_A_LANE", of_a_lane)
        in_pages = pages(scheduler.editor.list, status=status, limit=limit, prefix=prefix)
        back = all_ids(scheduler.editor.list, status=status, limit=limit, prefix=prefix, latest_first=True)
    # Then each that is asked for comes once, in order of time, on full pages but for the last
    found = [*itertools.chain(*in_pages)]
    assert len(in_pages) == max(1, math.ceil(len(found) / limit))
    asked_for = status or [Status.SCHEDULED, Status.RUNNING, Status.RESERVED]
    wanted = {
        task.id: task.queued or task.finished_at or task.due
        for task in scheduler.store.tasks.values()
        if task.status in asked_for and task.id.startswith(prefix)
    }
    assert sorted(found) == sorted(back) == sorted(wanted)
    assert [wanted[id] for id in found] == sorted(wanted.values())
    assert [wanted[id] for id in back] == sorted(wanted.values(), reverse=True)


def test_a_page_costs_what_it_shows_however_many_are_due_at_the_same_moment(
    scheduler: Scheduler, read: Counter[str]
) -> None:
    # Given two thousand tasks at one moment
    scheduler.editor.add_many({"action": "act", "due": NOON + HOUR, "id": f"{n:04}"} for n in range(2000))

    def a_page(**query: Any) -> Page:
        read.clear()
        page = scheduler.editor.list(limit=90, **query)
        assert read["keys"] <= 90 + 1 + 4
        return page

    # When they are listed page by page, then each page reads its own keys, and one more of each lane
    assert sorted(all_ids(a_page)) == [f"{n:04}" for n in range(2000)]


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
    assert all_ids(scheduler.editor.list, status=status, after=after, before=before) == list(found)


def add(scheduler: Scheduler, count: int, *, prefix: str = "", due: timedelta = HOUR) -> None:
    tasks = ({"action": "act", "due": due + n * MILLISECOND, "id": f"{prefix}{n:05}"} for n in range(count))
    assert not scheduler.editor.add_many(tasks).failures


@pytest.fixture
def read(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of keys read from the index, and of tasks read by their ids."""
    counted: Counter[str] = Counter()
    queued, named = scheduler.store.queued, scheduler.store.named

    def count_keys(lane: int, **bounds: Any) -> Iterator[QueueKey]:
        for key in queued(lane, **bounds):
            counted["keys"] += 1
            yield key

    def count_tasks(lane: int, prefix: str, **bounds: Any) -> tuple[list[Task], str | None]:
        tasks, end = named(lane, prefix, **bounds)
        counted["tasks"] += len(tasks)
        return tasks, end

    monkeypatch.setattr(scheduler.store, "queued", count_keys)
    monkeypatch.setattr(scheduler.store, "named", count_tasks)
    return counted


def test_a_group_costs_one_read_for_each_lane_however_long_the_queue_is(editor: Editor, calls: Calls) -> None:
    editor.add_many({"action": "act", "due": HOUR, "id": f"other-{n}"} for n in range(200))
    editor.add_many({"action": "act", "due": HOUR * 2, "id": f"{GROUP}{n}"} for n in range(5))
    looks: list[Callable[[], int]] = [
        lambda: len(editor.list(prefix=GROUP).tasks),
        lambda: len(editor.find(GROUP).tasks),
        lambda: len(editor.select("cancel", prefix=GROUP).ids),
    ]
    for look in looks:
        calls.clear()
        assert look() == 5
        assert dict(calls) == {"GetItem": 1, "Query": 4}
    # A list of statuses that is empty is no wish for all of them
    with pytest.raises(InvalidQuery, match="status: to cancel a task it must be"):
        editor.select("cancel", prefix=GROUP, status=[])
    assert dict(calls) == {"GetItem": 1, "Query": 4}


def test_a_failing_recurring_task_of_a_group_is_listed_once(scheduler: Scheduler) -> None:
    task = scheduler.editor.add("act", schedule="rate(1 hour)", id=f"{GROUP}report")
    scheduler.become(task, Status.FAILED)
    assert pages(scheduler.editor.list, prefix=GROUP, status="failing") == [[f"{GROUP}report"]]
    assert pages(scheduler.editor.list, prefix=GROUP, status=["failing", "scheduled"]) == [[f"{GROUP}report"]]
    assert pages(scheduler.editor.list, prefix=GROUP) == [[f"{GROUP}report"]]


def test_a_page_of_a_large_group_is_read_by_time(scheduler: Scheduler, read: Counter[str]) -> None:
    add(scheduler, 5_000, prefix=GROUP)
    page = scheduler.editor.list(prefix=GROUP, limit=100)
    assert [task.id for task in page.tasks] == sorted(task.id for task in page.tasks)
    assert read["tasks"] <= 4 * 500
    assert read["keys"] <= 210


def test_a_group_far_behind_in_a_long_queue_does_not_cost_the_queue(
    scheduler: Scheduler, read: Counter[str]
) -> None:
    add(scheduler, 8_000)
    add(scheduler, 700, prefix=GROUP, due=HOUR * 2)
    page = scheduler.editor.list(prefix=GROUP, limit=10)
    assert [task.id for task in page.tasks] == [f"{GROUP}{n:05}" for n in range(10)]
    assert read["tasks"] == 700
    assert read["keys"] == 0


def test_no_page_is_empty_while_some_match(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duebell_editor.listing.listing._MOST_KEYS", 100)
    add(scheduler, 3_000)
    add(scheduler, 1, prefix=GROUP, due=HOUR * 2)
    page = scheduler.editor.list(text=GROUP)
    assert [task.id for task in page.tasks] == [f"{GROUP}00000"]


def test_a_change_to_a_group_selects_all_of_it(
    scheduler: Scheduler, read: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duebell_editor.listing.listing._MOST_TASKS", 60)
    add(scheduler, 8_000)
    add(scheduler, 700, prefix=GROUP, due=HOUR * 2)
    selected = scheduler.editor.select("pause", prefix=GROUP, limit=500)
    assert (len(selected.ids), selected.is_all) == (500, False)
    assert scheduler.editor.select("pause", prefix=GROUP, limit=2_000).is_all
    assert read["tasks"] == 2 * 700
    assert read["keys"] <= 2 * 4 * 700


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_each_is_found_once_in_order_of_the_ids(editor: Editor, limit: int) -> None:
    ids = [f"sale-{number}" for number in range(30)]
    editor.add_many({"action": "act", "due": HOUR, "id": id} for id in [*ids, "other"])
    found = pages(editor.find, "sale-", limit=limit)
    assert [id for page in found for id in page] == sorted(ids)
    assert all(len(page) == limit for page in found[:-1])


def test_what_has_ended_is_found_too_but_for_history_that_has_expired(scheduler: Scheduler) -> None:
    for status in Status:
        scheduler.become(scheduler.editor.add("act", due=HOUR, id=f"t-{status}"), status)
    assert pages(scheduler.editor.find, "t-", limit=100) == [sorted(f"t-{status}" for status in Status)]
    scheduler.clock.now = NOON + KEEP + HOUR
    rest = [["t-blocked", "t-paused"], ["t-running", "t-scheduled"]]
    assert pages(scheduler.editor.find, "t-", limit=2) == rest


def fail(scheduler: Scheduler, task: Task, failure: Failure) -> None:
    """Have an attempt fail for good, now."""
    after = task.failed(failure, now=scheduler.clock.now, keep=RetentionPolicy(retention=KEEP))
    assert scheduler.store.save(task, after)


@pytest.fixture
def failed(scheduler: Scheduler) -> Scheduler:
    """A scheduler in which five tasks failed, one of them recurring, within five hours."""
    for number, (id, action, failure) in enumerate(
        [
            ("t-1", "charge", TIMEOUT),
            ("t-2", "charge", TIMEOUT),
            ("d-1", "charge", DECLINED),
            ("m-1", "mail", TIMEOUT),
        ]
    ):
        scheduler.clock.now = NOON + number * HOUR
        fail(scheduler, scheduler.editor.add(action, due=HOUR, id=id, payload={"n": id}), failure)
    scheduler.clock.now = NOON + 4 * HOUR
    fail(scheduler, scheduler.editor.add("charge", schedule="rate(1 hour)", id="hourly"), TIMEOUT)
    scheduler.editor.add("charge", schedule="rate(1 hour)", id="well")
    return scheduler


def listed(failed: Scheduler, **which: Any) -> list[str]:
    return ids(failed.editor.list(**which))


def test_failures_are_grouped_by_action_and_error_the_largest_first(failed: Scheduler) -> None:
    failed.clock.now = NOON + 5 * HOUR
    fail(failed, failed.editor.add("mail", due=HOUR), TIMEOUT)
    found = failed.editor.failures()
    assert [(one.action, one.error, one.failed, one.failing) for one in found.groups] == [
        ("charge", "TimeoutError", 2, ("hourly",)),
        ("mail", "TimeoutError", 2, ()),
        ("charge", "CardDeclined", 1, ()),
    ]
    largest = found.groups[0]
    assert (largest.first_at, largest.last_at) == (NOON, NOON + 4 * HOUR)
    assert "\n" not in largest.message
    assert found.is_all


def test_a_bounded_look_says_so(failed: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "MOST_READ", 3)
    # Then the recurring task, and the latest of the others
    found = failed.editor.failures()
    assert [(one.action, one.error, one.failing) for one in found.groups] == [
        ("charge", "TimeoutError", ("hourly",)),
        ("mail", "TimeoutError", ()),
        ("charge", "CardDeclined", ()),
    ]
    assert not found.is_all


def test_failing_tasks_are_listed_with_the_failed_ones_the_latest_of_all(failed: Scheduler) -> None:
    both = ["failed", "failing"]
    assert listed(failed, status=both, latest_first=True) == ["hourly", "m-1", "d-1", "t-2", "t-1"]
    assert listed(failed, status=both) == ["t-1", "t-2", "d-1", "m-1", "hourly"]
    assert listed(failed, status="failing") == ["hourly"]
    # And once, where they are asked for in two ways
    assert sorted(listed(failed, status=["scheduled", "failing"])) == ["hourly", "well"]
    assert sorted(listed(failed, status="scheduled")) == ["hourly", "well"]
    # And the status names one of them
    for said in ("the recurring task 'hourly'", "2 recurring tasks, such as 'hourly',"):
        problems = {problem.kind: problem.what for problem in failed.editor.status().problems}
        assert problems[ProblemKind.FAILING_TASKS] == f"the last occurrence of {said} failed"
        fail(failed, failed.editor.get("well"), DECLINED)


@pytest.mark.parametrize("latest_first", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_go_on_through_failing_and_failed(failed: Scheduler, limit: int, *, latest_first: bool) -> None:
    for number in range(3):
        fail(failed, failed.editor.add("act", schedule="rate(1 hour)", id=f"also-{number}"), DECLINED)
    both = ["failed", "failing"]
    found = all_ids(failed.editor.list, status=both, latest_first=latest_first, limit=limit)
    assert len(found) == len(set(found)) == 8
    failing, ended = (found[:4], found[4:]) if latest_first else (found[4:], found[:4])
    assert sorted(failing) == ["also-0", "also-1", "also-2", "hourly"]
    assert ended == (["m-1", "d-1", "t-2", "t-1"] if latest_first else ["t-1", "t-2", "d-1", "m-1"])


def test_tasks_are_found_by_error_and_by_text_in_their_id_or_payload(failed: Scheduler) -> None:
    assert listed(failed, status="failed", error="CardDeclined") == ["d-1"]
    assert not listed(failed, status="failed", error="Card")
    assert listed(failed, status="failed", text='"n":"m') == ["m-1"]
    assert sorted(listed(failed, text="el")) == ["well"]
    assert not listed(failed, text="nothing")


def test_recurring_tasks_are_listed_those_that_fail_first(scheduler: Scheduler) -> None:
    # Given recurring tasks of each kind, and others
    editor = scheduler.editor
    for id in ("d-runs", "c-new", "b-paused", "a-cancelled", "e-fails"):
        editor.add("act", schedule="rate(1 hour)", id=id)
    for id in ("once", "once-paused"):
        editor.add("act", due=HOUR, id=id)
    for id, status in (
        ("b-paused", Status.PAUSED),
        ("a-cancelled", Status.CANCELLED),
        ("once-paused", Status.PAUSED),
        ("d-runs", Status.RUNNING),
        ("e-fails", Status.FAILED),
    ):
        scheduler.become(editor.get(id), status)
    # Then
    for limit in (1, 3, 4, 1000):
        assert all_ids(editor.schedules, limit=limit) == ["e-fails", "c-new", "d-runs", "b-paused"]
    assert all_ids(editor.schedules, prefix="b-") == ["b-paused"]
    assert editor.schedules(limit=4).cursor is None
