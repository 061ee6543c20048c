"""Several runs wait to the second: one takes the lanes of the others over, and nothing is lost or late."""

from datetime import datetime

from duebell import Editor, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.run_rules import LEASE
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import in_lane
from tests.worker.two_runs.scene import MINUTE, SECOND, Other, once


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
