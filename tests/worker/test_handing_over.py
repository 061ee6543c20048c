"""The moment in which a run hands lanes over: what happens just then is neither lost nor done twice."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from duebell import Editor, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import ids_in, in_lane, memory_backend
from tests.worker.stage import Stage

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


class Started(Called):
    """The further runs that are started: for which lanes, and how the record stood at that moment."""

    def __init__(self) -> None:
        super().__init__()
        self.shares: list[list[int]] = []
        self.records: list[ArmingRecord] = []
        self.read: Callable[[], ArmingRecord] = lambda: ArmingRecord(lanes=())
        self.come: Callable[[list[int]], object] = lambda _: None

    def invoke(self, **given: Any) -> None:
        super().invoke(**given)
        if lanes := self.events[-1]["duebell"].get("lanes"):
            self.shares.append(lanes)
            self.records.append(self.read())
            self.come(lanes)


@pytest.fixture
def started() -> Started:
    return Started()


@pytest.fixture
def store() -> HookedStore:
    return HookedStore()


@pytest.fixture
def most() -> int:
    """How many runs there may be."""
    return 4


@pytest.fixture
def backend(clock: Clock, store: HookedStore, started: Started, most: int) -> Backend:
    backend = memory_backend(clock, store, parallel_runs=most)
    started.read = backend.armer.read
    return started.by(backend)


@pytest.fixture
def worker(backend: Backend, stage: Stage) -> Worker:
    """It does one task at a time, each in a second."""
    worker = Worker(backend=backend, pool=stage, concurrency=1)
    worker.action("act")(lambda: stage.sleep(1))
    return worker


def add(editor: Editor, *ids: str, due: datetime = NOON) -> None:
    editor.add_many({"action": "act", "due": due, "id": id} for id in ids)


def test_lanes_are_free_and_rung_for_before_the_runs_for_them_are_started(
    editor: Editor, worker: Worker, started: Started, clock: Clock
) -> None:
    # Given a run that has too much to do, and whose watchdog rings two minutes later than a rule could
    add(editor, *(f"task-{number}" for number in range(120)))
    clock.now = NOON + 30 * SECOND
    # When it shares
    report = worker.run(time_left=10 * MINUTE)
    # Then each of the others finds its lanes free, and should it not come, the rule rings for them
    assert started.shares == [[1], [2], [3]]
    for lanes, record in zip(started.shares, started.records, strict=True):
        assert record.lanes_of(report.run) == (0,)
        assert all(record.lanes[lane].is_free(NOON) for lane in lanes)
        assert record.is_settled(clock.now)
        assert record.rings_at == NOON + 2 * MINUTE


def test_what_is_added_while_lanes_are_handed_over_is_not_lost(
    editor: Editor, worker: Worker, backend: Backend, store: HookedStore, started: Started
) -> None:
    # Given a run with much to do in one lane and nothing in the others, to which an editor adds
    add(editor, *ids_in(0, 120))
    late = [id for lane in (1, 2, 3) for id in ids_in(lane, 1)]

    def add_later(_: int) -> None:
        store.on_head = lambda _: None
        add(editor, *late, due=NOON + HOUR)

    # When it does so just after the first of their heads was read
    store.on_head = add_later
    worker.run(time_left=10 * MINUTE)
    # Then each is known to be due when that task is
    assert started.shares == [[1], [2], [3]]
    for record in (started.records[0], backend.armer.read()):
        assert [record.lanes[lane].due for lane in (1, 2, 3)] == [NOON + HOUR] * 3


def test_a_lane_is_handed_over_due_at_its_head_whatever_came_and_went(
    editor: Editor, worker: Worker, stage: Stage, started: Started
) -> None:
    # Given a run during which tasks are added, and cancelled again, that are due before the many to come
    add(editor, *(f"task-{number}" for number in range(120)), due=NOON + MINUTE)
    cancelled: list[str] = []

    @worker.action("fickle")
    def fickle() -> None:
        for lane in (1, 2, 3):
            id = in_lane(lane, name="gone")
            editor.add("act", due=NOON, id=id)
            editor.cancel(id)
            cancelled.append(id)
        stage.sleep(62)

    editor.add("fickle", due=NOON)
    # When it hands the lanes over
    worker.run(time_left=10 * MINUTE)
    # Then nothing is left of that
    assert len(cancelled) == 3
    assert [started.records[0].lanes[lane].due for lane in (1, 2, 3)] == [NOON + MINUTE] * 3


def test_a_run_that_cannot_read_a_head_keeps_the_lanes_and_starts_nobody_for_them_yet(
    editor: Editor, worker: Worker, store: HookedStore, started: Started
) -> None:
    # Given a table that does not answer when lanes are to be handed over
    add(editor, *(f"task-{number}" for number in range(120)))

    def fail(_: int) -> None:
        store.on_head = lambda _: None
        raise AwsUnavailable("so it is")

    store.on_head = fail
    # When a run shares
    report = worker.run(time_left=10 * MINUTE)
    # Then it goes on, and hands them over later
    assert started.shares == [[1], [2], [3]]
    assert all(record.lanes_of(report.run) == (0,) for record in started.records)
    assert report.done > 10


def test_a_rule_that_cannot_be_set_then_does_not_end_the_run(
    editor: Editor,
    worker: Worker,
    backend: Backend,
    clock: Clock,
    *,
    started: Started,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given a rule that cannot be set from when lanes are free until runs were started for them
    add(editor, *(f"task-{number}" for number in range(120)))
    set_rule = backend.rule.ring_at
    refused: list[datetime] = []

    def ring_at(minute: datetime | None, **given: Any) -> bool:
        if not started.shares and any(lane.owner is None for lane in backend.armer.read().lanes):
            refused.append(clock.now)
            raise AwsUnavailable("so it is")
        return set_rule(minute, **given)

    clock.now = NOON + 30 * SECOND
    monkeypatch.setattr(backend.rule, "ring_at", ring_at)
    # When a run hands lanes over
    report = worker.run(time_left=10 * MINUTE)
    # Then it goes on with the one that is left, and the others are started
    assert refused
    assert started.shares == [[1], [2], [3]]
    assert (report.lost_lease, report.lanes) == (False, 1)


def test_lanes_that_are_to_be_handed_over_are_not_looked_into_any_more(
    editor: Editor, backend: Backend, stage: Stage, clock: Clock, started: Started
) -> None:
    # Given a task that takes long, in a lane with many others
    worker = Worker(backend=backend, pool=stage, concurrency=2)
    starts: list[tuple[datetime, int]] = []
    worker.action("long")(lambda: stage.sleep(20))

    @worker.action("act")
    def act(payload: int) -> None:
        starts.append((clock.now, payload))
        stage.sleep(1)

    ids = [f"task-{number}" for number in range(400)]
    editor.add_many(
        {"action": "act", "due": NOON, "id": id, "payload": editor.queue.lane_of(id)} for id in ids
    )
    editor.add(
        "long",
        due=NOON - SECOND,
        id=in_lane(2, name="long"),
    )
    # When the run shares, and cannot give that lane away yet
    worker.run(time_left=10 * MINUTE)
    # Then it starts none of the others in it, and goes on with those of the lane that it keeps at once
    assert started.shares[-1] == [2]
    shared_at = max(at for at, lane in starts if lane != 0)
    assert shared_at < NOON + 10 * SECOND
    assert max(after - before for (before, _), (after, _) in pairwise(starts)) <= SECOND
