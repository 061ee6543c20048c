"""Several runs wait to the second: one takes the lanes of the others over, and nothing is lost or late."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from duebell import Editor, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.settings import Precision
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import in_lane, memory_backend
from tests.worker.other_runs import Other
from tests.worker.stage import Stage

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

#: How long a run that waits may take to see what is in the arming record.
LOOK = timedelta(seconds=0.25)


@pytest.fixture
def store() -> HookedStore:
    return HookedStore()


@pytest.fixture
def backend(clock: Clock, store: HookedStore, called: Called) -> Backend:
    return called.by(memory_backend(clock, store, parallel_runs=1, precision=Precision.SECOND))


@pytest.fixture
def worker(backend: Backend, stage: Stage) -> Worker:
    return Worker(backend=backend, pool=stage, concurrency=2)


@pytest.fixture
def starts(worker: Worker, clock: Clock) -> list[datetime]:
    """When the action `act` was started."""
    starts: list[datetime] = []
    worker.action("act")(lambda: starts.append(clock.now))
    return starts


def once(clock: Clock, moment: datetime, what: Callable[[], object]) -> Callable[..., None]:
    """Do this once, when it is that time or later."""
    done: list[bool] = []

    def act(*_: object) -> None:
        if clock.now >= moment and not done:
            done.append(True)
            what()

    return act


def test_a_run_that_only_waits_gives_its_lanes_to_one_that_takes_them_over(
    editor: Editor, worker: Worker, backend: Backend, store: HookedStore, *, clock: Clock, called: Called
) -> None:
    # Given a run that waits for a task, beside another that does
    due = NOON + 100 * SECOND
    other = Other(backend, 0, 1)
    editor.add("act", due=due, id=in_lane(2))
    called.events.clear()
    # When the other one says that it takes lanes over
    store.on_read = once(clock, NOON + 10 * SECOND, other.takes_over)
    report = worker.run(time_left=5 * MINUTE)
    # Then it holds all of them, and the run ends at once and calls nobody
    assert clock.now <= NOON + 10 * SECOND + 2 * LOOK
    record = backend.armer.read()
    assert record.lanes_of("other") == (0, 1, 2, 3)
    assert record.lanes[2].due == due
    assert record.is_settled(clock.now)
    assert report.rings_at == NOON + LEASE
    assert called.events == []


def test_a_run_gives_its_lanes_only_when_nothing_is_under_way_in_them(
    editor: Editor, worker: Worker, backend: Backend, store: HookedStore, *, clock: Clock, stage: Stage
) -> None:
    other = Other(backend, 0, 1)
    worker.action("long")(lambda: stage.sleep(30))
    editor.add("long", due=NOON, id=in_lane(2))
    editor.add("act", due=NOON + 100 * SECOND, id=in_lane(3))
    given: list[datetime] = []

    def note(new: ArmingRecord) -> None:
        if len(new.lanes_of("other")) == 4:
            given.append(clock.now)

    store.on_read = once(clock, NOON + 10 * SECOND, other.takes_over)
    store.on_write = note
    report = worker.run(time_left=5 * MINUTE)
    assert report.done == 1
    assert given[0] == NOON + 30 * SECOND


def test_what_is_due_is_started_before_lanes_are_given(
    editor: Editor,
    worker: Worker,
    backend: Backend,
    store: HookedStore,
    *,
    clock: Clock,
    starts: list[datetime],
) -> None:
    # Given a run that is about to give its lanes to another one
    other = Other(backend, 0, 1)
    editor.add("act", due=NOON + 100 * SECOND, id=in_lane(2))
    store.on_read = once(clock, NOON + 10 * SECOND, other.takes_over)
    # When a task is added that is due at once, after its lane's head was read
    added: list[datetime] = []

    def add() -> None:
        added.append(clock.now)
        editor.add("act", due=timedelta(0), id=in_lane(2, name="late"))

    store.on_head = once(clock, NOON + 10 * SECOND, add)
    worker.run(time_left=5 * MINUTE)
    # Then it starts that first
    assert starts == added
    assert backend.armer.read().lanes_of("other") == (0, 1, 2, 3)


def test_when_its_time_is_over_a_run_gives_its_lanes_to_one_that_waits(
    editor: Editor, worker: Worker, backend: Backend, store: HookedStore, *, clock: Clock, called: Called
) -> None:
    # Given a run whose time ends before a task is due, or while it is
    other = Other(backend, 0, 1)
    editor.add("act", due=NOON + 40 * SECOND, id=in_lane(2))
    called.events.clear()
    # When another one takes over at that moment
    store.on_head = once(clock, NOON + 40 * SECOND, other.takes_over)
    worker.run(time_left=50 * SECOND)
    # Then no successor is called
    assert clock.now == NOON + 40 * SECOND
    assert backend.armer.read().lanes_of("other") == (0, 1, 2, 3)
    assert called.events == []


def test_a_run_that_was_given_lanes_renews_them_too(backend: Backend, clock: Clock) -> None:
    # Given a run that was given lanes it has not seen yet
    run = Lease.claim(backend.armer, "run", clock, only=[0])
    run.arm()
    other = Other(backend, 2)
    run.next_due()
    run.take_over()
    other.gives()
    # When it renews its lease, then it holds these for longer as well, and knows them
    clock.advance(MINUTE)
    run.renew()
    assert run.lanes == (0, 2)
    record = backend.armer.read()
    assert [record.lanes[lane].until for lane in (0, 2)] == [clock.now + LEASE] * 2
    assert record.is_settled(clock.now)


def test_a_run_that_waits_takes_lanes_over_and_starts_what_is_due_in_them(
    editor: Editor,
    worker: Worker,
    backend: Backend,
    store: HookedStore,
    *,
    clock: Clock,
    starts: list[datetime],
) -> None:
    # Given two runs that wait, each for a task
    other = Other(backend, 2)
    editor.add("act", due=NOON + 40 * SECOND, id=in_lane(2))
    editor.add("act", due=NOON + 60 * SECOND, id=in_lane(0))
    # When one has said that it takes lanes over, and the other one gives it its own
    store.on_read = once(clock, NOON + 10 * SECOND, other.gives)
    report = worker.run(time_left=5 * MINUTE)
    # Then it starts both at their second
    assert starts == [NOON + 40 * SECOND, NOON + 60 * SECOND]
    assert (report.lanes, report.lost_lease) == (4, False)


def test_lanes_that_are_given_to_a_run_that_is_about_to_end_are_looked_at(
    editor: Editor,
    worker: Worker,
    backend: Backend,
    store: HookedStore,
    *,
    clock: Clock,
    starts: list[datetime],
) -> None:
    # Given a run that has nothing more to do, and gives its lanes back
    other = Other(backend, 2)
    editor.add("act", due=NOON + 20 * SECOND, id=in_lane(0))
    due = NOON + 90 * SECOND
    editor.add("act", due=due, id=in_lane(2))
    # When it is given others just before it does so
    gives = once(clock, NOON + 20 * SECOND, other.gives)
    store.on_write = lambda _: gives()
    worker.run(time_left=5 * MINUTE)
    # Then it stays for what is in them, and gives them back as well in the end
    assert starts == [NOON + 20 * SECOND, due]
    assert all(lane.owner is None for lane in backend.armer.read().lanes)


def test_a_run_that_is_alone_writes_nothing_about_taking_over(
    editor: Editor, worker: Worker, store: HookedStore, starts: list[datetime]
) -> None:
    written: list[ArmingRecord] = []
    store.on_write = written.append
    editor.add("act", due=NOON + 30 * SECOND)
    worker.run(time_left=5 * MINUTE)
    assert len(starts) == 1
    assert all(record.taker is None for record in written)
