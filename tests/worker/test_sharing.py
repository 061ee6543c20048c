"""More is due than one run can do in time: it hands lanes to further runs, and loses nothing."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from duebell import Editor, Status, Task, Worker
from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.memory import in_lane, memory_backend
from tests.worker.stage import Stage

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def scheduler(clock: Clock, called: Called, *, most: int = 4) -> Backend:
    """A scheduler in memory: these tests make many calls."""
    return called.by(memory_backend(clock, MemoryStore(), parallel_runs=most))


@pytest.fixture
def backend(clock: Clock, called: Called) -> Backend:
    return scheduler(clock, called)


def slow(backend: Backend, stage: Stage, seconds: float = 1) -> Worker:
    """A worker that does one task at a time, each in so many seconds."""
    worker = Worker(backend=backend, pool=stage, concurrency=1)
    worker.action("act")(lambda: stage.sleep(seconds))
    return worker


def add(editor: Editor, count: int) -> None:
    editor.add_many({"action": "act", "due": NOON, "id": f"task-{number}"} for number in range(count))


def handed_over(called: Called) -> list[list[int]]:
    return [event["duebell"]["lanes"] for event in called.events if event["duebell"]]


def test_what_one_run_cannot_do_in_time_is_shared(
    editor: Editor, backend: Backend, called: Called, stage: Stage
) -> None:
    # Given two minutes' worth of work
    add(editor, 120)
    # When a run takes it up
    report = slow(backend, stage).run(time_left=10 * MINUTE)
    # Then it keeps one lane, and three more runs are started for the others
    assert report.lanes == 1
    assert handed_over(called) == [[1], [2], [3]]
    record = backend.armer.read()
    assert record.lanes_of(report.run) == ()
    # And if none of them ever comes, the rule rings for what is left
    left = editor.list(limit=1000).tasks
    assert {task.lane for task in left} == {1, 2, 3}
    assert len(left) + report.done == 120
    assert report.rings_at
    assert backend.clock() < report.rings_at <= backend.clock() + 2 * MINUTE
    # When they come, then each takes the lanes that it was given, and all is done
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 600_000)
    for event in [event for event in called.events if event["duebell"]]:
        answer = slow(backend, stage).handler(event, cast("Any", context))
        assert answer["lanes"] == 1
    assert editor.list().tasks == ()
    assert len(editor.list(status=Status.DONE, limit=1000).tasks) == 120


@pytest.mark.parametrize(("count", "lanes", "expected"), [(60, 2, [[1, 3]]), (30, 4, [])])
def test_work_for_a_minute_is_shared_by_two_and_for_half_of_it_by_nobody(
    editor: Editor,
    backend: Backend,
    called: Called,
    stage: Stage,
    *,
    count: int,
    lanes: int,
    expected: object,
) -> None:
    add(editor, count)
    assert slow(backend, stage).run(time_left=10 * MINUTE).lanes == lanes
    assert handed_over(called) == expected


@pytest.mark.parametrize(("most", "expected"), [(1, []), (2, [[1, 3]]), (3, [[1], [2]])])
def test_there_are_never_more_runs_than_the_setting_says(
    clock: Clock, called: Called, stage: Stage, most: int, expected: list[list[int]]
) -> None:
    backend = scheduler(clock, called, most=most)
    add(Editor(backend=backend), 120)
    slow(backend, stage).run(time_left=10 * MINUTE)
    assert handed_over(called) == expected


def test_runs_that_are_there_already_count(
    editor: Editor, backend: Backend, called: Called, clock: Clock, stage: Stage
) -> None:
    add(editor, 240)
    for lane in (0, 1):
        Lease.claim(backend.armer, f"other-{lane}", clock, only=[lane])
    worker = slow(backend, stage, seconds=3)
    worker.run(time_left=90 * SECOND)
    assert handed_over(called) == [[3]]


def test_a_task_that_never_returns_does_not_hold_up_the_lanes_that_are_to_be_handed_over(
    editor: Editor, backend: Backend, called: Called, clock: Clock, stage: Stage
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


def test_a_run_by_hand_shares_nothing(editor: Editor, backend: Backend, called: Called, stage: Stage) -> None:
    add(editor, 120)
    assert slow(backend, stage).run().done == 120
    assert handed_over(called) == []
