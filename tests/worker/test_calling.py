"""Direct calls of the worker: for what is due sooner than the rule rings, and for what a run has to leave."""

from datetime import timedelta

import pytest

from duebell import AwsUnavailable, Status, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.settings import Precision
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.memory import in_lane, memory_backend
from tests.worker.scene import HOUR, MINUTE, SECOND, Scene
from tests.worker.stage import Stage

#: The event of a run that takes all free lanes.
ALL: dict[str, object] = {"duebell": {}}


@pytest.fixture
def precision() -> Precision:
    return Precision.MINUTE


@pytest.fixture
def scene(clock: Clock, precision: Precision) -> Scene:
    return Scene(clock, calls=True, precision=precision, parallel_runs=1)


@pytest.mark.parametrize("by", ["retry", "run_now", "move", "resume"])
def test_what_becomes_due_at_once_has_the_worker_called(scene: Scene, clock: Clock, by: str) -> None:
    scene.editor.add("no such action", due=HOUR, id="once")
    if by == "retry":
        clock.advance(HOUR)
        scene.worker.run()
    elif by == "resume":
        scene.editor.pause("once")
        clock.advance(2 * HOUR)
    scene.called.events.clear()
    if by == "move":
        scene.editor.move("once", due=timedelta(0))
    else:
        getattr(scene.editor, by)("once")
    assert scene.called.events == [ALL]


@pytest.mark.parametrize("due", [timedelta(0), timedelta(minutes=-10)])
def test_a_burst_of_adds_calls_once(scene: Scene, clock: Clock, due: timedelta) -> None:
    for _ in range(20):
        scene.editor.add("act", due=due)
        assert scene.called.events == [ALL]
        clock.advance(timedelta(milliseconds=50))


def test_the_next_one_is_called_once_a_run_has_come(scene: Scene) -> None:
    scene.editor.add("act", due=timedelta(0))
    scene.worker.run()
    scene.editor.add("act", due=timedelta(0))
    assert scene.called.events == [ALL, ALL]


def test_a_failed_call_loses_nothing(scene: Scene, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    scene.called.refuses = True
    scene.editor.add("act", due=timedelta(0))
    rings_at = scene.editor.status().rings_at
    assert rings_at
    assert clock.now + MINUTE <= rings_at <= clock.now + 2 * MINUTE
    assert "could not be invoked, so the rule will do it" in caplog.text


def test_a_table_that_does_not_take_the_note_of_it_loses_nothing(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(new: ArmingRecord) -> None:
        if new.called_at:
            raise AwsUnavailable("throttled")

    scene.store.on_write = refuse
    task = scene.editor.add("act", due=timedelta(0))
    assert scene.editor.get(task.id).status is Status.SCHEDULED
    assert scene.called.events == []
    assert "no run was started directly, so the rule will do it" in caplog.text


@pytest.mark.parametrize(("precision", "expected"), [(Precision.MINUTE, []), (Precision.SECOND, [ALL])])
def test_what_is_due_soon_has_a_worker_called_that_waits_for_it(scene: Scene, expected: list[object]) -> None:
    scene.editor.add("act", due=timedelta(seconds=40))
    assert scene.called.events == expected


def test_a_run_whose_time_is_up_calls_its_successor(scene: Scene, stage: Stage) -> None:
    worker = Worker(backend=scene.backend, pool=stage, concurrency=1)
    worker.action("act")(lambda: stage.sleep(40))
    scene.editor.add_many({"action": "act", "due": NOON} for _ in range(10))
    scene.called.events.clear()
    report = worker.run(time_left=5 * MINUTE)
    assert (report.done, report.stopped_early) == (7, True)
    assert scene.called.events == [ALL]


# Calls that must not be made, or must not be missing.


@pytest.mark.parametrize(("is_call", "expected"), [(False, [ALL]), (True, [])], ids=["renewal", "call"])
def test_a_change_of_the_record_at_the_same_moment_costs_no_call_and_makes_none_twice(
    scene: Scene, clock: Clock, is_call: bool, expected: list[object]
) -> None:
    # Given a run that holds a lane and renews its lease, or another call, while a call is being noted
    armer = scene.backend.armer
    Lease.claim(armer, "run", clock, only=[0]).arm()

    def change(record: ArmingRecord) -> ArmingRecord:
        return record.called(clock()) if is_call else record.renewed("run", until=clock() + LEASE)

    def get_in_first(new: ArmingRecord) -> None:
        if new.called_at:
            scene.store.on_write = lambda _: None
            clock.advance(SECOND)
            armer.change(change)

    scene.store.on_write = get_in_first
    # When a task is added to another lane that is due at once
    scene.editor.add("act", due=timedelta(0), id=in_lane(1))
    # Then this add calls a run, unless the other call did
    assert scene.called.events == expected


def disable(scene: Scene) -> None:
    scene.bell.client.put_rule(Name="duebell", ScheduleExpression=scene.bell.expression, State="DISABLED")


def test_while_the_rule_is_disabled_an_editor_calls_nobody(scene: Scene) -> None:
    disable(scene)
    scene.editor.add("act", due=timedelta(0))
    assert scene.called.events == []


@pytest.mark.parametrize("precision", [Precision.SECOND])
def test_while_the_rule_is_disabled_a_run_has_no_successor(scene: Scene) -> None:
    scene.editor.add("act", due=timedelta(seconds=170))
    scene.called.events.clear()
    disable(scene)
    scene.worker.run(time_left=MINUTE)
    assert scene.called.events == []


def test_who_is_called_by_a_clock_that_is_ahead_waits_for_what_is_due(scene: Scene, clock: Clock) -> None:
    # Given an editor whose clock is a second ahead of the worker's
    clock.advance(SECOND)
    scene.editor.add("act", due=timedelta(0))
    workers = Clock()
    backend = memory_backend(workers, scene.store, bell=scene.bell)
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    # When the run comes that was called for it
    workers.advance(0.1 * SECOND)
    report = worker.run(time_left=5 * MINUTE)
    # Then it is not left to a ring in two minutes
    assert report.done == 1
