"""Actions that put their task off: it is no failure, no attempt is used up, and the failures stay."""

from datetime import datetime, timedelta

import pytest

from duebell import Editor, Snooze, Status, Task, Worker
from duebell_shared.instants import LATEST
from tests.support import NOON, Clock
from tests.worker.scene import HOUR, MINUTE, SECOND


def polls(worker: Worker, *answers: Exception | None, attempts: int = 5) -> list[Task]:
    """Have the action `poll` raise these, one with each call; returns the tasks that it is called with."""
    called: list[Task] = []

    @worker.action("poll", attempts=attempts)
    def poll(payload: object, task: Task) -> None:
        called.append(task)
        if error := answers[len(called) - 1]:
            raise error

    return called


@pytest.mark.parametrize(
    ("after", "pause"),
    [
        (HOUR, HOUR),
        (1.5, 1.5 * SECOND),
        (-HOUR, SECOND),
        (timedelta(days=999_999), LATEST - NOON),
    ],
)
def test_a_snoozed_task_runs_again_after_as_long_as_it_said(
    editor: Editor, worker: Worker, after: timedelta | float, pause: timedelta
) -> None:
    called = polls(worker, Snooze(after), None)
    editor.add("poll", due=NOON, id="a", payload={"page": 1})
    report = worker.run()
    if pause < 2 * SECOND:  # a run stays for what is due so soon
        assert (report.snoozed, report.done) == (1, 1)
        assert called[1].queued == NOON + pause
        return
    assert (report.snoozed, report.attempts, report.retried, report.failed) == (1, 1, 0, 0)
    task = editor.get("a")
    assert (task.status, task.due, task.queued) == (Status.SCHEDULED, NOON, NOON + pause)
    assert (task.attempt, task.failure, task.failures) == (0, None, ())
    assert task.payload == {"page": 1}


def test_snoozing_uses_no_attempt_and_keeps_failures(editor: Editor, worker: Worker, clock: Clock) -> None:
    # Given an action of two attempts that fails, then waits many times, then is done
    called = polls(worker, ValueError("once"), *[Snooze(HOUR)] * 6, None, attempts=2)
    editor.add("poll", due=NOON, id="a")
    # When it is run until then
    while (task := editor.get("a")).status is Status.SCHEDULED:
        assert task.queued
        clock.now = max(clock.now, task.queued)
        worker.run()
    # Then each call after the failure was the second attempt
    assert [task.attempt for task in called] == [1] + [2] * 7
    assert [str(task.failure) for task in called[1:]] == ["ValueError: once"] * 7
    assert (task.status, task.attempt) == (Status.DONE, 2)
    [failed] = task.failures
    assert (failed.attempt, failed.error) == (1, "ValueError: once")


def test_it_goes_on_with_another_payload(editor: Editor, worker: Worker, clock: Clock) -> None:
    called = polls(worker, Snooze(HOUR, payload={"page": 2}), Snooze(HOUR), Snooze(HOUR, {}), None)
    editor.add("poll", due=NOON, id="a", payload={"page": 1})
    for _ in range(4):
        worker.run()
        clock.advance(HOUR)
    assert [task.payload for task in called] == [{"page": 1}, {"page": 2}, {"page": 2}, {}]


def test_a_payload_that_cannot_be_one_is_refused_where_it_is_raised(editor: Editor, worker: Worker) -> None:
    @worker.action("poll", attempts=1)
    def poll() -> None:
        raise Snooze(HOUR, payload={"far": float("nan")})

    editor.add("poll", due=NOON, id="a")
    assert worker.run().failed == 1
    failure = editor.get("a").failure
    assert failure
    assert failure.message.startswith("payload: payload['far'] is nan")
    assert "in poll" in failure.traceback


def test_a_snoozed_occurrence_does_not_delay_the_next(editor: Editor, worker: Worker, clock: Clock) -> None:
    # Given the 13 o'clock occurrence of an hourly task, which is put off by two hours
    ran: list[tuple[datetime, int]] = []

    @worker.action("poll")
    def poll(payload: object, task: Task) -> None:
        ran.append((task.due, task.attempt))
        if task.due == NOON + HOUR and ran.count((task.due, 1)) <= 2:
            raise Snooze(2 * HOUR + MINUTE)

    editor.add("poll", schedule="rate(1 hour)", id="a")
    # When time goes by
    for _ in range(24):
        clock.advance(15 * MINUTE)
        worker.run()
    # Then it ran beside the others, as its first attempt each time
    assert ran == [(NOON + number * HOUR, 1) for number in (1, 2, 3, 1, 4, 5, 1, 6)]
    assert editor.get("a").runs == 6


def test_a_recurring_task_keeps_its_payload(editor: Editor, worker: Worker, clock: Clock) -> None:
    polls(worker, Snooze(HOUR, payload=2), attempts=1)
    editor.add("poll", schedule="rate(1 hour)", id="a", payload=1)
    clock.advance(HOUR)
    assert worker.run().failed == 1
    task = editor.get("a")
    assert task.failure
    assert task.failure.message == (
        "payload: cannot be replaced by Snooze, because later occurrences of this recurring task would get "
        "it, too: add a task of its own for the rest of the work"
    )
    assert (task.payload, task.due) == (1, NOON + 2 * HOUR)


def test_an_occurrence_that_has_no_room_to_wait_fails(editor: Editor, worker: Worker, clock: Clock) -> None:
    @worker.action("poll")
    def poll() -> None:
        raise Snooze(100 * HOUR)

    editor.add("poll", schedule="rate(1 hour)", id="a")
    reports = []
    for _ in range(21):
        clock.advance(HOUR)
        reports.append(worker.run())
    assert [report.snoozed for report in reports] == [1] * 20 + [0]
    last = editor.get("a").last
    assert last
    assert last.failure == (
        "InvalidTask: after: cannot be heeded: too many occurrences of this task wait already"
    )


def test_a_new_spread_leaves_a_task_put_off_until_it_is_moved(editor: Editor, worker: Worker) -> None:
    polls(worker, Snooze(2 * HOUR))
    editor.add("poll", due=NOON, id="a")
    worker.run()
    assert editor.update("a", spread=HOUR).queued == NOON + 2 * HOUR
    moved = editor.move("a", due=3 * HOUR)
    assert moved.queued
    assert moved.queued > NOON + 3 * HOUR
    assert editor.update("a", spread=None).queued == NOON + 3 * HOUR
