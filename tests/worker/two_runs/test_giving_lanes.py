"""Several runs wait to the second: all but one give their lanes to it, and nothing is lost or late."""

from datetime import datetime, timedelta

from duebell import Editor, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.run_rules import LEASE
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import in_lane
from tests.worker.stage import Stage
from tests.worker.two_runs.scene import LOOK, MINUTE, SECOND, Other, once


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
