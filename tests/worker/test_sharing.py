"""More is due than one run can do in time: it hands lanes to further runs, and loses nothing."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from duebell import Editor, Status, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import ids_in, in_lane, memory_backend
from tests.worker.stage import Stage
from tests.worker.starting import CONTEXT

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


class Started(Called):
    """The further runs that are started: for which lanes, and how the record stood at that moment."""

    def __init__(self) -> None:
        super().__init__()
        self.shares: list[list[int]] = []
        self.records: list[ArmingRecord] = []
        self.read: Callable[[], ArmingRecord] = lambda: ArmingRecord(lanes=())

    def invoke(self, **given: Any) -> None:
        super().invoke(**given)
        if lanes := self.events[-1]["duebell"].get("lanes"):
            self.shares.append(lanes)
            self.records.append(self.read())


@pytest.fixture
def called() -> Started:
    return Started()


@pytest.fixture
def store() -> HookedStore:
    return HookedStore()


def scheduler(clock: Clock, called: Started, store: HookedStore, *, most: int = 4) -> Backend:
    backend = memory_backend(clock, store, parallel_runs=most)
    called.read = backend.armer.read
    return called.by(backend)


@pytest.fixture
def backend(clock: Clock, called: Started, store: HookedStore) -> Backend:
    return scheduler(clock, called, store)


def slow(backend: Backend, stage: Stage, seconds: float = 1) -> Worker:
    """A worker that does one task at a time, each in so many seconds."""
    worker = Worker(backend=backend, pool=stage, concurrency=1)
    worker.action("act")(lambda: stage.sleep(seconds))
    return worker


def add(editor: Editor, count: int) -> None:
    editor.add_many({"action": "act", "due": NOON, "id": f"task-{number}"} for number in range(count))


def test_what_one_run_cannot_do_in_time_is_shared(
    editor: Editor, backend: Backend, called: Started, stage: Stage
) -> None:
    # Given two minutes' worth of work
    add(editor, 120)
    # When a run takes it up
    report = slow(backend, stage).run(time_left=10 * MINUTE)
    # Then it keeps one lane, and three more runs are started for the others
    assert report.lanes == 1
    assert called.shares == [[1], [2], [3]]
    record = backend.armer.read()
    assert record.lanes_of(report.run) == ()
    # And if none of them ever comes, the rule rings for what is left
    left = editor.list(limit=1000).tasks
    assert {task.lane for task in left} == {1, 2, 3}
    assert len(left) + report.done == 120
    assert report.rings_at
    assert backend.clock() < report.rings_at <= backend.clock() + 2 * MINUTE
    # When they come, then each takes the lanes that it was given, and all is done
    for event in [event for event in called.events if event["duebell"]]:
        answer = slow(backend, stage).handler(event, CONTEXT)
        assert answer["lanes"] == 1
    assert editor.list().tasks == ()
    assert len(editor.list(status=Status.DONE, limit=1000).tasks) == 120


@pytest.mark.parametrize(("count", "lanes", "expected"), [(60, 2, [[1, 3]]), (30, 4, [])])
def test_work_for_a_minute_is_shared_by_two_and_for_half_of_it_by_nobody(
    editor: Editor,
    backend: Backend,
    called: Started,
    stage: Stage,
    *,
    count: int,
    lanes: int,
    expected: object,
) -> None:
    add(editor, count)
    assert slow(backend, stage).run(time_left=10 * MINUTE).lanes == lanes
    assert called.shares == expected


@pytest.mark.parametrize(("most", "expected"), [(1, []), (2, [[1, 3]]), (3, [[1], [2]])])
def test_there_are_never_more_runs_than_the_setting_says(
    clock: Clock, called: Started, store: HookedStore, stage: Stage, *, most: int, expected: list[list[int]]
) -> None:
    backend = scheduler(clock, called, store, most=most)
    add(Editor(backend=backend), 120)
    slow(backend, stage).run(time_left=10 * MINUTE)
    assert called.shares == expected


def test_runs_that_are_there_already_count(
    editor: Editor, backend: Backend, called: Started, clock: Clock, stage: Stage
) -> None:
    add(editor, 240)
    for lane in (0, 1):
        Lease.claim(backend.armer, f"other-{lane}", clock, only=[lane])
    worker = slow(backend, stage, seconds=3)
    worker.run(time_left=90 * SECOND)
    assert called.shares == [[3]]


def test_a_task_that_never_returns_does_not_hold_up_the_lanes_that_are_to_be_handed_over(
    editor: Editor, backend: Backend, called: Started, clock: Clock, stage: Stage
) -> None:
    # Given a task that never returns in each of three lanes, and a minute's worth of others
    worker = Worker(backend=backend, pool=stage, concurrency=16)
    starts: dict[str, timedelta] = {}

    @worker.action("act")
    def act(_: object, task: Task) -> None:
        starts[task.id] = clock.now - NOON
        stage.sleep(1)

    worker.action("hangs")(lambda: stage.sleep(float("inf")))
    for lane in (1, 2, 3):
        id = in_lane(lane, name="hangs")
        editor.add("hangs", due=NOON, id=id)
    add(editor, 800)
    called.events.clear()
    began: list[timedelta] = []
    invoke = called.invoke

    def note(**given: Any) -> None:
        began.append(clock.now - NOON)
        invoke(**given)

    called.invoke = note  # type: ignore[method-assign]

    # When they are shared
    worker.run(time_left=15 * MINUTE)

    # Then each is started, or left to another run, about as soon as one run alone would have started it
    assert max([*began, *starts.values()]) < 3 * MINUTE


def test_a_run_by_hand_shares_nothing(
    editor: Editor, backend: Backend, called: Started, stage: Stage
) -> None:
    add(editor, 120)
    assert slow(backend, stage).run().done == 120
    assert called.shares == []


# The moment in which a run hands lanes over.


def test_lanes_are_free_and_rung_for_before_the_runs_for_them_are_started(
    editor: Editor, backend: Backend, called: Started, stage: Stage, clock: Clock
) -> None:
    # Given a run that has too much to do, and whose watchdog rings two minutes later than a rule could
    add(editor, 120)
    clock.now = NOON + 30 * SECOND
    # When it shares
    report = slow(backend, stage).run(time_left=10 * MINUTE)
    # Then each of the others finds its lanes free, and should it not come, the rule rings for them
    assert called.shares == [[1], [2], [3]]
    for lanes, record in zip(called.shares, called.records, strict=True):
        assert record.lanes_of(report.run) == (0,)
        assert all(record.lanes[lane].is_free(NOON) for lane in lanes)
        assert record.is_settled(clock.now)
        assert record.rings_at == NOON + 2 * MINUTE


def test_what_is_added_while_lanes_are_handed_over_is_not_lost(
    editor: Editor, backend: Backend, store: HookedStore, called: Started, stage: Stage
) -> None:
    # Given a run with much to do in one lane and nothing in the others, to which an editor adds
    editor.add_many({"action": "act", "due": NOON, "id": id} for id in ids_in(0, 120))
    late = [id for lane in (1, 2, 3) for id in ids_in(lane, 1)]

    def add_later(_: int) -> None:
        store.on_head = lambda _: None
        editor.add_many({"action": "act", "due": NOON + HOUR, "id": id} for id in late)

    # When it does so just after the first of their heads was read
    store.on_head = add_later
    slow(backend, stage).run(time_left=10 * MINUTE)
    # Then each is known to be due when that task is
    assert called.shares == [[1], [2], [3]]
    for record in (called.records[0], backend.armer.read()):
        assert [record.lanes[lane].due for lane in (1, 2, 3)] == [NOON + HOUR] * 3


def test_a_run_that_cannot_read_a_head_keeps_the_lanes_and_starts_nobody_for_them_yet(
    editor: Editor, backend: Backend, store: HookedStore, called: Started, stage: Stage
) -> None:
    # Given a table that does not answer when lanes are to be handed over
    add(editor, 120)

    def fail(_: int) -> None:
        store.on_head = lambda _: None
        raise AwsUnavailable("so it is")

    store.on_head = fail
    # When a run shares
    report = slow(backend, stage).run(time_left=10 * MINUTE)
    # Then it goes on, and hands them over later
    assert called.shares == [[1], [2], [3]]
    assert all(record.lanes_of(report.run) == (0,) for record in called.records)
    assert report.done > 10


def test_a_rule_that_cannot_be_set_while_lanes_are_handed_over_does_not_end_the_run(
    editor: Editor,
    backend: Backend,
    called: Started,
    stage: Stage,
    clock: Clock,
    *,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given a rule that cannot be set from when lanes are free until runs were started for them
    add(editor, 120)
    ring_at, refused = backend.rule.ring_at, list[datetime | None]()

    def refuse(minute: datetime | None, **given: Any) -> bool:
        if not called.shares and any(lane.owner is None for lane in backend.armer.read().lanes):
            refused.append(minute)
            raise AwsUnavailable("throttled")
        return ring_at(minute, **given)

    clock.now = NOON + 30 * SECOND
    monkeypatch.setattr(backend.rule, "ring_at", refuse)
    # When a run hands lanes over, then it goes on with the one that is left, and the others are started
    report = slow(backend, stage).run(time_left=10 * MINUTE)
    assert refused
    assert called.shares == [[1], [2], [3]]
    assert (report.lost_lease, report.lanes) == (False, 1)
