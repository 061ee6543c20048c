"""Pages of any listing whatsoever: each task that is asked for exactly once, in order; and their bounds."""

import itertools
import math
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duebell import Status
from duebell_editor.listing.filters import make_filter
from duebell_editor.listing.listing import list_tasks
from duebell_infra.testing import MemoryStore
from duebell_shared.instants import NEVER
from duebell_shared.tasks.task import QueueKey
from tests.editor.memory import Scheduler
from tests.editor.paging import all_ids, pages
from tests.support import NOON

HOUR = timedelta(hours=1)
MILLISECOND = timedelta(milliseconds=1)


_DUES = st.lists(st.integers(min_value=0, max_value=4), max_size=12)
_STATUSES = st.sampled_from([None, list(Status), [Status.PAUSED], [Status.SCHEDULED, Status.CANCELLED]])


class OrderOfItsOwn(MemoryStore):
    """Tasks of the same moment come in an order that is not that of their ids."""

    def queued(
        self,
        lane: int,
        *,
        after: datetime | QueueKey | None = None,
        before: datetime | QueueKey = NEVER,
        latest_first: bool = False,
        page_size: int = 200,
    ) -> Iterator[QueueKey]:
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
    store: type[MemoryStore],
    dues: list[int],
    limit: int,
    status: list[Status] | None,
    group: tuple[str, int],
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
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given two thousand tasks at one moment
    scheduler.editor.add_many({"action": "act", "due": NOON + HOUR, "id": f"{n:04}"} for n in range(2000))
    read: list[QueueKey] = []
    queued = scheduler.store.queued

    def counted(lane: int, **bounds: Any) -> Iterator[QueueKey]:
        for key in queued(lane, **bounds):
            read.append(key)
            yield key

    monkeypatch.setattr(scheduler.store, "queued", counted)
    # When they are listed page by page, then each page reads its own keys, and one more of each lane
    found: list[str] = []
    which = make_filter(limit=90)
    while True:
        read.clear()
        page = list_tasks(scheduler.editor.queue, which)
        assert len(read) <= 90 + 1 + 4
        found += [task.id for task in page.tasks]
        if page.cursor is None:
            break
        which = which.following(page.cursor)
    assert sorted(found) == [f"{n:04}" for n in range(2000)]


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
