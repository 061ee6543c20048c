"""Groups of tasks, whose ids begin alike: listed and changed for what the group holds, in order of time."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, InvalidQuery, Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.editor.memory import Scheduler
from tests.editor.paging import pages
from tests.support import Calls

HOUR = timedelta(hours=1)
GROUP = "customer-42/"


def add(scheduler: Scheduler, count: int, *, prefix: str = "", due: timedelta = HOUR) -> None:
    step = timedelta(milliseconds=1)
    tasks = ({"action": "act", "due": due + n * step, "id": f"{prefix}{n:05}"} for n in range(count))
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
    calls.clear()
    assert len(editor.list(prefix=GROUP).tasks) == 5
    assert dict(calls) == {"GetItem": 1, "Query": 4}
    calls.clear()
    assert len(editor.select("cancel", prefix=GROUP).ids) == 5
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


def test_no_page_is_empty_while_there_is_a_match(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
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
