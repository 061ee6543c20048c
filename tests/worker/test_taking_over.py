"""Several runs wait to the second: all but one give their lanes to it, and nothing is lost or late."""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from duebell_editor import Editor
from duebell_infra.testing import MemoryStore
from duebell_infra.testing.bell import Bell
from duebell_shared.arming import ArmingRecord
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsUnavailable
from duebell_shared.instants import NEVER
from duebell_shared.rule import Rule
from duebell_shared.settings import Precision, Settings
from duebell_shared.task import QueueKey
from duebell_worker import Worker
from duebell_worker.lease import LEASE, Lease
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.stage import Stage

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

#: How long a run that waits may take to see what is in the arming record.
LOOK = timedelta(seconds=0.25)


class WatchedStore(MemoryStore):
    """A queue in memory; something can happen when the record or a head is read, or the record written."""

    def __init__(self) -> None:
        super().__init__()
        self.on_read: Callable[[], object] = lambda: None
        self.on_head: Callable[[], object] = lambda: None
        self.on_write: Callable[[ArmingRecord], object] = lambda _: None

    def read_record(self) -> ArmingRecord | None:
        self.on_read()
        return super().read_record()

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        head = super().head(lane, skipping=skipping)
        self.on_head()
        return head

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        self.on_write(new)
        return super().swap_record(old, new)


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


@pytest.fixture
def called() -> Called:
    return Called()


@pytest.fixture
def backend(clock: Clock, store: WatchedStore, called: Called) -> Backend:
    rule = Rule("duebell", Bell().client, clock=clock, sleep=clock.sleep)
    settings = Settings(lanes=4, max_runs=1, precision=Precision.SECOND)
    return called.by(Backend(settings, store, rule, clock=clock, sleep=clock.sleep))


@pytest.fixture
def editor(backend: Backend) -> Editor:
    return Editor(backend=backend)


class Other:
    """Another run, which holds these lanes and waits."""

    def __init__(self, backend: Backend, *lanes: int) -> None:
        self._backend = backend
        self.lease = Lease.claim(backend.armer, "other", backend.clock, only=lanes)
        self.lease.arm()

    def takes_over(self) -> None:
        """Say so, and not the run under test, which was the first to see that there are two."""
        self._backend.armer.change(lambda record: replace(record, taker="other"))

    def gives(self) -> None:
        """Give its lanes to the run that takes them over."""
        self.lease.clear()
        heads = {lane: MemoryStore.head(self._store, lane) for lane in self.lease.lanes}
        assert self.lease.release(heads, unless_due_within=MINUTE, to_taker=True) is None

    @property
    def _store(self) -> WatchedStore:
        assert isinstance(self._backend.store, WatchedStore)
        return self._backend.store


def once(clock: Clock, moment: datetime, what: Callable[[], object]) -> Callable[[], None]:
    """Do this once, when it is that time or later."""
    done: list[bool] = []

    def act() -> None:
        if clock.now >= moment and not done:
            done.append(True)
            what()

    return act


def in_lane(editor: Editor, lane: int, *, name: str = "task") -> str:
    return next(id for n in range(99) if editor.queue.lane_of(id := f"{name}-{n}") == lane)


@pytest.fixture
def worker(backend: Backend, stage: Stage) -> Worker:
    return Worker(backend=backend, pool=stage, concurrency=2)


@pytest.fixture
def starts(worker: Worker, clock: Clock) -> list[datetime]:
    """When the action `act` was started."""
    starts: list[datetime] = []
    worker.action("act")(lambda: starts.append(clock.now))
    return starts


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


def test_a_run_that_was_given_lanes_hands_over_only_its_own(backend: Backend, clock: Clock) -> None:
    # Given a run with two lanes that was given another one it has not seen yet
    run = Lease.claim(backend.armer, "run", clock, only=[0, 1])
    run.arm()
    other = Other(backend, 2)
    run.next_due()
    run.take_over()
    run.clear()
    other.gives()
    # When it hands a lane over, then it holds what is left and what it was given
    run.hand_over({1: NEVER})
    assert run.lanes == (0, 2)
    assert backend.armer.read().lanes_of("run") == (0, 2)


