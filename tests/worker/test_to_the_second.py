"""Precision "second": a run waits for due dates, and of several one takes the lanes of the others over."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from duebell import Editor
from duebell_shared.bell.arming import HEAD_START, ArmingRecord
from duebell_shared.bell.expression import LEAD
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.settings import Precision
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.memory import in_lane, memory_backend
from tests.worker.other_runs import Other
from tests.worker.scene import DUE, MINUTE, SECOND, Scene
from tests.worker.stage import Stage

#: The time within which a waiting run sees a change of the arming record.
LOOK = timedelta(seconds=0.25)


@pytest.fixture
def scene(clock: Clock, stage: Stage) -> Scene:
    """A worker with two places, whose runs wait to the second."""
    return Scene(clock, pool=stage, places=2, calls=True, parallel_runs=1, precision=Precision.SECOND)


def once(clock: Clock, moment: datetime, what: Callable[[], object]) -> Callable[..., None]:
    """Do this once, when it is that time or later."""
    done: list[bool] = []

    def act(*_: object) -> None:
        if clock.now >= moment and not done:
            done.append(True)
            what()

    return act


@pytest.mark.parametrize("seconds", [0, 59])
def test_wherever_in_its_minute_the_rule_rings_it_is_before_the_due_date(scene: Scene, seconds: int) -> None:
    due = DUE + timedelta(seconds=seconds)
    scene.editor.add("act", due=due)
    rings_at = scene.editor.status().rings_at
    assert rings_at
    assert due - HEAD_START <= rings_at
    assert rings_at + MINUTE <= due - 10 * SECOND


def test_a_run_does_not_wait_for_what_the_rule_can_ring_for_in_time(scene: Scene) -> None:
    stays = HEAD_START + LEAD
    scene.editor.add("act", due=NOON + stays + SECOND)
    report = scene.worker.run(time_left=5 * MINUTE)
    assert (scene.starts, scene.clock.now) == ([], NOON)
    assert report.rings_at
    assert report.rings_at + MINUTE < NOON + stays


def test_a_task_that_is_added_meanwhile_is_started_in_time_and_the_rule_left_alone(scene: Scene) -> None:
    # Given a run that waits
    scene.editor.add("act", due=NOON + 100 * SECOND)
    puts: list[int] = []

    def add() -> None:
        before = scene.bell.puts
        for seconds in (11.5, 40):
            scene.editor.add("act", due=NOON + seconds * SECOND)
        puts.append(scene.bell.puts - before)

    # When tasks are added that are due sooner
    scene.store.on_read = once(scene.clock, NOON + 10 * SECOND, add)
    report = scene.worker.run(time_left=5 * MINUTE)
    # Then these are started in time as well, and adding them has not set the rule
    assert scene.starts == [NOON + 11.5 * SECOND, NOON + 40 * SECOND, NOON + 100 * SECOND]
    assert (report.lateness_max_ms, puts) == (0, [0])


def test_while_an_action_takes_long_others_start_in_time(scene: Scene, stage: Stage) -> None:
    scene.worker.action("long")(lambda: stage.sleep(70))
    scene.editor.add("long", due=NOON)
    dues = [NOON + timedelta(seconds=seconds) for seconds in (0.5, 3, 7.125, 30, 69)]
    for due in dues:
        scene.editor.add("act", due=due)
    scene.worker.run(time_left=5 * MINUTE)
    assert scene.starts == dues


def test_a_run_stops_waiting_in_good_time_and_gives_the_lanes_back(scene: Scene) -> None:
    scene.editor.add("act", due=NOON + 60 * SECOND)
    report = scene.worker.run(time_left=50 * SECOND)
    assert (scene.starts, scene.clock.now) == ([], NOON + 40 * SECOND)
    assert scene.backend.armer.read().lanes_of(report.run) == ()
    assert report.rings_at == NOON + 2 * MINUTE


def test_the_workers_precision_is_what_editors_go_by(scene: Scene) -> None:
    # Given an editor that knows nothing of it, and a rule armed to the minute
    plain = memory_backend(scene.clock, scene.store, bell=scene.bell)
    editor = Editor(backend=plain)
    editor.add("act", due=DUE)
    assert editor.status().rings_at == DUE
    # When a worker with precision "second" has run once
    scene.worker.run(time_left=MINUTE)
    # Then the rule rings early enough, and for what that editor adds too
    assert editor.status().rings_at == DUE - 2 * MINUTE
    editor.add("act", due=DUE - 30 * MINUTE)
    assert editor.status().rings_at == DUE - 32 * MINUTE
    # And a worker without turns that back
    scene.worker.over(plain).run(time_left=MINUTE)
    assert editor.status().rings_at == DUE - 30 * MINUTE


# Several runs wait: one takes the lanes of the others over, and nothing is lost or late.


def test_a_run_that_only_waits_gives_its_lanes_to_one_that_takes_them_over(scene: Scene) -> None:
    # Given a run that waits for a task, beside another that does
    due = NOON + 100 * SECOND
    other = Other(scene.backend, 0, 1)
    scene.editor.add("act", due=due, id=in_lane(2))
    scene.called.events.clear()
    # When the other one says that it takes lanes over
    scene.store.on_read = once(scene.clock, NOON + 10 * SECOND, other.takes_over)
    report = scene.worker.run(time_left=5 * MINUTE)
    # Then it holds all of them, and the run ends at once and calls nobody
    assert scene.clock.now <= NOON + 10 * SECOND + 2 * LOOK
    record = scene.backend.armer.read()
    assert record.lanes_of("other") == (0, 1, 2, 3)
    assert record.lanes[2].due == due
    assert record.is_settled(scene.clock.now)
    assert report.rings_at == NOON + LEASE
    assert scene.called.events == []


def test_a_run_gives_its_lanes_only_when_nothing_is_under_way_in_them(scene: Scene, stage: Stage) -> None:
    other = Other(scene.backend, 0, 1)
    scene.worker.action("long")(lambda: stage.sleep(30))
    scene.editor.add("long", due=NOON, id=in_lane(2))
    scene.editor.add("act", due=NOON + 100 * SECOND, id=in_lane(3))
    given: list[datetime] = []

    def note(new: ArmingRecord) -> None:
        if len(new.lanes_of("other")) == 4:
            given.append(scene.clock.now)

    scene.store.on_read = once(scene.clock, NOON + 10 * SECOND, other.takes_over)
    scene.store.on_write = note
    report = scene.worker.run(time_left=5 * MINUTE)
    assert report.done == 1
    assert given[0] == NOON + 30 * SECOND


def test_what_is_due_is_started_before_lanes_are_given(scene: Scene) -> None:
    # Given a run that is about to give its lanes to another one
    other = Other(scene.backend, 0, 1)
    scene.editor.add("act", due=NOON + 100 * SECOND, id=in_lane(2))
    scene.store.on_read = once(scene.clock, NOON + 10 * SECOND, other.takes_over)
    # When a task is added that is due at once, after its lane's head was read
    added: list[datetime] = []

    def add() -> None:
        added.append(scene.clock.now)
        scene.editor.add("act", due=timedelta(0), id=in_lane(2, name="late"))

    scene.store.on_head = once(scene.clock, NOON + 10 * SECOND, add)
    scene.worker.run(time_left=5 * MINUTE)
    # Then it starts that first
    assert scene.starts == added
    assert scene.backend.armer.read().lanes_of("other") == (0, 1, 2, 3)


def test_when_its_time_is_over_a_run_gives_its_lanes_to_one_that_waits(scene: Scene) -> None:
    # Given a run whose time ends before a task is due, or while it is
    other = Other(scene.backend, 0, 1)
    scene.editor.add("act", due=NOON + 40 * SECOND, id=in_lane(2))
    scene.called.events.clear()
    # When another one takes over at that moment
    scene.store.on_head = once(scene.clock, NOON + 40 * SECOND, other.takes_over)
    scene.worker.run(time_left=50 * SECOND)
    # Then no successor is called
    assert scene.clock.now == NOON + 40 * SECOND
    assert scene.backend.armer.read().lanes_of("other") == (0, 1, 2, 3)
    assert scene.called.events == []


def test_a_run_that_was_given_lanes_renews_them_too(scene: Scene) -> None:
    # Given a run that was given lanes it has not seen yet
    run = Lease.claim(scene.backend.armer, "run", scene.clock, only=[0])
    run.arm()
    other = Other(scene.backend, 2)
    run.next_due()
    run.take_over()
    other.gives()
    # When it renews its lease, then it holds these for longer as well, and knows them
    scene.clock.advance(MINUTE)
    run.renew()
    assert run.lanes == (0, 2)
    record = scene.backend.armer.read()
    assert [record.lanes[lane].until for lane in (0, 2)] == [scene.clock.now + LEASE] * 2
    assert record.is_settled(scene.clock.now)


def test_a_run_that_waits_takes_lanes_over_and_starts_what_is_due_in_them(scene: Scene) -> None:
    # Given two runs that wait, each for a task
    other = Other(scene.backend, 2)
    scene.editor.add("act", due=NOON + 40 * SECOND, id=in_lane(2))
    scene.editor.add("act", due=NOON + 60 * SECOND, id=in_lane(0))
    # When one has said that it takes lanes over, and the other one gives it its own
    scene.store.on_read = once(scene.clock, NOON + 10 * SECOND, other.gives)
    report = scene.worker.run(time_left=5 * MINUTE)
    # Then it starts both at their second
    assert scene.starts == [NOON + 40 * SECOND, NOON + 60 * SECOND]
    assert (report.lanes, report.lost_lease) == (4, False)


def test_lanes_that_are_given_to_a_run_that_is_about_to_end_are_looked_at(scene: Scene) -> None:
    # Given a run that has nothing more to do, and gives its lanes back
    other = Other(scene.backend, 2)
    scene.editor.add("act", due=NOON + 20 * SECOND, id=in_lane(0))
    due = NOON + 90 * SECOND
    scene.editor.add("act", due=due, id=in_lane(2))
    # When it is given others just before it does so
    gives = once(scene.clock, NOON + 20 * SECOND, other.gives)
    scene.store.on_write = lambda _: gives()
    scene.worker.run(time_left=5 * MINUTE)
    # Then it stays for what is in them, and gives them back as well in the end
    assert scene.starts == [NOON + 20 * SECOND, due]
    assert all(lane.owner is None for lane in scene.backend.armer.read().lanes)


def test_a_run_that_is_alone_writes_nothing_about_taking_over(scene: Scene) -> None:
    written: list[ArmingRecord] = []
    scene.store.on_write = written.append
    scene.editor.add("act", due=NOON + 30 * SECOND)
    scene.worker.run(time_left=5 * MINUTE)
    assert len(scene.starts) == 1
    assert all(record.taker is None for record in written)
