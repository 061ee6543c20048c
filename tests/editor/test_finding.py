"""Finding tasks by the beginning of their ids: of any status, from all lanes, page by page."""

from datetime import timedelta

import pytest

from duebell import Editor, Status
from tests.editor.memory import KEEP, Scheduler
from tests.editor.paging import pages
from tests.support import NOON, Calls

HOUR = timedelta(hours=1)


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
    assert pages(scheduler.editor.find, "t-", limit=2) == [
        ["t-blocked", "t-paused"],
        ["t-running", "t-scheduled"],
    ]


def test_it_costs_one_read_for_each_lane(editor: Editor, calls: Calls) -> None:
    editor.add_many({"action": "act", "due": HOUR, "id": f"sale-{number}"} for number in range(200))
    calls.clear()
    assert len(editor.find("sale-1", limit=50).tasks) == 50
    assert dict(calls) == {"GetItem": 1, "Query": 4}
