"""One run: what it starts, in which order, how many at a time, and what it says of it."""

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from duebell import Editor, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.expression import SENTINEL
from tests.support import NOON, Calls, Clock, SetFor

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def expression(events: "EventBridgeClient") -> str:
    return events.describe_rule(Name="duebell")["ScheduleExpression"]


def test_the_earliest_is_started_first(editor: Editor, backend: Backend, clock: Clock) -> None:
    # Given tasks in all lanes, added in no order, and a worker for one at a time
    started: list[str] = []
    worker = Worker(backend=backend, concurrency=1)

    @worker.action("act")
    def act(payload: object, task: Task) -> None:
        started.append(task.id)

    for number in (7, 2, 9, 4, 1, 8, 3, 6, 0, 5):
        editor.add("act", due=NOON + number * SECOND, id=f"task-{number}")

    # When all are due
    clock.advance(MINUTE)
    worker.run()

    # Then they are started by their due dates, whatever lanes they are in
    assert len({editor.get(id).lane for id in started}) > 2
    assert started == [f"task-{number}" for number in range(10)]


@pytest.mark.parametrize("early", [timedelta(days=30), 3 * SECOND])
def test_nothing_is_started_before_it_is_due(
    editor: Editor, worker: Worker, clock: Clock, early: timedelta
) -> None:
    started = []
    worker.action("act")(lambda: started.append(clock.now))
    due = NOON + timedelta(days=60)
    editor.add("act", due=due, id="a")

    # When a run comes too early, the task waits for the next
    clock.now = due - early
    report = worker.run()
    assert (report.attempts, started, editor.get("a").attempt) == (0, [], 0)
    assert report.rings_at is not None
    assert report.rings_at >= due

    # When one comes in time, it is started
    clock.now = due
    assert worker.run().done == 1
    assert started == [due]


@pytest.mark.parametrize("early", [2 * SECOND, timedelta(microseconds=1)])
def test_what_is_due_in_a_moment_is_waited_for_and_not_started_before(
    editor: Editor, worker: Worker, clock: Clock, early: timedelta
) -> None:
    started = []
    worker.action("act")(lambda: started.append(clock.now))
    due = NOON + timedelta(days=60)
    editor.add("act", due=due)
    clock.now = due - early
    assert worker.run().lateness_max_ms == 0
    assert started == [due]


def test_an_empty_run_parks_the_rule(
    editor: Editor, worker: Worker, clock: Clock, events: "EventBridgeClient"
) -> None:
    # Given a rule that is to ring for a task that was then cancelled
    editor.add("act", due=timedelta(hours=1), id="a")
    editor.cancel("a")
    assert expression(events) == SetFor(NOON + timedelta(hours=1))

    # When it rings for nothing
    clock.advance(timedelta(hours=1))
    report = worker.run()

    # Then it is parked
    assert (report.attempts, report.rings_at, report.lanes) == (0, None, 4)
    assert (report.lateness_max_ms, report.lateness_mean_ms) == (None, None)
    assert expression(events) == SENTINEL


def test_sixteen_run_at_a_time_and_never_more(editor: Editor, threaded: Worker) -> None:
    # Given actions that only come to an end in company of sixteen
    company = threading.Barrier(16)
    lock = threading.Lock()
    now_running, most = 0, 0

    @threaded.action("act")
    def act() -> None:
        nonlocal now_running, most
        with lock:
            now_running += 1
            most = max(most, now_running)
        company.wait(timeout=60)
        with lock:
            now_running -= 1

    editor.add_many({"action": "act", "due": NOON} for _ in range(48))

    # When they are run, then sixteen have met each time, and no more
    assert threaded.run().done == 48
    assert most == 16


def test_more_tasks_than_a_page_holds_stream_through(
    editor: Editor, worker: Worker, calls: Calls, events: "EventBridgeClient"
) -> None:
    # Given more tasks than a page of keys holds
    worker.action("act")(lambda: None)
    editor.add_many({"action": "act", "due": NOON} for _ in range(230))
    calls.clear()

    # When they are run, then as many are claimed at a time as there are places, and nothing is read twice
    assert worker.run().done == 230
    assert calls["BatchExecuteStatement"] == 15
    assert 230 <= calls["UpdateItem"] < 245  # each outcome, as the actions run one after the other here
    assert calls["Query"] < 20
    assert expression(events) == SENTINEL
