"""Ended tasks are found by time in the index of the past; some are deleted by their end."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from duebell_shared.queue.places import Past, PastKey
from duebell_shared.queue.store import Store
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import History, RetentionPolicy, Status
from duebell_shared.tasks.task import Task
from tests.store.conftest import LATER, key, task
from tests.support import NOON

KEEP = RetentionPolicy()
FAILURE = Failure(type="E", message="")
MINUTE = timedelta(minutes=1)


def claimed(store: Store, one: Task, now: datetime = LATER) -> Task:
    running = store.claim(key(one), run="run", now=now, status=Status.SCHEDULED)
    assert running
    return running


def end_each(store: Store, keep: RetentionPolicy) -> None:
    """Have a task end in each way, with that for its id."""
    ends: dict[str, Callable[[Task], Task]] = {
        "done": lambda one: one.done(now=LATER, keep=keep),
        "failed": lambda one: one.failed(FAILURE, now=LATER, keep=keep),
        "expired": lambda one: one.expired(now=LATER, keep=keep),
        "cancelled": lambda one: one.cancelled(now=LATER, keep=keep),
    }
    for id, end in ends.items():
        assert store.insert(task(id))
        running = claimed(store, task(id))
        assert store.save(running, end(running))


def past(store: Store, kind: Past, lane: int = 0) -> list[str]:
    return [key.id for key in store.past(lane, kind)]


def test_each_kind_is_found_by_itself(store: Store) -> None:
    end_each(store, KEEP)
    paused = task("paused")
    assert store.insert_many([task("waits"), paused]) == [True] * 2
    assert store.save(paused, paused.paused())
    assert store.insert(replace(task("blocked"), status=Status.BLOCKED, queued=None))
    found = {kind.value: past(store, kind) for kind in Past}
    assert found == {
        **{kind: [kind] for kind in ("done", "failed", "expired", "cancelled", "paused", "blocked")},
        "paused-recurring": [],
        "recurring": [],
        "recurring-failing": [],
    }
    assert all(past(store, kind, lane=1) == [] for kind in Past)


def recurring(id: str) -> Task:
    return new_task(id=id, action="act", schedule="rate(1 hour)", start=NOON, now=NOON)


def test_a_recurring_task_is_found_by_how_its_last_occurrence_ended(store: Store) -> None:
    one = recurring("one")
    assert store.insert(one)
    assert past(store, Past.RECURRING) == ["one"]  # before it ever ran
    for fails in (False, True, True, False):
        kind, other = (Past.FAILING, Past.RECURRING) if fails else (Past.RECURRING, Past.FAILING)
        assert one.queued
        running = claimed(store, one, one.queued)
        end = {"now": one.queued, "keep": KEEP}
        after = running.failed(FAILURE, **end) if fails else running.done(**end)  # type: ignore[arg-type]
        assert store.save(running, after)
        assert store.get(0, "one") == after
        one = after
        assert past(store, kind) == ["one"]
        assert past(store, other) == []
    assert store.save(one, one.paused())
    assert past(store, Past.PAUSED_RECURRING) == ["one"]
    assert past(store, Past.PAUSED) == []
    assert past(store, Past.RECURRING) == []


@pytest.mark.parametrize("page_size", [2, 200])
def test_all_that_recurs_is_found_together_and_nothing_else(store: Store, page_size: int) -> None:
    # Given recurring tasks that never ran, run, fail, are paused or have ended, and tasks that run once
    paused = recurring("paused").paused()
    tasks = [
        recurring("new"),
        replace(recurring("runs"), status=Status.RUNNING),
        recurring("fails").failed(FAILURE, now=LATER, keep=KEEP),
        paused,
        recurring("cancelled").cancelled(now=LATER, keep=KEEP),
        task("once").paused(),
        task("failed").failed(FAILURE, now=LATER, keep=KEEP),
    ]
    assert store.insert_many(tasks) == [True] * len(tasks)
    # Then those in the queue or paused are found, kind by kind
    found = list(store.past(0, Past.PAUSED_RECURRING, last=Past.FAILING, page_size=page_size))
    assert {(key.id, key.kind) for key in found} == {
        ("new", Past.RECURRING),
        ("runs", Past.RECURRING),
        ("fails", Past.FAILING),
        ("paused", Past.PAUSED_RECURRING),
    }
    assert [key.kind for key in found] == sorted(key.kind for key in found)
    assert found[0].at == paused.due
    assert list(store.past(1, Past.PAUSED_RECURRING, last=Past.FAILING)) == []


@pytest.fixture
def ten(store: Store) -> list[PastKey]:
    """Ten tasks that failed, two at each of five minutes."""
    times = [LATER + number // 2 * MINUTE for number in range(10)]
    tasks = [task(f"t{number}").failed(FAILURE, now=at, keep=KEEP) for number, at in enumerate(times)]
    assert store.insert_many(tasks) == [True] * 10
    found = list(store.past(0, Past.FAILED))
    assert [key.at for key in found] == times
    return found


def test_a_stretch_of_the_past_is_listed_with_both_its_ends(store: Store, ten: list[PastKey]) -> None:
    stretch = list(store.past(0, Past.FAILED, after=LATER + MINUTE, before=LATER + 2 * MINUTE))
    assert stretch == ten[2:6]
    assert list(store.past(0, Past.FAILED, after=LATER + MINUTE, before=LATER)) == []
    assert list(store.past(0, Past.DONE, after=LATER)) == []


def test_the_past_goes_on_behind_each_place_in_both_directions(store: Store, ten: list[PastKey]) -> None:
    assert list(store.past(0, Past.FAILED, latest_first=True)) == ten[::-1]
    for number, place in enumerate(ten):
        assert list(store.past(0, Past.FAILED, after=place)) == ten[number + 1 :]
        assert list(store.past(0, Past.FAILED, before=place, latest_first=True)) == ten[:number][::-1]


def test_the_past_is_counted_up_to_a_bound(store: Store, ten: list[PastKey]) -> None:
    assert store.count_past(0, Past.FAILED, most=1000) == len(ten)
    assert store.count_past(0, Past.FAILED, most=3) == 3
    assert store.count_past(0, Past.DONE, most=1000) == 0
    assert store.count_past(1, Past.FAILED, most=1000) == 0
    assert store.count_past(0, Past.EXPIRED, last=Past.FAILED, most=1000) == len(ten)
    assert store.count_past(0, Past.EXPIRED, last=Past.FAILED, most=3) == 3
    assert store.count_past(0, Past.DONE, last=Past.EXPIRED, most=1000) == 0


@pytest.mark.parametrize("history", [History.FAILED, History.NONE])
def test_what_is_not_to_be_listed_is_found_by_its_id(store: Store, history: History) -> None:
    end_each(store, RetentionPolicy(history=history))
    assert {kind for kind in Past if past(store, kind)} == {Past.FAILED, Past.EXPIRED}
    for id in ("done", "cancelled", "failed", "expired"):
        assert store.get(0, id)


def test_a_done_task_keeps_no_large_payload(store: Store) -> None:
    one = task("one", payload_json='"' + "ü" * 20 + '"')
    assert store.insert(one)
    running = claimed(store, one)
    kept = running.done(now=LATER, keep=RetentionPolicy(payload=42))
    assert (kept.payload_json, kept.payload_dropped) == (one.payload_json, None)
    after = running.done(now=LATER, keep=RetentionPolicy(payload=41))
    assert store.save(running, after)
    stored = store.get(0, "one")
    assert stored == after
    assert (stored.payload, stored.payload_dropped) == (None, 42)
    # But one that failed keeps it, to be retried
    failed = running.failed(FAILURE, now=LATER, keep=RetentionPolicy(payload=0))
    assert failed.payload_json == one.payload_json


# Deletions.


def test_another_task_of_the_same_id_and_rev_is_not_taken_for_it(store: Store) -> None:
    # Given a task that runs, is deleted, and another that was added by the same id, and runs as well
    first, second = task("one"), task("one", created_at=NOON + MINUTE)
    assert store.insert(first)
    running = claimed(store, first)
    assert store.save(running, None)
    assert store.insert(second)
    other = claimed(store, second)
    assert other.rev == running.rev
    # When the outcome of the first comes
    for outcome in (running.done(now=LATER, keep=KEEP), None):
        assert not store.save(running, outcome)
        assert store.save_many([(running, outcome), (task("none"), task("none").paused())]) == [
            False,
            False,
        ]
    # Then it is nothing to the second
    assert store.get(0, "one") == other


def test_many_are_changed_and_deleted_at_once(store: Store) -> None:
    tasks = [task(f"t{number}") for number in range(4)]
    assert store.insert_many(tasks) == [True] * 4
    there = [claimed(store, one) for one in tasks]
    done = there[1].done(now=LATER, keep=KEEP)
    old = tasks[3]  # at another rev
    assert store.save_many([(there[0], None), (there[1], done), (there[2], None), (old, None)]) == [
        True, True, True, False,
    ]  # fmt: skip
    assert [store.get(0, one.id) for one in tasks] == [None, done, None, there[3]]
