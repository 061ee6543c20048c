"""Where a recurring task stands after each attempt. Values only."""

from datetime import datetime, timedelta

import pytest

from duebell_shared.errors import TaskConflict
from duebell_shared.retention import RetentionPolicy
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.packed_occurrences import Result
from duebell_shared.tasks.recurrence import MAX_PENDING
from duebell_shared.tasks.status import Status
from tests.shared.hourly import FAILURE, HOUR, KEEP, MINUTE, NOON_PLUS, SECOND, done, failed, hourly, started
from tests.support import NOON

# The chain.


def test_it_is_due_at_its_first_occurrence() -> None:
    task = hourly()
    assert (task.status, task.due, task.queued, task.runs) == (Status.SCHEDULED, NOON + HOUR, NOON + HOUR, 0)


def test_the_outcome_and_the_next_occurrence_are_one_change() -> None:
    running = started(hourly())
    after = running.done(now=NOON + HOUR + SECOND, keep=RetentionPolicy(retention=KEEP))
    assert after.rev == running.rev + 1
    assert (after.status, after.due, after.queued) == (Status.SCHEDULED, NOON + 2 * HOUR, NOON + 2 * HOUR)
    assert (after.attempt, after.runs, after.expires_at) == (0, 1, None)


def test_what_an_occurrence_came_to_is_kept() -> None:
    last = done(hourly(), NOON + HOUR + 40 * SECOND).last
    assert last
    assert (last.due, last.result, last.attempts) == (NOON + HOUR, Result.DONE, 1)
    assert (last.started_at, last.finished_at) == (NOON + HOUR + 40 * SECOND, NOON + HOUR + 41 * SECOND)
    assert (last.lateness_ms, last.missed, last.failure) == (40_000, 0, None)


def test_the_last_twenty_are_kept() -> None:
    task = hourly()
    for _ in range(23):
        task = done(task)
    assert [one.due for one in task.occurrences] == NOON_PLUS[4:24]
    assert task.runs == 23


def test_a_failed_occurrence_is_recorded_and_the_chain_goes_on() -> None:
    task = failed(failed(hourly()))
    assert (task.status, task.due, task.attempt) == (Status.SCHEDULED, NOON + 3 * HOUR, 0)
    assert (task.runs, task.consecutive_failures, task.failure) == (2, 2, FAILURE)
    assert [one.result for one in task.occurrences] == [Result.FAILED, Result.FAILED]
    assert task.occurrences[0].failure == "ValueError: no"
    # And one that is done ends the row, and the failure is over
    task = done(task)
    assert (task.consecutive_failures, task.failure) == (0, None)


def test_one_more_run_that_succeeds_ends_the_row_of_failures_and_one_that_fails_leaves_it() -> None:
    more = failed(hourly()).run_now(now=NOON + HOUR + MINUTE)
    assert [(one.runs, one.consecutive_failures) for one in (done(more), failed(more))] == [(1, 0), (1, 1)]


def test_it_ends_with_its_schedule() -> None:
    task = done(hourly(end=NOON + 2 * HOUR))
    assert task.due == NOON + 2 * HOUR
    over = done(task)
    assert (over.status, over.queued, over.due, over.runs) == (Status.DONE, None, NOON + 2 * HOUR, 2)
    assert over.expires_at == over.finished_at + KEEP if over.finished_at else False


def test_it_ends_failed_when_its_last_occurrence_failed() -> None:
    over = failed(hourly(end=NOON + HOUR))
    assert (over.status, over.failure, over.runs) == (Status.FAILED, FAILURE, 1)
    # And that one can be retried, which does not count as another
    again = over.retried(now=NOON + 5 * HOUR)
    assert (again.status, again.queued, again.due) == (Status.SCHEDULED, NOON + 5 * HOUR, NOON + HOUR)
    assert done(again).runs == 1


def test_it_ends_after_so_many_runs() -> None:
    task = hourly(max_runs=2)
    assert done(task).status is Status.SCHEDULED
    assert done(done(task)).status is Status.DONE


# Retries.


def test_an_occurrence_is_retried_like_any_other() -> None:
    running = started(hourly())
    retried = running.to_retry(NOON + HOUR + MINUTE, FAILURE, now=NOON + HOUR)
    assert retried.rev == running.rev + 1
    assert (retried.due, retried.queued) == (NOON + HOUR, NOON + HOUR + MINUTE)
    assert (retried.attempt, retried.failure, retried.runs) == (1, FAILURE, 0)
    after = done(retried)
    assert (after.due, after.runs, after.attempt) == (NOON + 2 * HOUR, 1, 0)
    assert after.last
    assert after.last.attempts == 2


def test_a_retry_after_the_next_occurrence_delays_it_not() -> None:
    # When an occurrence is to be retried after the next one is due
    later = NOON + 2 * HOUR + 30 * MINUTE
    task = started(hourly()).to_retry(later, FAILURE, now=NOON + HOUR)
    # Then the next one comes first
    assert (task.due, task.queued, task.attempt) == (NOON + 2 * HOUR, NOON + 2 * HOUR, 0)
    task = done(task)
    # And then the retry, with the attempts it had
    assert (task.due, task.queued, task.attempt) == (NOON + HOUR, later, 1)
    task = done(task)
    assert (task.due, task.queued) == (NOON + 3 * HOUR, NOON + 3 * HOUR)
    assert [(one.due, one.attempts) for one in task.occurrences] == [(NOON + 2 * HOUR, 1), (NOON + HOUR, 2)]
    assert task.runs == 2


def test_only_so_many_wait_aside() -> None:
    task = hourly()
    for _ in range(MAX_PENDING):
        assert task.can_wait
        task = started(task).to_retry(NOON_PLUS[100], FAILURE, now=NOON + HOUR)
    assert not task.can_wait
    with pytest.raises(TaskConflict, match="too many of its occurrences wait"):
        task.run_now(now=NOON)


def test_occurrences_that_wait_count_for_max_runs() -> None:
    task = started(hourly(max_runs=2)).to_retry(NOON + 2 * HOUR + MINUTE, FAILURE, now=NOON + HOUR)
    task = done(task)
    assert (task.due, task.attempt) == (NOON + HOUR, 1)
    assert done(task).status is Status.DONE


# Spread.


def test_a_spread_delays_each_occurrence_by_the_same() -> None:
    task = hourly(spread=10 * MINUTE)
    assert task.queued
    delay = task.queued - task.due
    assert timedelta(0) < delay < 10 * MINUTE
    after = done(task)
    assert after.queued
    assert (after.due, after.queued - after.due) == (NOON + 2 * HOUR, delay)
    assert after.last
    assert after.last.lateness_ms == 0


def test_spreads_are_even() -> None:
    def queued(id: str) -> datetime:
        task = new_task(id=id, action="act", due=NOON, payload=None, now=NOON, spread=HOUR)
        assert task.queued
        return task.queued

    minutes = [(queued(f"task-{number}") - NOON) // MINUTE for number in range(6_000)]
    assert set(minutes) == set(range(60))
    assert all(60 < minutes.count(minute) < 140 for minute in range(60))