def test_a_run_that_only_waits_gives_its_lanes_to_one_that_takes_them_over(
    editor: Editor, worker: Worker, backend: Backend, store: WatchedStore, *, clock: Clock, called: Called
) -> None:
    # Given a run that waits for a task, beside another that does
    due = NOON + 100 * SECOND
    other = Other(backend, 0, 1)
    editor.add("act", due=due, id=in_lane(editor, 2))
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


def test_lanes_are_never_free_while_they_are_given(
    editor: Editor, worker: Worker, backend: Backend, store: WatchedStore, clock: Clock
) -> None:
    other = Other(backend, 0, 1)
    editor.add("act", due=NOON + 100 * SECOND, id=in_lane(editor, 2))
    store.on_read = once(clock, NOON + 10 * SECOND, other.takes_over)
    freed: list[ArmingRecord] = []

    def note(new: ArmingRecord) -> None:
        if clock.now > NOON and any(lane.is_free(clock.now) for lane in new.lanes):
            freed.append(new)

    store.on_write = note
    worker.run(time_left=5 * MINUTE)
    assert backend.armer.read().lanes_of("other") == (0, 1, 2, 3)
    assert freed == []


def test_a_run_that_waits_takes_lanes_over_and_starts_what_is_due_in_them(
    editor: Editor,
    worker: Worker,
    backend: Backend,
    store: WatchedStore,
    *,
    clock: Clock,
    starts: list[datetime],
) -> None:
    # Given two runs that wait, each for a task
    other = Other(backend, 2)
    editor.add("act", due=NOON + 40 * SECOND, id=in_lane(editor, 2))
    editor.add("act", due=NOON + 60 * SECOND, id=in_lane(editor, 0))
    # When one has said that it takes lanes over, and the other one gives it its own
    store.on_read = once(clock, NOON + 10 * SECOND, other.gives)
    report = worker.run(time_left=5 * MINUTE)
    # Then it starts both at their second
    assert starts == [NOON + 40 * SECOND, NOON + 60 * SECOND]
    assert (report.lanes, report.lost_lease) == (4, False)


def test_what_is_due_at_once_in_lanes_that_are_given_is_started_at_the_next_look(
    editor: Editor,
    worker: Worker,
    backend: Backend,
    store: WatchedStore,
    *,
    clock: Clock,
    starts: list[datetime],
) -> None:
    other = Other(backend, 2)
    given_at = NOON + 10 * SECOND
    due = given_at + SECOND / 10
    editor.add("act", due=due, id=in_lane(editor, 2))
    editor.add("act", due=NOON + 60 * SECOND, id=in_lane(editor, 0))
    store.on_read = once(clock, given_at, other.gives)
    worker.run(time_left=5 * MINUTE)
    assert due <= starts[0] <= due + LOOK


def test_lanes_that_are_given_to_a_run_that_is_about_to_end_are_looked_at(
    editor: Editor,
    worker: Worker,
    backend: Backend,
    store: WatchedStore,
    *,
    clock: Clock,
    starts: list[datetime],
) -> None:
    # Given a run that has nothing more to do, and gives its lanes back
    other = Other(backend, 2)
    editor.add("act", due=NOON + 20 * SECOND, id=in_lane(editor, 0))
    due = NOON + 90 * SECOND
    editor.add("act", due=due, id=in_lane(editor, 2))
    # When it is given others just before it does so
    gives = once(clock, NOON + 20 * SECOND, other.gives)
    store.on_write = lambda _: gives()
    worker.run(time_left=5 * MINUTE)
    # Then it stays for what is in them, and gives them back as well in the end
    assert starts == [NOON + 20 * SECOND, due]
    assert all(lane.owner is None for lane in backend.armer.read().lanes)


def test_lanes_that_are_given_to_a_run_whose_time_is_over_are_given_back(
    editor: Editor, worker: Worker, backend: Backend, store: WatchedStore, *, clock: Clock, called: Called
) -> None:
    other = Other(backend, 2)
    due = NOON + 90 * SECOND
    editor.add("act", due=due, id=in_lane(editor, 2))
    editor.add("act", due=due, id=in_lane(editor, 0))
    called.events.clear()
    # When it is given others just before it gives its own back
    gives = once(clock, NOON + 40 * SECOND, other.gives)
    store.on_write = lambda _: gives()
    worker.run(time_left=50 * SECOND)
    record = backend.armer.read()
    assert all(lane.owner is None for lane in record.lanes)
    assert [record.lanes[lane].due for lane in (0, 2)] == [due, due]
    # For one successor
    assert called.events == [{"duebell": {}}]


