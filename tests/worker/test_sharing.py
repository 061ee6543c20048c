"""More is due than one run can do in time: it hands lanes to further runs, and loses nothing."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from duebell import RunReport, Status, Task
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.memory import ids_in, in_lane
from tests.worker.scene import HOUR, MINUTE, SECOND, Scene
from tests.worker.stage import Stage
from tests.worker.starting import CONTEXT


class Sharing(Scene):
    """A worker that does one task at a time, each in a second.

    shares   the lanes of each further run that was started
    records  the arming record at these moments
    """

    def __init__(self, clock: Clock, stage: Stage, *, most: int = 4, places: int = 1) -> None:
        super().__init__(clock, pool=stage, places=places, calls=True, parallel_runs=most)
        self.records: list[ArmingRecord] = []
        self.called.on_invoke = lambda: self.records.append(self.backend.armer.read())
        self.worker.action("work")(lambda: stage.sleep(1))

    @property
    def shares(self) -> list[list[int]]:
        return self.called.shares

    def add(self, count: int) -> None:
        self.editor.add_many({"action": "work", "due": NOON, "id": f"task-{n}"} for n in range(count))

    def shared(self) -> RunReport:
        """A run that has ten minutes."""
        return self.worker.run(time_left=10 * MINUTE)


@pytest.fixture
def scene(clock: Clock, stage: Stage) -> Sharing:
    return Sharing(clock, stage)


def test_what_one_run_cannot_do_in_time_is_shared(scene: Sharing) -> None:
    # Given two minutes' worth of work
    scene.add(120)
    # When a run takes it up
    report = scene.shared()
    # Then it keeps one lane, and three more runs are started for the others
    assert report.lanes == 1
    assert scene.shares == [[1], [2], [3]]
    assert scene.backend.armer.read().lanes_of(report.run) == ()
    # And if none of them ever comes, the rule rings for what is left
    left = scene.editor.list(limit=1000).tasks
    assert {task.lane for task in left} == {1, 2, 3}
    assert len(left) + report.done == 120
    assert report.rings_at
    assert scene.clock.now < report.rings_at <= scene.clock.now + 2 * MINUTE
    # When they come, then each takes the lanes that it was given, and all is done
    for lanes in scene.shares.copy():
        assert scene.worker.handler({"duebell": {"lanes": lanes}}, CONTEXT)["lanes"] == 1
    assert scene.editor.list().tasks == ()
    assert len(scene.editor.list(status=Status.DONE, limit=1000).tasks) == 120


@pytest.mark.parametrize(
    ("count", "most", "expected"),
    [(60, 4, [[1, 3]]), (30, 4, []), (120, 1, []), (120, 2, [[1, 3]]), (120, 3, [[1], [2]])],
)
def test_work_for_a_minute_is_shared_by_two_and_by_never_more_than_the_setting_says(
    clock: Clock, stage: Stage, *, count: int, most: int, expected: list[list[int]]
) -> None:
    scene = Sharing(clock, stage, most=most)
    scene.add(count)
    scene.shared()
    assert scene.shares == expected


def test_runs_that_are_there_already_count(scene: Sharing) -> None:
    scene.add(240)
    for lane in (0, 1):
        Lease.claim(scene.backend.armer, f"other-{lane}", scene.clock, only=[lane])
    scene.shared()
    assert scene.shares == [[3]]


def test_a_task_that_never_returns_does_not_hold_up_the_lanes_that_are_to_be_handed_over(
    clock: Clock, stage: Stage
) -> None:
    # Given a task that never returns in each of three lanes, and a minute's worth of others
    scene = Sharing(clock, stage, places=16)
    began: list[timedelta] = []
    scene.called.on_invoke = lambda: began.append(clock.now - NOON)

    @scene.worker.action("begin")
    def begin(_: object, task: Task) -> None:
        began.append(clock.now - NOON)
        stage.sleep(1)

    scene.worker.action("hangs")(lambda: stage.sleep(float("inf")))
    for lane in (1, 2, 3):
        scene.editor.add("hangs", due=NOON, id=in_lane(lane, name="hangs"))
    scene.editor.add_many({"action": "begin", "due": NOON, "id": f"task-{n}"} for n in range(800))
    # When they are shared
    scene.worker.run(time_left=15 * MINUTE)
    # Then each is started, or left to another run, about as soon as one run alone would have started it
    assert max(began) < 3 * MINUTE
    assert scene.shares == []  # a task is under way in each


def test_a_run_by_hand_shares_nothing(scene: Sharing) -> None:
    scene.add(120)
    assert scene.worker.run().done == 120
    assert scene.shares == []


# The moment in which a run hands lanes over.


def test_lanes_are_free_and_rung_for_before_the_runs_for_them_are_started(scene: Sharing) -> None:
    # Given a run that has too much to do, and whose watchdog rings two minutes later than a rule could
    scene.add(120)
    scene.clock.now = NOON + 30 * SECOND
    # When it shares
    report = scene.shared()
    # Then each of the others finds its lanes free, and should it not come, the rule rings for them
    assert scene.shares == [[1], [2], [3]]
    for lanes, record in zip(scene.shares, scene.records, strict=True):
        assert record.lanes_of(report.run) == (0,)
        assert all(record.lanes[lane].is_free(NOON) for lane in lanes)
        assert record.is_settled(scene.clock.now)
        assert record.rings_at == NOON + 2 * MINUTE


def test_what_is_added_while_lanes_are_handed_over_is_not_lost(scene: Sharing) -> None:
    # Given a run with much to do in one lane and nothing in the others, to which an editor adds
    scene.editor.add_many({"action": "work", "due": NOON, "id": id} for id in ids_in(0, 120))

    def add_later(_: int) -> None:
        scene.store.on_head = lambda _: None
        for lane in (1, 2, 3):
            scene.editor.add("work", due=NOON + HOUR, id=in_lane(lane))

    # When it does so just after the first of their heads was read
    scene.store.on_head = add_later
    scene.shared()
    # Then each is known to be due when that task is
    assert scene.shares == [[1], [2], [3]]
    for record in (scene.records[0], scene.backend.armer.read()):
        assert [record.lanes[lane].due for lane in (1, 2, 3)] == [NOON + HOUR] * 3


def test_a_run_that_cannot_read_a_head_keeps_the_lanes_and_starts_nobody_for_them_yet(scene: Sharing) -> None:
    # Given a table that does not answer when lanes are to be handed over
    scene.add(120)

    def fail(_: int) -> None:
        scene.store.on_head = lambda _: None
        raise AwsUnavailable("so it is")

    scene.store.on_head = fail
    # When a run shares
    report = scene.shared()
    # Then it goes on, and hands them over later
    assert scene.shares == [[1], [2], [3]]
    assert all(record.lanes_of(report.run) == (0,) for record in scene.records)
    assert report.done > 10


def test_a_rule_that_cannot_be_set_while_lanes_are_handed_over_does_not_end_the_run(
    scene: Sharing, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a rule that cannot be set from when lanes are free until runs were started for them
    scene.add(120)
    ring_at, refused = scene.backend.rule.ring_at, list[datetime | None]()

    def refuse(minute: datetime | None, **given: Any) -> bool:
        if not scene.shares and any(lane.owner is None for lane in scene.backend.armer.read().lanes):
            refused.append(minute)
            raise AwsUnavailable("throttled")
        return ring_at(minute, **given)

    scene.clock.now = NOON + 30 * SECOND
    monkeypatch.setattr(scene.backend.rule, "ring_at", refuse)
    # When a run hands lanes over, then it goes on with the one that is left, and the others are started
    report = scene.shared()
    assert refused
    assert scene.shares == [[1], [2], [3]]
    assert (report.lost_lease, report.lanes) == (False, 1)
