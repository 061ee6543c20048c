"""Actions that fail, as a run sees them: each fails alone, and the task keeps what went wrong."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from duebell import Abort, Backoff, Editor, Failure, Retry, Status, Worker
from duebell_shared.backend import Backend
from duebell_shared.instants import LATEST
from tests.support import NOON, Clock
from tests.worker.stage import Stage


def failure_of(editor: Editor, id: str) -> Failure:
    failure = editor.get(id).failure
    assert failure is not None
    return failure


def run_to_the_end(editor: Editor, worker: Worker, clock: Clock) -> list[datetime]:
    """Run the task `a` until it has ended; returns when its attempts began."""
    began = []
    while (task := editor.get("a")).status is Status.SCHEDULED:
        assert task.queued is not None
        clock.now = max(clock.now, task.queued)
        began.append(clock.now)
        worker.run()
    return began


def test_attempts_are_made_until_they_are_used_up(editor: Editor, worker: Worker, clock: Clock) -> None:
    # Given an action that fails each time
    @worker.action("fail", attempts=3)
    def fail() -> None:
        raise ConnectionError("no answer")

    editor.add("fail", due=NOON, id="a")
    made = run_to_the_end(editor, worker, clock)

    # Then there were three, further and further apart, and the task has failed
    first, second = made[1] - made[0], made[2] - made[1]
    assert timedelta(seconds=15) <= first <= timedelta(seconds=30)
    assert timedelta(seconds=30) <= second <= timedelta(seconds=60)
    task, failure = editor.get("a"), failure_of(editor, "a")
    assert (task.status, task.attempt, task.due) == (Status.FAILED, 3, NOON)
    assert (task.finished_at, task.queued) == (made[2], None)
    # And the traceback leads to the error
    assert failure.message == "no answer"
    assert failure.traceback.startswith("Traceback (most recent call last):\n")
    assert failure.traceback.endswith("ConnectionError: no answer\n")
    assert "in fail" in failure.traceback


def test_the_task_tells_when_each_attempt_failed_and_why(
    editor: Editor, staged: Worker, stage: Stage, clock: Clock
) -> None:
    # Given an action that fails after a while, each time otherwise
    errors = iter([ValueError("x" * 300), KeyError("b"), None])

    @staged.action("act")
    def act() -> None:
        stage.sleep(3)
        if error := next(errors):
            raise error

    editor.add("act", due=NOON, id="a")
    began = run_to_the_end(editor, staged, clock)

    # Then the two that failed are told of, and no traceback is kept of them
    task = editor.get("a")
    assert (task.status, task.attempt, task.failure) == (Status.DONE, 3, None)
    first, second = task.failures
    assert (first.attempt, first.error) == (1, f"ValueError: {'x' * 288}")
    assert (second.attempt, second.error) == (2, "KeyError: 'b'")
    for one, at in zip(task.failures, began, strict=False):
        assert (one.due, one.at, one.ended_at) == (NOON, at, at + timedelta(seconds=3))


class Strange(Exception):
    """An error that cannot even be put into words."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    class Inner(Exception):
        pass


@pytest.mark.parametrize(
    ("error", "type", "message"),
    [
        (ValueError("x" * 500_000), "ValueError", "x" * 1_000),
        (ValueError("\ud800"), "ValueError", "?"),
        (Strange(), "Strange", "(its message could not be made: RuntimeError)"),
        (Strange.Inner("x"), "Strange.Inner", "x"),
    ],
    ids=["long", "surrogate", "mute", "inner"],
)
def test_any_error_can_be_stored(
    editor: Editor, worker: Worker, error: Exception, type: str, message: str
) -> None:
    @worker.action("fail")
    def fail() -> None:
        raise error

    editor.add("fail", due=NOON, id="a", payload="p" * 340_000)
    assert worker.run().retried == 1
    failure = failure_of(editor, "a")
    assert (failure.type, failure.message) == (type, message)
    assert len(failure.traceback) <= 4_000


@pytest.mark.parametrize(
    ("attempt", "whole"),
    [(1, 30), (2, 60), (7, 1920), (8, 3600), (10**6, 3600)],
)
def test_the_back_off_doubles_up_to_an_hour_and_chance_takes_up_to_half(attempt: int, whole: int) -> None:
    pauses = [Backoff().wait(attempt).total_seconds() for _ in range(200)]
    assert whole / 2 <= min(pauses) < 0.55 * whole
    assert 0.95 * whole < max(pauses) <= whole


@pytest.mark.parametrize(
    ("after", "queued"),
    [
        (90, NOON + timedelta(seconds=90)),
        (timedelta(days=999_999_999), LATEST),
    ],
)
def test_a_retry_says_when_and_is_never_later_than_a_rule_can_ring(
    editor: Editor, worker: Worker, after: timedelta | float, queued: datetime
) -> None:
    @worker.action("wait")
    def wait() -> None:
        raise Retry("busy", after=after)

    editor.add("wait", due=NOON, id="a")
    worker.run()
    assert editor.get("a").queued == queued
    assert failure_of(editor, "a") == Failure(type="Retry", message="busy", traceback="")


def test_retry_and_abort_decide_themselves(editor: Editor, worker: Worker) -> None:
    @worker.action("act")
    def act(payload: str) -> None:
        raise Abort("sold out") if payload == "stop" else Retry("closed", after=timedelta(hours=9))

    for payload in ("wait", "stop"):
        editor.add("act", due=NOON, id=payload, payload=payload)
    report = worker.run()
    assert (report.retried, report.failed, report.rings_at) == (1, 1, NOON + timedelta(hours=9))
    assert editor.get("wait").queued == NOON + timedelta(hours=9)
    assert editor.get("stop").status is Status.FAILED
    assert failure_of(editor, "stop") == Failure(type="Abort", message="sold out")


def test_a_retry_at_once_comes_in_the_same_run_as_far_as_attempts_go(editor: Editor, worker: Worker) -> None:
    @worker.action("again", attempts=4)
    def again() -> None:
        raise Retry(after=-1)

    editor.add("again", due=NOON, id="a")
    report = worker.run()
    assert (report.retried, report.failed) == (3, 1)
    failed = Failure(type="Retry", message="the action asked for a retry")
    assert (editor.get("a").attempt, failure_of(editor, "a")) == (4, failed)


@pytest.mark.parametrize("verb", ["claim_many", "save_many"])
def test_of_a_batch_of_writes_one_that_raises_takes_no_other_with_it(
    editor: Editor, worker: Worker, backend: Backend, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.action("act")(lambda: None)
    ids = ["a", "odd", "b"]
    for id in ids:
        editor.add("act", due=NOON, id=id)
    write = getattr(backend.store, verb)

    def write_or_raise(batch: Sequence[Any], **how: Any) -> Any:
        if any((one if verb == "claim_many" else one[0]).id == "odd" for one in batch):
            raise ValueError("nobody foresaw it")
        return write(batch, **how)

    monkeypatch.setattr(backend.store, verb, write_or_raise)
    worker.run()
    assert [editor.get(id).status is Status.DONE for id in ids] == [True, False, True]