def test_a_run_gives_its_lanes_only_when_nothing_is_under_way_in_them(
    editor: Editor, worker: Worker, backend: Backend, store: WatchedStore, *, clock: Clock, stage: Stage
) -> None:
    other = Other(backend, 0, 1)
    worker.action("long")(lambda: stage.sleep(30))
    editor.add("long", due=NOON, id=in_lane(editor, 2))
    editor.add("act", due=NOON + 100 * SECOND, id=in_lane(editor, 3))
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
    store: WatchedStore,
    *,
    clock: Clock,
    starts: list[datetime],
) -> None:
    # Given a run that is about to give its lanes to another one
    other = Other(backend, 0, 1)
    editor.add("act", due=NOON + 100 * SECOND, id=in_lane(editor, 2))
    store.on_read = once(clock, NOON + 10 * SECOND, other.takes_over)
    # When a task is added that is due at once, after its lane's head was read
    added: list[datetime] = []

    def add() -> None:
        added.append(clock.now)
        editor.add("act", due=timedelta(0), id=in_lane(editor, 2, name="late"))

    store.on_head = once(clock, NOON + 10 * SECOND, add)
    worker.run(time_left=5 * MINUTE)
    # Then it starts that first
    assert starts == added
    assert backend.armer.read().lanes_of("other") == (0, 1, 2, 3)


def test_a_run_that_is_alone_writes_nothing_about_taking_over(
    editor: Editor, worker: Worker, store: WatchedStore, starts: list[datetime]
) -> None:
    written: list[ArmingRecord] = []
    store.on_write = written.append
    editor.add("act", due=NOON + 30 * SECOND)
    worker.run(time_left=5 * MINUTE)
    assert len(starts) == 1
    assert all(record.taker is None for record in written)


def test_a_run_says_once_that_it_takes_over(
    editor: Editor, worker: Worker, backend: Backend, store: WatchedStore, starts: list[datetime]
) -> None:
    Other(backend, 1)
    editor.add("act", due=NOON + 30 * SECOND, id=in_lane(editor, 0))
    said: list[str] = []

    def note(new: ArmingRecord) -> None:
        if new.taker and store.record and not store.record.taker:
            said.append(new.taker)

    store.on_write = note
    report = worker.run(time_left=5 * MINUTE)
    assert said == [report.run]


def test_a_run_with_more_to_do_than_it_has_places_takes_no_lanes_over(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, *, stage: Stage, store: WatchedStore
) -> None:
    # Given a run that takes lanes over while it waits
    Other(backend, 1)
    takers: list[str | None] = []
    afterwards: list[str | None] = []

    @worker.action("act")
    def act() -> None:
        takers.append(store.record.taker if store.record else "")
        stage.sleep(1)
        afterwards.append(store.record.taker if store.record else "")

    before: list[str | None] = []
    note = once(clock, NOON + 20 * SECOND, lambda: before.append(store.record.taker if store.record else ""))
    store.on_read = note
    ids = [id for n in range(99) if editor.queue.lane_of(id := f"task-{n}") != 1][:6]
    editor.add_many({"action": "act", "due": NOON + 30 * SECOND, "id": id} for id in ids)
    editor.add("act", due=NOON + 60 * SECOND, id=in_lane(editor, 0, name="last"))
    # When more is due than it has places for
    report = worker.run(time_left=5 * MINUTE)
    # Then it does not, until it has a free place again
    assert before == [report.run]
    assert takers == [None] * 6 + [report.run]
    assert afterwards[:5] == [None] * 5


