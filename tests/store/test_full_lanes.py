"""A lane that holds all that it may: nothing more is added, and everything in it runs all the same."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from duebell_shared.backend import Backend
from duebell_shared.errors import QueueFull
from duebell_shared.keeping import Keeping
from duebell_shared.queue.store import Failed, Saved, Store
from duebell_shared.settings import Settings
from duebell_shared.tasks.failure import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import QueueKey, Status, Task
from tests.full_lanes import bytes_in_lanes, lanes_hold
from tests.simulation.wire.calm import calm_network
from tests.simulation.wire.clients import backend_over
from tests.support import NOON, Calls

pytestmark = [pytest.mark.moto, pytest.mark.slow]

KEEP, HOUR = Keeping(), timedelta(hours=1)
LONG = Failure(type="ValueError", message="x" * 2_000, traceback="y" * 4_000)
#: As many digits as the lateness of a task can well have.
YEARS = timedelta(days=40_000, milliseconds=123_456_789)

RUN = "0123456789abcdef" * 3


class Lanes:
    """The store, what its first lane holds, and a limit on its lanes from a moment on."""

    def __init__(self, store: Store, size: Callable[[], int], limit: Callable[[int], object]) -> None:
        self.store = store
        self.size = size
        self._limit = limit

    def fill(self) -> int:
        """From now on no item becomes larger, also if others become smaller; what the first lane holds."""
        self._limit(0)
        return self.size()


@pytest.fixture(params=["moto", "wire"])
def lanes(request: pytest.FixtureRequest) -> Iterator[Lanes]:
    if request.param == "wire":
        network, process = calm_network()
        sizes = network.dynamodb.sizes
        store = backend_over(network, process, Settings(), in_full=True).store
        yield Lanes(store, lambda: sizes.of["0"], lambda most: setattr(sizes, "most", most))
        return
    backend = request.getfixturevalue("backend")
    with ExitStack() as stack:
        yield Lanes(
            backend.store,
            lambda: bytes_in_lanes()["0"],
            lambda most: stack.enter_context(lanes_hold(most)),
        )


def task(id: str = "one", payload: object = None, *, recurs: bool = False) -> Task:
    if recurs:
        return new_task(id=id, action="act", schedule="rate(1 hour)", payload=payload, now=NOON)
    return new_task(id=id, action="act", due=NOON, payload=payload, now=NOON)


def key(task: Task) -> QueueKey:
    assert task.queued
    return QueueKey(queued=task.queued, id=task.id, lane=task.lane)


def claimed(store: Store, task: Task, *, late: timedelta = HOUR, status: Status = Status.SCHEDULED) -> Task:
    assert task.queued
    found = store.claim(key(task), run=RUN[task.attempt % 2 :][:32], now=task.queued + late, status=status)
    assert found
    return found


def stored(store: Store, task: Task) -> Task:
    found = store.get(task.lane, task.id)
    assert found
    return found


@pytest.mark.parametrize("late", [timedelta(0), timedelta(milliseconds=100), HOUR, YEARS])
def test_a_claim_makes_an_item_no_larger(lanes: Lanes, late: timedelta) -> None:
    # Given a lane that is full with a task that was just added
    store = lanes.store
    store.insert(task())
    size = lanes.fill()
    # When it is claimed, however late, then the lane takes it
    running = claimed(store, task(), late=late)
    assert size - 16 <= lanes.size() <= size
    # And so it does when the run dies, and another claims it
    again = claimed(store, running, late=2 * late, status=Status.RUNNING)
    assert (again.attempt, lanes.size() <= size) == (2, True)


def test_a_full_lane_takes_no_task_and_says_what_to_do(lanes: Lanes) -> None:
    store = lanes.store
    store.insert(task())
    lanes.fill()
    with pytest.raises(QueueFull, match="duebell relane") as raised:
        store.insert(task("two"))
    assert (raised.value.id, raised.value.lane) == ("two", 0)
    two, three = store.insert_many([task("two"), task("three")])
    assert isinstance(two, Failed)
    assert isinstance(two.error, QueueFull)
    assert isinstance(three, Failed)
    assert isinstance(three.error, QueueFull)
    assert store.get(0, "two") is None
    # And neither does a task grow there, unless it is by what came of it
    with pytest.raises(QueueFull):
        store.save(task(), task().updated(payload="x" * 500, now=NOON))
    assert stored(store, task()) == task()
    assert store.save(task(), task().moved(NOON + HOUR, now=NOON))


def test_a_refused_task_is_not_tried_again(backend: Backend, calls: Calls) -> None:
    backend.store.insert(task())
    calls.clear()
    with lanes_hold(bytes_in_lanes()["0"]):
        with pytest.raises(QueueFull):
            backend.store.insert(task("two"))
        assert calls == {"PutItem": 1, "GetItem": 1}  # it looks whether an unanswered try has stored it
        calls.clear()
        backend.store.insert_many([task(f"{number}") for number in range(25)])
        assert calls == {"BatchExecuteStatement": 1}


def test_what_came_of_a_task_is_stored_in_a_full_lane(lanes: Lanes) -> None:
    # Given a full lane with tasks that run
    store, tasks = lanes.store, [task(id) for id in ("done", "failed", "retried", "cancelled", "deleted")]
    running = []
    for each in tasks:
        store.insert(each)
        running.append(claimed(store, each))
    size = lanes.fill()
    done, failed, retried, cancelled, deleted = running
    # When outcomes are written that would make them larger
    changes = [
        (retried, retried.to_retry(NOON + HOUR, LONG, now=NOON)),
        (failed, failed.failed(LONG, now=NOON, keep=KEEP)),
        (done, done.done(now=NOON, keep=KEEP)),
        (cancelled, cancelled.cancelled(now=NOON, keep=KEEP)),
        (deleted, None),
    ]
    assert store.save_many(changes[:2]) == [Saved(), Saved()]
    assert lanes.size() <= size
    assert store.save_many(changes[2:]) == [Saved()] * 3
    # Then they are as they should be, but for words
    after = [store.get(0, each.id) for each in tasks]
    assert [each and each.status for each in after] == [
        Status.DONE,
        Status.FAILED,
        Status.SCHEDULED,
        Status.CANCELLED,
        None,
    ]
    was_failed, was_retried = after[1], after[2]
    assert was_failed
    assert was_failed.failure
    assert was_failed.failure.type == "ValueError"
    assert was_retried
    assert (was_retried.queued, was_retried.failure, was_retried.rev) == (NOON + HOUR, None, 3)


@pytest.mark.parametrize("fails", [False, True])
def test_a_recurring_task_goes_on_in_a_full_lane_for_as_long_as_it_takes(lanes: Lanes, fails: bool) -> None:
    # Given a lane that is full with a recurring task that has had no occurrence yet
    store, now = lanes.store, task(recurs=True)
    store.insert(now)
    size = lanes.fill()
    # When it has its occurrences, more of them than some counters have digits for
    for number in range(104):
        running = claimed(store, now, late=timedelta(milliseconds=number)).caught_up()
        assert running.started_at
        ended = running.started_at + timedelta(seconds=1)
        over = running.failed(LONG, now=ended, keep=KEEP) if fails else running.done(now=ended, keep=KEEP)
        assert store.save(stored(store, now), over)
        now = stored(store, now)
        # Then each is written, and the lane is no fuller than before
        assert now.status is Status.SCHEDULED
        assert lanes.size() <= size
    assert now.runs == 104


def test_a_task_that_is_retried_again_and_again_is_written_in_a_full_lane(lanes: Lanes) -> None:
    store, now = lanes.store, task()
    store.insert(now)
    size = lanes.fill()
    for _ in range(104):
        running = claimed(store, now, late=timedelta(days=3))
        begun = running.beginning(running.attempt)
        assert store.save(running, begun)
        assert store.save(begun, begun.to_retry(NOON, LONG, now=NOON))
        now = stored(store, now)
        assert lanes.size() <= size
    assert now.attempt == 104


def test_no_more_is_cut_than_must_be(lanes: Lanes) -> None:
    # Given a full lane, with a task in it that has failed with a traceback before
    store = lanes.store
    store.insert(task())
    running = claimed(store, task())
    store.save(running, running.to_retry(NOON, LONG, now=NOON))
    running = claimed(store, stored(store, task()))
    lanes.fill()
    # When it fails again with more to tell
    more = Failure(type="ValueError", message="x" * 2_500, traceback="y" * 8_000)
    assert store.save(running, running.to_retry(NOON, more, now=NOON))
    # Then the traceback gives way, and the words stay
    after = stored(store, task())
    assert after.failure == Failure(type="ValueError", message="x" * 2_500)
    assert len(after.failures) == 2


def test_an_edit_does_not_cut_what_a_task_has_behind_it(lanes: Lanes) -> None:
    # Given a full lane, with a task in it that has failed
    store = lanes.store
    store.insert(task())
    running = claimed(store, task())
    store.save(running, running.to_retry(NOON, LONG, now=NOON))
    before = stored(store, task())
    lanes.fill()
    # When it is to get a larger payload, then that is refused, and its failure is all there
    with pytest.raises(QueueFull):
        store.save(before, before.updated(payload="x" * 100, now=NOON))
    assert stored(store, task()) == before


def test_a_failure_leaves_the_room_that_the_next_claim_needs(lanes: Lanes) -> None:
    # Given a full lane, with a task in it that has failed, always started on time
    store, now = lanes.store, task()
    store.insert(now)
    running = claimed(store, now, late=timedelta(0))
    store.save(running, running.to_retry(NOON, Failure(type="ValueError", message=""), now=NOON))
    lanes.fill()
    # When it fails again and again, and tells a little more each time
    for number in range(33):
        running = claimed(store, stored(store, now), late=timedelta(0))
        more = Failure(type="ValueError", message="x" * number)
        assert store.save(running, running.to_retry(NOON, more, now=NOON))
    # Then it can be claimed still, years late
    assert claimed(store, stored(store, now), late=YEARS).attempt == 35


def test_another_change_meanwhile_is_not_overwritten(lanes: Lanes) -> None:
    store = lanes.store
    store.insert(task())
    running = claimed(store, task())
    moved = running.moved(NOON + HOUR, now=NOON)
    assert store.save(running, moved)
    lanes.fill()
    assert store.save(running, running.failed(LONG, now=NOON, keep=KEEP)) is False
    assert stored(store, task()) == moved
