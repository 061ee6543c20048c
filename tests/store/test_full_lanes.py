"""A lane that is nearly full takes no new tasks; one that is full still takes the outcomes of what runs."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError, QueueFull
from duebell_shared.queue.lane_sizes import GIGABYTE
from duebell_shared.queue.lane_sizes import LaneSizes as KnownSizes
from duebell_shared.queue.store import Store
from duebell_shared.tasks.follow_up import FollowUp
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.simulation.wire.dynamodb import DynamoDb, LaneSizes
from tests.support import NOON, Calls

KEEP, HOUR = RetentionPolicy(), timedelta(hours=1)
TYPE = Failure(type="ValueError", message="")
LONG = Failure(type="ValueError", message="x" * 2_000, traceback="y" * 4_000)
BATCH = "BatchExecuteStatement"


@pytest.fixture
def store(backend: Backend) -> Store:
    return backend.store


@pytest.fixture
def sizes(tables: Mapping[str, DynamoDb]) -> LaneSizes:
    return tables["duebell"].sizes


def task(id: str = "one", *, recurs: bool = False) -> Task:
    when: dict[str, Any] = {"schedule": "rate(1 hour)"} if recurs else {"due": NOON}
    return new_task(id=id, action="act", now=NOON, **when)


def claimed(store: Store, task: Task) -> Task:
    assert task.queued
    key = QueueKey(queued=task.queued, id=task.id, lane=task.lane)
    [result] = store.claim_many([key], run="r" * 32, now=task.queued + HOUR, status=Status.SCHEDULED)
    assert isinstance(result, Task)
    return result


def stored(store: Store, task: Task) -> Task:
    found = store.get(task.lane, task.id)
    assert found
    return found


def test_a_lane_that_is_nearly_full_takes_no_new_task(store: Store, sizes: LaneSizes, calls: Calls) -> None:
    # Given a lane of which a write said that it holds nine gigabytes
    sizes.of["0"] = 9 * GIGABYTE
    assert store.insert(task())
    # When more is added, then that is refused without a write
    calls.clear()
    with pytest.raises(QueueFull, match="duebell relane") as raised:
        store.insert(task("two"))
    assert (raised.value.id, raised.value.lane) == ("two", 0)
    assert [type(one) for one in store.insert_many([task("two"), task("three")])] == [QueueFull] * 2
    assert set(calls) == {"GetItem"}
    # But an id that is taken is said to be, other lanes take tasks, and what is there runs and ends
    assert store.insert(task()) is False
    assert store.insert_many([task(), replace(task("two"), lane=1)]) == [False, True]
    running = claimed(store, task())
    assert store.save_many([(running, running.done(now=NOON, keep=KEEP))]) == [True]


def test_a_full_lane_that_was_not_measured_refuses_what_makes_it_larger(
    store: Store, sizes: LaneSizes, calls: Calls
) -> None:
    store.insert(task())
    sizes.most = 0
    calls.clear()
    with pytest.raises(QueueFull):
        store.insert(task("two"))
    assert calls == {"PutItem": 1, "GetItem": 1}  # it looks whether an unanswered try has stored it
    calls.clear()
    assert all(isinstance(one, DuebellError) for one in store.insert_many([task(f"{n}") for n in range(25)]))
    assert calls == {BATCH: 1}
    # And a task does not grow there, unless that is the outcome of an attempt
    with pytest.raises(QueueFull):
        store.save(task(), task().updated(payload="x" * 500, now=NOON))
    key = QueueKey(queued=NOON, id="one", lane=0)
    with pytest.raises(QueueFull):
        store.claim(key, run="r", now=NOON, status=Status.SCHEDULED)
    assert stored(store, task()) == task()
    assert store.save(task(), task().moved(NOON + HOUR, now=NOON))


def test_every_outcome_is_stored_in_a_full_lane(store: Store, sizes: LaneSizes) -> None:
    # Given tasks that run, in a lane that is full by now
    tasks = [task(id) for id in ("done", "failed", "retried", "cancelled", "deleted")]
    for each in tasks:
        store.insert(each)
    done, failed, retried, cancelled, deleted = (claimed(store, each) for each in tasks)
    sizes.most, before = 0, sizes.of["0"]
    # When outcomes are written that would make them larger
    changes = [
        (retried, retried.to_retry(NOON + HOUR, LONG, now=NOON)),
        (failed, failed.failed(LONG, now=NOON, keep=KEEP)),
        (done, done.done(now=NOON, keep=KEEP)),
        (cancelled, cancelled.cancelled(now=NOON, keep=KEEP)),
        (deleted, None),
    ]
    assert store.save_many(changes) == [True] * 5
    # Then they are as they should be, but for parts that only inform
    assert sizes.of["0"] <= before
    after = [store.get(0, each.id) for each in tasks]
    ends = [Status.DONE, Status.FAILED, Status.SCHEDULED, Status.CANCELLED, None]
    assert [each and each.status for each in after] == ends
    assert after[2]
    assert (after[2].queued, after[2].failure, after[2].run, after[2].rev) == (NOON + HOUR, TYPE, None, 3)


def test_a_follow_up_gives_way_to_the_outcome(store: Store, sizes: LaneSizes) -> None:
    given = replace(task(), then=FollowUp(action="next"))
    store.insert(given)
    running = claimed(store, given)
    over = running.done(now=NOON, keep=KEEP)
    assert over.owes
    sizes.most = 0
    assert store.save(running, over)
    after = stored(store, given)
    assert (after.status, after.owes, after.follow_up_error) == (Status.DONE, None, "its lane is full")


def test_a_result_gives_way_to_the_outcome(store: Store, sizes: LaneSizes) -> None:
    store.insert(task())
    running = claimed(store, task())
    sizes.most = 0
    assert store.save(running, running.done(now=NOON, keep=KEEP, result_json=json.dumps("x" * 4_000)))
    after = stored(store, task())
    assert (after.status, after.result, after.result_error) == (Status.DONE, None, "its lane is full")


def test_another_change_meanwhile_is_not_overwritten(store: Store, sizes: LaneSizes) -> None:
    store.insert(task())
    running = claimed(store, task())
    moved = running.moved(NOON + HOUR, now=NOON)
    assert store.save(running, moved)
    sizes.most = 0
    assert store.save(running, running.failed(LONG, now=NOON, keep=KEEP)) is False
    assert stored(store, task()) == moved


# The size of lanes: told by writes of one item, of which each lane gets one when someone has asked.


def estimate(lane: int, most: float) -> dict[str, Any]:
    """As the answer to UpdateItem has it."""
    return {"ItemCollectionKey": {"lane": {"S": str(lane)}}, "SizeEstimateRangeGB": [most - 1, most]}


def tasks(lane: int, count: int, *, name: str) -> list[Task]:
    return [replace(task(f"{name}{number}"), lane=lane) for number in range(count)]


def test_a_lane_of_nine_gigabytes_is_nearly_full_for_a_minute() -> None:
    now = 0.0
    known = KnownSizes(lambda: now)
    assert not known.is_nearly_full(3)
    known.note(estimate(3, 9.0))
    assert not known.is_nearly_full(3)
    known.note(estimate(3, 10.0))
    now = 59.9
    assert (known.is_nearly_full(3), known.is_nearly_full(2)) == (True, False)
    now = 60.0
    assert not known.is_nearly_full(3)
    # From then on its adds go alone, until one says that it holds less
    assert known.to_measure([3, 2, 3], are_adds=True) == [0, 2]
    known.note(estimate(3, 9.0))
    assert known.to_measure([3, 2, 3], are_adds=True) == []


def test_one_of_a_thousand_adds_to_each_lane_goes_alone() -> None:
    known = KnownSizes()
    assert [known.to_measure([0, 1, 0], are_adds=True) for _ in range(499)] == [[]] * 499
    assert known.to_measure([0, 1, 0], are_adds=True) == [2]
    assert known.to_measure([1] * 501, are_adds=True) == [499]
    assert known.to_measure([0] * 999, are_adds=True) == []


def test_a_queue_that_is_written_in_batches_is_measured_too(store: Store, calls: Calls) -> None:
    # Given a queue of two lanes that is written in batches
    given = [*tasks(0, 5, name="a"), *tasks(1, 5, name="b")]
    assert store.insert_many(given) == [True] * 10
    assert calls == {BATCH: 1}

    def claim() -> list[Task]:
        keys = [QueueKey(queued=NOON, id=one.id, lane=one.lane) for one in given]
        claimed = store.claim_many(keys, run="run", now=NOON, status=Status.SCHEDULED)
        return [each for each in claimed if isinstance(each, Task)]

    # When its sizes are asked for, then each lane is measured with what is written next, whatever that is
    store.lane_sizes()
    calls.clear()
    running = claim()
    assert [one.id for one in running] == [one.id for one in given]
    assert calls == {"UpdateItem": 2, BATCH: 1}
    calls.clear()
    back = [(one, one.given_back()) for one in running]
    assert store.save_many(back) == [True] * 10
    assert calls == {BATCH: 1}
    store.lane_sizes()
    calls.clear()
    assert store.save_many([(one, one.given_back()) for one in claim()]) == [True] * 10
    assert calls == {"UpdateItem": 2, BATCH: 2}
    store.lane_sizes()
    calls.clear()
    assert store.insert_many([*tasks(0, 3, name="c"), *tasks(1, 3, name="d")]) == [True] * 6
    assert calls == {"PutItem": 2, BATCH: 1}


def test_the_table_answers_how_much_its_lanes_hold(store: Store, sizes: LaneSizes) -> None:
    sizes.of["1"] = 3 * GIGABYTE
    one, two = task("one"), replace(task("two"), lane=1)
    store.insert(one)
    store.insert(two)
    assert store.lane_sizes() == {0: GIGABYTE, 1: 4 * GIGABYTE}
    assert store.save(two, two.moved(NOON, now=NOON))
    assert store.lane_sizes() == {1: 4 * GIGABYTE}
    assert store.save(one, None)
    assert store.lane_sizes() == {0: GIGABYTE}
