"""The size of lanes: told by writes of one item, of which each lane gets one when someone has asked."""

from typing import Any

from msgspec.structs import replace

from duebell_shared.backend import Backend
from duebell_shared.queue.lane_sizes import GIGABYTE, LaneSizes
from duebell_shared.settings import Settings
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.simulation.wire.clients import backend_over, calm_network
from tests.support import NOON, Calls

BATCH = "BatchExecuteStatement"


def estimate(lane: int, most: float) -> dict[str, Any]:
    """As the answer to UpdateItem has it."""
    return {"ItemCollectionKey": {"lane": {"S": str(lane)}}, "SizeEstimateRangeGB": [most - 1, most]}


def tasks(lane: int, count: int, *, name: str) -> list[Task]:
    return [
        replace(new_task(id=f"{name}{number}", action="act", due=NOON, payload=None, now=NOON), lane=lane)
        for number in range(count)
    ]


def test_a_lane_of_nine_gigabytes_is_nearly_full_for_a_minute() -> None:
    now = 0.0
    sizes = LaneSizes(lambda: now)
    assert not sizes.is_nearly_full(3)
    sizes.note(estimate(3, 9.0))
    assert not sizes.is_nearly_full(3)
    sizes.note(estimate(3, 10.0))
    now = 59.9
    assert (sizes.is_nearly_full(3), sizes.is_nearly_full(2)) == (True, False)
    now = 60.0
    assert not sizes.is_nearly_full(3)
    # From then on its adds go alone, until one says that it holds less
    assert sizes.to_measure([3, 2, 3], are_adds=True) == [0, 2]
    sizes.note(estimate(3, 9.0))
    assert sizes.to_measure([3, 2, 3], are_adds=True) == []


def test_one_of_a_thousand_adds_to_each_lane_goes_alone() -> None:
    sizes = LaneSizes()
    assert [sizes.to_measure([0, 1, 0], are_adds=True) for _ in range(499)] == [[]] * 499
    assert sizes.to_measure([0, 1, 0], are_adds=True) == [2]
    assert sizes.to_measure([1] * 501, are_adds=True) == [499]
    assert sizes.to_measure([0] * 999, are_adds=True) == []


def test_a_queue_that_is_written_in_batches_is_measured_too(backend: Backend, calls: Calls) -> None:
    # Given a queue of two lanes that is written in batches
    store = backend.store
    given = [*tasks(0, 5, name="a"), *tasks(1, 5, name="b")]
    assert store.insert_many(given) == [True] * 10
    assert calls == {BATCH: 1}

    def claim() -> list[Task]:
        keys = [QueueKey(queued=NOON, id=task.id, lane=task.lane) for task in given]
        claimed = store.claim_many(keys, run="run", now=NOON, status=Status.SCHEDULED)
        return [each for each in claimed if isinstance(each, Task)]

    # When its sizes are asked for, then each lane is measured with what is written next, whatever that is
    store.lane_sizes()
    calls.clear()
    running = claim()
    assert [task.id for task in running] == [task.id for task in given]
    assert calls == {"UpdateItem": 2, BATCH: 1}
    calls.clear()
    back = [(task, task.given_back()) for task in running]
    assert store.save_many(back) == [True] * 10
    assert calls == {BATCH: 1}
    store.lane_sizes()
    calls.clear()
    assert store.save_many([(task, task.given_back()) for task in claim()]) == [True] * 10
    assert calls == {"UpdateItem": 2, BATCH: 2}
    store.lane_sizes()
    calls.clear()
    assert store.insert_many([*tasks(0, 3, name="c"), *tasks(1, 3, name="d")]) == [True] * 6
    assert calls == {"PutItem": 2, BATCH: 1}


def test_the_table_answers_how_much_its_lanes_hold() -> None:
    network, process = calm_network()
    store = backend_over(network, process, Settings()).store
    network.dynamodb.sizes.of["1"] = 3 * GIGABYTE
    [one], [two] = tasks(0, 1, name="a"), tasks(1, 1, name="b")
    store.insert(one)
    store.insert(two)
    assert store.lane_sizes() == {0: GIGABYTE, 1: 4 * GIGABYTE}
    assert store.save(two, two.moved(NOON, now=NOON))
    assert store.lane_sizes() == {1: 4 * GIGABYTE}
    assert store.save(one, None)
    assert store.lane_sizes() == {0: GIGABYTE}
