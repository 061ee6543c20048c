"""One run: what it starts, in which order, how many at a time, and what it says of it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from duebell import Editor, Retry, Status, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.tasks.task import QueueKey
from duebell_worker.run.lanes import Batcher, ReadAhead
from tests.support import NOON, Calls, Clock
from tests.worker.log_lines import Log
from tests.worker.scene import HOUR, MINUTE, SECOND, Scene

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient


def expression(events: "EventBridgeClient") -> str:
    return events.describe_rule(Name="duebell")["ScheduleExpression"]


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


# Priorities in a run: of what waits for a place, as far as the run sees, higher ones are started first.


@pytest.fixture
def started() -> list[str]:
    return []


@pytest.fixture
def one_by_one(backend: Backend, started: list[str]) -> Worker:
    """A worker for one task at a time."""
    worker = Worker(backend=backend, concurrency=1)

    @worker.action("act")
    def act(payload: object, task: Task) -> None:
        started.append(task.id)

    return worker


def test_of_what_waits_higher_priorities_are_started_first_then_the_earliest(
    editor: Editor, one_by_one: Worker, clock: Clock, started: list[str]
) -> None:
    for number, priority in enumerate((0, 9, 0, 5, 9, 0, 5)):
        editor.add("act", due=NOON + number * SECOND, id=f"{priority}-{number}", priority=priority)
    clock.advance(MINUTE)
    one_by_one.run()
    assert started == ["9-1", "9-4", "5-3", "5-6", "0-0", "0-2", "0-5"]


def test_the_first_of_many_of_one_moment_in_all_lanes_is_the_one_with_the_highest_priority(
    editor: Editor, one_by_one: Worker, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duebell_worker.run.lanes.IN_SIGHT", 1)
    tasks = [{"action": "act", "due": NOON, "id": f"plain-{number}"} for number in range(12)]
    editor.add_many([*tasks, {"action": "act", "due": NOON, "id": "urgent", "priority": 9}])
    one_by_one.run()
    assert started[0] == "urgent"


def test_retries_keep_priority(editor: Editor, one_by_one: Worker, clock: Clock, started: list[str]) -> None:
    @one_by_one.action("fail")
    def fail(payload: object, task: Task) -> None:
        started.append(task.id)
        if task.attempt == 1:
            raise Retry(after=MINUTE)

    editor.add("fail", due=NOON, id="urgent", priority=7)
    one_by_one.run()
    editor.add("act", due=clock.now, id="plain")
    clock.advance(10 * MINUTE)
    one_by_one.run()
    assert started == ["urgent", "urgent", "plain"]


def keys(*priorities: int) -> Iterator[QueueKey]:
    for number, priority in enumerate(priorities):
        yield QueueKey(queued=NOON + number * SECOND, id=str(number), lane=0, priority=priority)


def order(ahead: ReadAhead) -> list[int]:
    found = []
    while ahead:
        ahead.read_on()
        found.append(int(ahead.pop().id))
    return found


def test_without_priorities_no_more_than_a_thousand_keys_are_read_ahead() -> None:
    to_read = keys(*[0] * 5_000)
    ahead = ReadAhead(to_read, now=NOON + timedelta(days=1), skipping=())
    for _ in range(100):
        assert ahead
        ahead.read_on()
    assert int(next(to_read).id) == 1_000


def test_once_a_priority_is_in_sight_a_burst_is_seen_through() -> None:
    to_read = keys(*[0] * 50, 1, *[0] * 60_000, 9)
    ahead = ReadAhead(to_read, now=NOON + timedelta(days=1), skipping=())
    found = order(ahead)
    assert found[0] == 50
    assert found.index(60_051) < 1_000
    assert found[1:] != sorted(found)
    assert len(found) == 60_052


# Writes of one moment go together, in calls that are not too full.


def test_items_that_come_during_two_calls_share_the_next_calls_up_to_their_most() -> None:
    # Given a call during which other items come
    calls: list[list[int]] = []

    def call(batch: list[int]) -> None:
        calls.append(batch)
        if batch == [1]:
            gathered(2)  # makes a call beside the first
        if batch == [2]:
            for number in range(3, 10):
                gathered(number)
            assert calls == [[1], [2]]

    gathered = Batcher(call, most=5)
    gathered(1)

    # Then the calls under way take them
    assert calls == [[1], [2], [3, 4, 5, 6, 7], [8, 9]]
    # And an item that comes alone is handled at once
    gathered(10)
    assert calls[-1] == [10]


def test_items_of_threads_at_the_same_moment_share_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a thread that pauses before its call, and other items that come meanwhile
    calls: list[list[int]] = []
    gathered = Batcher(calls.append, most=25, side_by_side=1)
    pauses, are_brought = threading.Event(), threading.Event()

    def pause(_: float) -> None:
        pauses.set()
        assert are_brought.wait(60)

    monkeypatch.setattr("duebell_worker.run.lanes.time.sleep", pause)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(gathered, 1)
        assert pauses.wait(60)
        for number in range(2, 10):
            gathered(number)
        are_brought.set()
        first.result()
    # Then one call takes all
    assert calls == [list(range(1, 10))]


def test_a_task_that_is_cancelled_while_it_is_claimed_is_not_in_the_log(scene: Scene, log: Log) -> None:
    scene.editor.add("act", due=HOUR, id="a")
    cancels = iter([partial(scene.editor.cancel, "a")])

    def cancel_at_claim(verb: str, _: int) -> bool:
        if verb == "claim" and (cancel := next(cancels, None)):
            cancel()
        return False

    scene.store.refuses = cancel_at_claim
    scene.run()
    assert [line["event"] for line in log.lines()] == ["run"]
    assert scene.editor.get("a").status is Status.CANCELLED
