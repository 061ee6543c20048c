"""The API's counts of coming and ended tasks, and its stream of changes."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from duebell import Status
from duebell_editor.listing import history as history_module
from duebell_editor.listing import timeline
from duebell_editor.listing.queue_counts import snapshot
from duebell_editor.listing.timeline import Step
from duebell_shared.tasks.history import Result
from duebell_shared.tasks.status import RetentionPolicy
from tests.editor.memory import KEEP, Scheduler
from tests.support import NOON

BERLIN = ZoneInfo("Europe/Berlin")


@given(
    minutes=st.lists(st.integers(min_value=-10, max_value=150), max_size=60),
    step=st.sampled_from([Step.MINUTE, Step.HOUR]),
    page=st.integers(min_value=1, max_value=9),
)
@settings(deadline=None, max_examples=60)
def test_every_count_is_right_or_says_that_it_stands_for_one_lane(
    minutes: list[int], step: Step, page: int
) -> None:
    # Given any queue
    scheduler = Scheduler.start()
    tasks = [scheduler.editor.add("x", due=NOON + timedelta(minutes=minute)) for minute in minutes]
    # When its buckets are counted, by so many keys of each lane
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline, "LARGEST_PAGE", page)
        buckets = timeline.timeline(scheduler.editor.queue, NOON, step, 100, zone=BERLIN)
    # Then they are right, or the sum of those that are estimates is four times that of one lane
    within = [
        [task for task in tasks if task.queued and one.start <= task.queued < one.end] for one in buckets
    ]
    exact = sum(not one.is_estimate for one in buckets)
    assert [one.count for one in buckets[:exact]] == [len(some) for some in within[:exact]]
    of_one_lane = sum(task.lane == 0 for some in within[exact:] for task in some)
    assert sum(one.count for one in buckets[exact:]) == 4 * of_one_lane


def test_days_are_those_of_the_time_zone_when_clocks_change() -> None:
    days = timeline.edges(datetime(2026, 10, 24, 22, 30, tzinfo=UTC), Step.DAY, 2, BERLIN)
    assert [f"{day:%d %H:%M}" for day in days] == ["24 22:00", "25 23:00", "26 23:00"]


def test_ended_tasks_are_counted_in_the_bucket_of_their_end(
    client: TestClient, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given tasks that were done, failed and cancelled, and one that recurs
    editor = scheduler.editor
    for id, status in (("a", Status.DONE), ("b", Status.FAILED), ("c", Status.CANCELLED), ("d", Status.DONE)):
        scheduler.become(editor.add("x", due=timedelta(0), id=id), status)
    task = editor.add("report", schedule="rate(10 minutes)", id="r")
    scheduler.clock.advance(timedelta(minutes=70))
    running = scheduler.become(task, Status.RUNNING)
    over = running._concluded(
        Result.DONE, now=scheduler.clock.now, keep=RetentionPolicy(retention=KEEP), failure=None
    )
    assert scheduler.store.save(running, over)
    # And many that only wait, before it
    for n in range(1000):
        editor.add("x", due=timedelta(minutes=1), id=f"w-{n}")
    # Then each counts once, in its hour
    found = client.get("/api/history?start=2026-11-21T12:34:56Z&step=hour&count=2").json()
    first, second = found["buckets"]
    assert found["is_all"]
    assert (first["done"], first["failed"], first["skipped"]) == (2, 1, 0)
    assert (second["done"], second["lateness_max_ms"]) == (1, 3_600_000)
    # And where as many are read as a page holds, there may be more
    monkeypatch.setattr(history_module, "LARGEST_PAGE", 1)
    assert not client.get("/api/history?start=2026-11-21T12:34:56Z&step=hour&count=2").json()["is_all"]


def test_looks_differ_when_something_has_changed_and_not_otherwise(scheduler: Scheduler) -> None:
    editor = scheduler.editor
    editor.add("x", due=timedelta(days=1), id="a")
    looks = [snapshot(editor.queue)]
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: editor.add("x", due=timedelta(days=2), id="b"),
        lambda: editor.move("b", due=timedelta(days=3)),
        lambda: editor.pause("b"),
    ]
    for change in changes:
        change()
        looks.append(snapshot(editor.queue))
    differ = [before != after for before, after in itertools.pairwise(looks)]
    assert differ == [False, True, True, True]


def test_of_many_recurring_tasks_some_stand_for_all(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given recurring tasks that have had an occurrence each, and more of them than are read in full
    monkeypatch.setattr(history_module, "_READ", 3)
    tasks = [scheduler.editor.add("x", schedule="rate(1 hour)", id=f"r{n}") for n in range(9)]
    scheduler.clock.advance(timedelta(hours=1))
    for task in tasks:
        scheduler.become(task, Status.DONE)
    # Then all are counted, and it is said that these are estimates
    found = scheduler.editor.past_timeline(NOON, count=4)
    assert sum(bucket.done for bucket in found.buckets) == 9
    assert all(bucket.is_estimate for bucket in found.buckets)


def test_tasks_are_found_by_the_beginning_of_their_ids(client: TestClient, scheduler: Scheduler) -> None:
    for id in ("sale-1", "sale-2", "other"):
        scheduler.editor.add("x", due=timedelta(hours=1), id=id, payload={"n": id})
    first = client.get("/api/find?prefix=sale-&limit=1&brief=true").json()
    assert first["tasks"][0]["payload_start"] == '{"n":"sale-1"}'
    rest = client.get("/api/find", params={"prefix": "sale-", "cursor": first["cursor"]}).json()
    assert [task["id"] for task in rest["tasks"]] == ["sale-2"]
    for wrong in ("", "?prefix=", "?prefix=a&limit=0", "?prefix=a&cursor="):
        assert client.get(f"/api/find{wrong}").status_code == 422