def test_a_run_that_had_more_to_do_than_it_has_places_gives_its_lanes_once_that_is_done(
    editor: Editor, worker: Worker, backend: Backend, store: WatchedStore, *, clock: Clock, stage: Stage
) -> None:
    # Given a run that has done more than it had places for, and waits
    other = Other(backend, 0, 1)
    worker.action("act")(lambda: stage.sleep(1))
    ids = [id for n in range(99) if editor.queue.lane_of(id := f"task-{n}") == 2][:6]
    editor.add_many({"action": "act", "due": NOON, "id": id} for id in ids)
    editor.add("act", due=NOON + 100 * SECOND, id=in_lane(editor, 3))
    # When another run takes over, then it gives its lanes
    store.on_read = once(clock, NOON + 20 * SECOND, other.takes_over)
    report = worker.run(time_left=5 * MINUTE)
    assert report.done == 6
    assert clock.now <= NOON + 20 * SECOND + 2 * LOOK
    assert backend.armer.read().lanes_of("other") == (0, 1, 2, 3)


def test_when_its_time_is_over_a_run_gives_its_lanes_to_one_that_waits(
    editor: Editor, worker: Worker, backend: Backend, store: WatchedStore, *, clock: Clock, called: Called
) -> None:
    # Given a run whose time ends before a task is due, or while it is
    other = Other(backend, 0, 1)
    editor.add("act", due=NOON + 40 * SECOND, id=in_lane(editor, 2))
    called.events.clear()
    # When another one takes over at that moment
    store.on_head = once(clock, NOON + 40 * SECOND, other.takes_over)
    worker.run(time_left=50 * SECOND)
    # Then no successor is called
    assert clock.now == NOON + 40 * SECOND
    assert backend.armer.read().lanes_of("other") == (0, 1, 2, 3)
    assert called.events == []


def test_when_its_time_is_over_a_run_with_too_much_to_do_calls_a_successor(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, *, stage: Stage, called: Called
) -> None:
    # Given a run with more to do than it has places for, and another one that takes over
    other = Other(backend, 0, 1)
    worker.action("act")(lambda: stage.sleep(1))
    ids = [id for n in range(999) if editor.queue.lane_of(id := f"task-{n}") == 2]
    editor.add_many({"action": "act", "due": NOON, "id": id} for id in ids)
    called.events.clear()
    worker.action("says")(other.takes_over)
    editor.add("says", due=NOON - SECOND, id=in_lane(editor, 3))
    # When its time is over
    report = worker.run(time_left=50 * SECOND)
    # Then what is left is for a successor, which is called, and not for the one that waits
    assert report.stopped_early
    record = backend.armer.read()
    assert (record.taker, record.lanes_of("other")) == ("other", (0, 1))
    assert called.events == [{"duebell": {}}]


def test_to_the_minute_nothing_is_given(
    clock: Clock, store: WatchedStore, called: Called, stage: Stage
) -> None:
    rule = Rule("duebell", Bell().client, clock=clock, sleep=clock.sleep)
    backend = called.by(Backend(Settings(), store, rule, clock=clock, sleep=clock.sleep))
    editor, worker = Editor(backend=backend), Worker(backend=backend, pool=stage)
    other = Other(backend, 0, 1)
    editor.add("act", due=NOON + MINUTE, id=in_lane(editor, 2))
    store.on_head = once(clock, NOON, other.takes_over)
    worker.run(time_left=5 * MINUTE)
    assert backend.armer.read().lanes_of("other") == (0, 1)


def test_a_table_that_does_not_answer_for_a_moment_does_not_end_the_waiting(
    editor: Editor,
    worker: Worker,
    backend: Backend,
    store: WatchedStore,
    *,
    clock: Clock,
    starts: list[datetime],
) -> None:
    # Given a run that cannot say that it takes over, nor that it does not
    Other(backend, 1)
    refused: list[datetime] = []

    def refuse(new: ArmingRecord) -> None:
        if store.record and new.taker != store.record.taker and len(refused) % 2 == 0:
            refused.append(clock.now)
            raise AwsUnavailable("so it is")
        refused.append(clock.now)

    ids = [id for n in range(99) if editor.queue.lane_of(id := f"task-{n}") != 1][:3]
    editor.add_many({"action": "act", "due": NOON + 30 * SECOND, "id": id} for id in ids)
    store.on_write = refuse
    # When what it waits for is due, then it starts that all the same
    worker.run(time_left=5 * MINUTE)
    assert len(refused) > 2
    assert starts == [NOON + 30 * SECOND] * 3
