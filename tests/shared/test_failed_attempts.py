"""The failed attempts that a task remembers: which, how many, and until when. Values only."""

from datetime import datetime

from msgspec.structs import replace

from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task
from tests.shared.hourly import HOUR, KEEP, MINUTE, SECOND, hourly, started
from tests.support import NOON


def once() -> Task:
    return new_task(id="one", action="act", due=NOON, payload=None, now=NOON)


def retried(task: Task, at: datetime, *, again: datetime, message: str = "no") -> Task:
    """The task after an attempt that took a second, failed, and is made again then."""
    failure = Failure(type="ValueError", message=message, traceback="somewhere")
    return started(task, at).to_retry(again, failure, now=at + SECOND)


def failed(task: Task, at: datetime) -> Task:
    """The task after an attempt that took a second and failed for good."""
    failure = Failure(type="LookupError", message="lost")
    return started(task, at).failed(failure, now=at + SECOND, keep=KEEP)


def told(task: Task) -> list[tuple[datetime | None, int, str]]:
    return [(one.due, one.attempt, str(one.error).partition(":")[0]) for one in task.failures]


# Of a recurring task.


def test_those_of_an_occurrence_are_told_of_until_the_next_has_been_tried() -> None:
    # Given an occurrence that failed twice, and for good
    first, second = NOON + HOUR, NOON + 2 * HOUR
    task = failed(retried(hourly(), first, again=first + MINUTE), first + MINUTE)
    assert (task.due, task.attempt) == (second, 0)
    assert told(task) == [(first, 1, "ValueError"), (first, 2, "LookupError")]
    # When the next one is tried, it fails alone, or leaves nothing
    assert told(failed(task, second)) == [(second, 1, "LookupError")]
    assert started(task, second).done(now=second, keep=KEEP).failures == ()


def test_an_occurrence_that_is_moved_begins_anew_and_others_do_not() -> None:
    first, second, third = (NOON + number * HOUR for number in (1, 2, 3))
    task = retried(hourly(), first, again=third + MINUTE)
    task = retried(task, second, again=second + MINUTE)
    assert task.due == second
    assert told(task.moved(third - MINUTE, now=second)) == [(first, 1, "ValueError")]


# Left running by runs that died.


def test_attempts_that_were_left_running_failed_too() -> None:
    # Given an attempt that failed, and two that nobody heard of again
    task = retried(once(), NOON, again=NOON + MINUTE)
    for minutes in (1, 2, 3):
        task = started(task, NOON + minutes * MINUTE)
    # When the next has failed
    task = task.left_running()
    task = task.failed(Failure(type="E", message=""), now=NOON + HOUR, keep=KEEP)
    # Then all are told of, and of those two that they had not ended when the last began
    assert told(task) == [
        (NOON, 1, "ValueError"),
        (NOON, 2, "WorkerDied"),
        (NOON, 3, "WorkerDied"),
        (NOON, 4, "E"),
    ]
    assert {(one.at, one.ended_at) for one in task.failures[1:3]} == {(NOON + 3 * MINUTE, None)}


def test_however_many_were_left_running_ten_are_told_of() -> None:
    task = started(replace(once(), attempt=10**12), NOON).left_running()
    assert [one.attempt for one in task.failures] == [*range(10**12 - 9, 10**12 + 1)]
