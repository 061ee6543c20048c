"""A full lane drains: whatever is in it runs and ends, while nothing can be added."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from duebell_editor import Editor, Status, Task, Then
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.errors import QueueFull
from duebell_worker import Retry, Snooze, Worker
from tests.full_lanes import bytes_in_lanes, lanes_hold
from tests.support import Clock
from tests.worker.hooks import Hooks

pytestmark = [pytest.mark.moto, pytest.mark.slow]

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def worker_of(backend: Backend, seen: Counter[str]) -> Worker:
    """A worker with an action that is done, one that is retried twice, and one that always fails."""
    worker = Worker(backend=backend, pool=lambda _: InlinePool())

    @worker.action("done")
    def done() -> None:
        seen["done"] += 1

    @worker.action("retried", attempts=5)
    def retried(payload: object, task: Task) -> None:
        seen["retried"] += 1
        if task.attempt < 3:
            raise Retry("not yet" * 100, after=MINUTE)

    @worker.action("failing", attempts=2)
    def failing() -> None:
        raise ValueError("\x00\U0001d11e" * 1_000)

    return worker


def test_a_full_queue_is_worked_off(editor: Editor, backend: Backend, clock: Clock) -> None:
    # Given tasks that are done, retried, given up, too late, and that recur, well or not
    seen: Counter[str] = Counter()
    worker = worker_of(backend, seen)
    for number in range(5):
        for action in ("done", "retried", "failing"):
            editor.add(action, due=HOUR, payload={"item": number}, id=f"{action}-{number}")
    editor.add("done", due=HOUR, expires_after=MINUTE, id="late")
    for number in range(2):
        for action in ("done", "failing"):
            editor.add(action, schedule="rate(1 hour)", id=f"recurring-{action}-{number}")
    clock.advance(HOUR + 5 * MINUTE)
    held = bytes_in_lanes()
    # When no lane takes a byte more, and half a day goes by
    with lanes_hold(0):
        for _ in range(12 * 4):
            worker.run()
            clock.advance(15 * MINUTE)
        # Then each has run as often as it should
        for number in range(5):
            assert editor.get(f"done-{number}").status is Status.DONE
            assert editor.get(f"retried-{number}").attempt == 3
            assert editor.get(f"failing-{number}").status is Status.FAILED
        assert editor.get("late").status is Status.EXPIRED
        assert seen == {"done": 5 + 2 * 12, "retried": 5 * 3}
        for number in range(2):
            task = editor.get(f"recurring-failing-{number}")
            assert task.runs == task.consecutive_failures == 12
        failed = editor.get("failing-1")
        assert failed.failure
        assert failed.failure.type == "ValueError"
        # And the lanes are no fuller than before, and take nothing more
        assert all(size <= held[lane] for lane, size in bytes_in_lanes().items())
        with pytest.raises(QueueFull):
            editor.add("done", due=HOUR, id="one-more")
    # But once there is room again
    editor.add("done", due=HOUR, id="one-more")


def test_a_retry_that_must_wait_beside_the_next_occurrence_fails_for_want_of_room(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given a task that recurs every hour, and whose retries come later than that
    attempts: list[Task] = []
    worker = Worker(backend=backend, pool=lambda _: InlinePool())

    @worker.action("act", attempts=5)
    def act(payload: object, task: Task) -> None:
        attempts.append(task)
        raise Retry("not yet", after=3 * HOUR)

    editor.add("act", schedule="rate(1 hour)", id="one")
    clock.advance(HOUR + 2 * MINUTE)
    # When its lane is full
    with lanes_hold(0):
        for _ in range(5 * 6):
            worker.run()
            clock.advance(10 * MINUTE)
    # Then each occurrence is tried once, and the schedule goes on
    dues = [task.due for task in attempts]
    assert len(dues) == len(set(dues)) == 5
    task = editor.get("one")
    assert (task.status, task.runs, task.consecutive_failures) == (Status.SCHEDULED, 5, 5)


@pytest.mark.parametrize("recurs", [False, True], ids=["once", "recurring"])
def test_a_task_with_follow_ups_ends_in_a_full_lane_and_says_that_they_are_missing(
    editor: Editor, backend: Backend, clock: Clock, *, recurs: bool
) -> None:
    # Given tasks with follow-ups, whose lanes are full when they are due
    seen: Counter[str] = Counter()
    worker = worker_of(backend, seen)
    ids = {"done", "failing"}
    for action in ids:
        when: dict[str, Any] = {"schedule": "rate(1 hour)", "max_runs": 3} if recurs else {"due": HOUR}
        editor.add(action, id=action, then=Then("done"), on_failed="done", **when)
    clock.advance(HOUR)
    # When time goes by
    with lanes_hold(0):
        for _ in range(20):
            worker.run()
            clock.advance(15 * MINUTE)
    # Then each has run as often as it should, ended, and says so
    assert seen["done"] == (3 if recurs else 1)
    for id in ids:
        task = editor.get(id)
        assert task.status is (Status.DONE if id == "done" else Status.FAILED)
        assert task.owes is None
        assert "full" in (task.follow_up_error or "")


def test_a_snooze_whose_payload_a_full_lane_does_not_take_is_a_failure_and_says_so(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given an action that puts its task off with a larger payload each time
    worker = Worker(backend=backend, pool=lambda _: InlinePool())

    @worker.action("act", attempts=3)
    def act(payload: dict[str, Any], task: Task) -> None:
        raise Snooze(MINUTE, {"seen": "x" * (100 + len(payload.get("seen", "")))})

    editor.add("act", due=HOUR, id="one")
    clock.advance(HOUR)
    worker.run()
    assert editor.get("one").snoozes == 1
    # When its lane is full
    with lanes_hold(0):
        for _ in range(20):
            clock.advance(10 * MINUTE)
            worker.run()
    # Then its attempts are used up, and it tells why
    task = editor.get("one")
    assert (task.status, task.attempt, task.snoozes) == (Status.FAILED, 3, 1)
    assert task.failure
    assert task.failure.type == "QueueFull"
    assert len(task.payload["seen"]) == 100


@pytest.mark.parametrize("recurs", [False, True], ids=["once", "recurring"])
def test_tasks_wait_for_a_limit_in_a_full_lane(
    editor: Editor, backend: Backend, clock: Clock, *, recurs: bool
) -> None:
    # Given tasks of an action that is limited, and paused for a while
    starts: list[str] = []
    worker = Worker(backend=backend, pool=lambda _: InlinePool())

    @worker.action("act", per_second=0.01)
    def act(_: object, task: Task) -> None:
        starts.append(task.id)

    when: dict[str, Any] = {"schedule": "rate(1 hour)"} if recurs else {"due": HOUR}
    ids = [editor.add("act", id=f"task-{number}", **when).id for number in range(3)]
    editor.limit("act", at_most=0)
    clock.advance(HOUR)
    # When their lanes take not a byte more
    with lanes_hold(0):
        worker.run()
        assert {editor.get(id).limited_since for id in ids} == {clock.now}
        editor.limit("act", at_most=None)
        for _ in range(6):
            clock.advance(2 * MINUTE)
            worker.run()
    # Then each has its turn, once
    assert sorted(starts) == ids


def test_a_note_on_a_failed_try_costs_neither_the_follow_up_nor_the_failure(
    editor: Editor, worker: Worker, clock: Clock, aws: Hooks
) -> None:
    # Given a task that has failed, and owes what follows, as DynamoDB throttles that
    @worker.action(attempts=1, on_failed="done")
    def charge() -> None:
        raise ValueError("x" * 500)

    done = []

    @worker.action("done")
    def hear(payload: object) -> None:
        done.append(payload)

    editor.add("charge", due=HOUR, id="charge")
    clock.advance(HOUR)

    def throttle(error: str) -> list[Callable[[], None]]:
        calls = ("dynamodb.PutItem", "dynamodb.BatchExecuteStatement")
        return [aws.refuse(call, error, when=lambda body: "/failed" in body) for call in calls]

    ends = throttle("Throttled")
    worker.run()
    before = editor.get("charge")
    assert before.owes
    for end in ends:
        end()
    # When its lane is full, and another try fails, by an error of more words
    ends = throttle("ThrottlingException")
    clock.advance(2 * MINUTE)
    with lanes_hold(0):
        worker.run()
    # Then it is as it was
    assert editor.get("charge") == before
    for end in ends:
        end()
    clock.advance(2 * MINUTE)
    worker.run()
    assert len(done) == 1
    assert (editor.get("charge").owes, editor.get("charge").failure) == (None, before.failure)
