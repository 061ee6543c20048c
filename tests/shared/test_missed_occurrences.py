"""What becomes of occurrences that nothing ran in time, and of a task that is too late. Values only."""

from datetime import UTC, datetime

import pytest

from duebell_shared.retention import RetentionPolicy
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.packed_occurrences import Result
from duebell_shared.tasks.recurrence import Missed
from duebell_shared.tasks.status import Status
from tests.shared.hourly import FAILURE, HOUR, KEEP, MINUTE, NOON_PLUS, SECOND, hourly, started
from tests.support import NOON


def test_once_it_runs_for_the_last_of_those_missed() -> None:
    running = started(hourly(), NOON + 4 * HOUR + MINUTE)
    assert (running.due, running.missed_runs, running.lateness_ms) == (NOON + 4 * HOUR, 3, 60_000)
    after = running.done(now=NOON + 4 * HOUR + 2 * MINUTE, keep=RetentionPolicy(retention=KEEP))
    assert (after.due, after.missed_runs, after.runs) == (NOON + 5 * HOUR, 0, 1)
    assert after.last
    assert (after.last.due, after.last.missed) == (NOON + 4 * HOUR, 3)


def test_all_it_runs_for_each_of_those_missed() -> None:
    task = hourly(Missed.ALL)
    for number in range(1, 5):
        running = started(task, NOON + 4 * HOUR + MINUTE)
        assert (running.due, running.missed_runs) == (NOON + number * HOUR, 0)
        task = running.done(now=NOON + 4 * HOUR + MINUTE, keep=RetentionPolicy(retention=KEEP))
    assert task.queued == NOON + 5 * HOUR


def test_all_are_a_hundred_at_most() -> None:
    running = started(hourly(Missed.ALL), NOON_PLUS[150] + MINUTE)
    assert (running.due, running.missed_runs) == (NOON_PLUS[51], 50)
    after = running.done(now=NOON_PLUS[150] + MINUTE, keep=RetentionPolicy(retention=KEEP))
    assert started(after, NOON_PLUS[150] + MINUTE).due == NOON_PLUS[52]


def test_skip_runs_none_that_is_late() -> None:
    running = started(hourly(Missed.SKIP), NOON + 4 * HOUR + 6 * MINUTE)
    assert running.is_too_late
    after = running.expired(now=NOON + 4 * HOUR + 6 * MINUTE, keep=RetentionPolicy(retention=KEEP))
    assert (after.status, after.due, after.runs, after.attempt) == (Status.SCHEDULED, NOON + 5 * HOUR, 0, 0)
    assert after.last
    assert (after.last.result, after.last.due, after.last.missed) == (Result.SKIPPED, NOON + 4 * HOUR, 3)
    assert after.last.attempts == 0


def test_skip_runs_the_last_if_that_is_not_late() -> None:
    running = started(hourly(Missed.SKIP), NOON + 4 * HOUR + 2 * MINUTE)
    assert not running.is_too_late
    assert (running.due, running.missed_runs) == (NOON + 4 * HOUR, 3)


def test_skip_ends_expired_when_nothing_is_left() -> None:
    running = started(hourly(Missed.SKIP, end=NOON + 2 * HOUR), NOON + 4 * HOUR)
    over = running.expired(now=NOON + 4 * HOUR, keep=RetentionPolicy(retention=KEEP))
    assert (over.status, over.queued) == (Status.EXPIRED, None)
    assert over.retried(now=NOON + 5 * HOUR).queued == NOON + 5 * HOUR


def test_a_retry_is_not_taken_for_one_that_was_missed() -> None:
    # Given an occurrence that is retried, late, when the next has passed too
    task = started(hourly(), NOON + HOUR + 59 * MINUTE).to_retry(
        NOON + 2 * HOUR - SECOND, FAILURE, now=NOON + HOUR
    )
    running = started(task, NOON + 2 * HOUR + MINUTE)
    # Then it is that one that runs, and the next after it
    assert (running.due, running.missed_runs, running.attempt) == (NOON + HOUR, 0, 2)
    assert (
        running.done(now=NOON + 2 * HOUR + MINUTE, keep=RetentionPolicy(retention=KEEP)).due
        == NOON + 2 * HOUR
    )


def test_downtime_of_years_is_soon_counted() -> None:
    task = new_task(id="one", action="act", schedule="cron(* * * * ? *)", now=NOON)
    running = started(task, datetime(2036, 1, 1, 0, 0, 30, tzinfo=UTC))
    last = datetime(2036, 1, 1, tzinfo=UTC)
    assert (running.due, running.missed_runs) == (last, (last - NOON) // MINUTE - 1)


def test_what_passes_while_paused_is_the_policys() -> None:
    paused = hourly(Missed.SKIP).paused()
    assert (paused.status, paused.queued) == (Status.PAUSED, None)
    resumed = paused.resumed(now=NOON)
    assert (resumed.status, resumed.queued) == (Status.SCHEDULED, NOON + HOUR)
    running = started(resumed, NOON + 3 * HOUR + 10 * MINUTE)
    assert (running.is_too_late, running.missed_runs) == (True, 2)


# Too late for one that runs once.


@pytest.mark.parametrize(("minutes", "is_too_late"), [(0, False), (30, False), (31, True)])
def test_a_task_expires_when_it_cannot_be_started_in_time(minutes: int, is_too_late: bool) -> None:
    task = new_task(id="one", action="act", due=NOON, payload=None, now=NOON, expires_after=30 * MINUTE)
    running = started(task, NOON + minutes * MINUTE)
    assert running.is_too_late is is_too_late


def test_an_expired_task_is_history_that_can_be_retried() -> None:
    task = new_task(id="one", action="act", due=NOON, payload=None, now=NOON, expires_after=MINUTE)
    over = started(task, NOON + HOUR).expired(now=NOON + HOUR, keep=RetentionPolicy(retention=KEEP))
    assert (over.status, over.queued, over.attempt) == (Status.EXPIRED, None, 0)
    assert over.status.is_finished
    again = started(over.retried(now=NOON + 2 * HOUR))
    assert not again.is_too_late
