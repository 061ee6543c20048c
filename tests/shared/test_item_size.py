"""Each task that may be added fits into an item of DynamoDB, with all of its outcomes."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duebell_shared.errors import InvalidTask, TaskConflict
from duebell_shared.payloads.payload import MAX_BYTES
from duebell_shared.queue.items import MAX_ITEM, check_size, item_of, size_of
from duebell_shared.tasks.history import MAX_OCCURRENCES, Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.recurrence import MAX_PENDING, Missed
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import MAX_RESULT, Task

NOW = datetime(2026, 12, 31, 1, 2, 3, 456_000, tzinfo=UTC)
KEEP, DAY = RetentionPolicy(retention=timedelta(days=30)), timedelta(days=1)

#: Minutes, for as long as an expression may be.
LONGEST = "cron(" + "0," * 503 + "0 9 ? * * *)"


def largest(*, recurs: bool) -> Task:
    """A task with the longest of everything that may be added."""
    when: dict[str, Any] = {"due": NOW, "expires_after": 36_524 * DAY + timedelta(milliseconds=1)}
    if recurs:
        when = {
            "schedule": LONGEST,
            "timezone": "America/Argentina/ComodRivadavia",
            "start": NOW,
            "end": NOW + 36_000 * DAY,
            "missed": Missed.SKIP,
            "max_runs": 10**9,
        }
    task = new_task(
        id="𝄞" * 256,
        action="𝄞" * 256,
        payload="x" * (MAX_BYTES - 2),
        now=NOW,
        spread=DAY - timedelta(milliseconds=1),
        **when,
    )
    return check_size(task)


def started(task: Task, at: datetime) -> Task:
    """The task as a run claims it."""
    return replace(
        task,
        status=Status.RUNNING,
        attempt=task.attempt + 1,
        rev=task.rev + 10**9,
        started_at=at,
        run="r" * 36,
        lateness_ms=10**12,
    )


def fits(task: Task) -> Task:
    assert size_of(item_of(task)) <= MAX_ITEM
    return task


WORST = Failure(type="\x00" * 10_000, message="\x00" * 10_000, traceback="\x00" * 10_000)
#: The largest result; and, at once, the longest reason for one that is not kept.
RESULT = {"result_json": json.dumps("x" * (MAX_RESULT - 2)), "result_error": "𝄞" * 1_000}


def test_a_small_task_takes_at_most_340_bytes_of_its_lane() -> None:
    task = new_task(id="sale-42", action="put_on_sale", due=NOW, payload={"item": 42, "price": 9.99}, now=NOW)
    assert size_of(item_of(task)) <= 340
    kinds: Any = {"n": {"N": "-120.50"}, "b": {"B": b"abc"}, "t": {"BOOL": True}, "id": {"S": "ü"}}
    assert size_of(kinds) == 1 + 4 + 1 + 3 + 1 + 1 + 2 * (2 + 2) + 100


@pytest.mark.parametrize("recurs", [False, True])
def test_outcomes_can_always_be_written_however_often_it_fails(recurs: bool) -> None:
    # Given the largest task there may be, whose every attempt fails with what takes the most room
    task, at, most = largest(recurs=recurs), NOW, 0
    # When it is tried again and again, each occurrence a few times, some pending for long
    for number in range(100):
        at += timedelta(hours=30)
        running = fits(started(task, at).caught_up().left_running())
        if recurs and number % 7 == 6:
            task = running.done(now=at, keep=KEEP, **RESULT)
        elif running.can_wait and (not recurs or number % 2):
            task = running.to_retry(at + (300 + number) * DAY if recurs else at, WORST, now=at)
        elif recurs:
            task = running.failed(WORST, now=at, keep=KEEP)
        # Then each outcome can be written
        most = max(most, len(fits(task).failures))
    fits(started(task, at).failed(WORST, now=at, keep=KEEP))
    fits(started(task, at).done(now=at, keep=KEEP, **RESULT))
    assert most == 10
    if recurs:
        assert task.recurrence
        assert (len(task.occurrences), len(task.recurrence.pending)) == (MAX_OCCURRENCES, MAX_PENDING)
        # And another payload of the largest size is taken still
        check_size(task.updated(payload="y" * (MAX_BYTES - 2), now=NOW))


def test_what_leaves_no_room_for_outcomes_is_refused() -> None:
    # Given a task whose item is smaller than DynamoDB's limit, but not by what runs may write
    task = replace(largest(recurs=False), payload_json="x" * 366_000)
    assert size_of(item_of(task)) < MAX_ITEM
    with pytest.raises(InvalidTask, match="payload: makes the task as large as "):
        check_size(task)
    # And so is one whose past takes more than a task here keeps: another version may have written it
    past = Failure(type="E", message="x" * 60_000)
    with pytest.raises(InvalidTask, match="payload: makes the task as large as "):
        check_size(replace(largest(recurs=False), failure=past))
    check_size(replace(largest(recurs=False), payload_json="{}", failure=past))


def test_no_more_occurrences_are_moved_than_may_wait() -> None:
    task = new_task(id="one", action="act", schedule="rate(1 day)", now=NOW)
    # Given a task whose occurrences are moved far away, one after the other
    for _ in range(MAX_PENDING):
        task = task.moved(NOW + 1_000 * DAY, now=NOW)
    # When one more is, then that is refused: each is kept on the task
    with pytest.raises(TaskConflict, match="cannot move an occurrence of 'one': too many of its occurrences"):
        task.moved(NOW + 1_000 * DAY, now=NOW)
    assert task.recurrence
    assert len(task.recurrence.pending) == MAX_PENDING
