"""What becomes of a task after an attempt: pure, so time and chance are given."""

from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from duebell import Backoff, Retry
from duebell_shared.instants import LATEST
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import Task
from duebell_worker.actions.action import Action
from duebell_worker.actions.handles import new_action
from duebell_worker.run.attempt import Unfinished, after_attempt, without_attempt
from duebell_worker.run.report import Outcome
from tests.support import NOON

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def task_at(attempt: int) -> Task:
    """A task whose n-th attempt is running."""
    return Task(
        id="a",
        lane=0,
        action="act",
        due=NOON - DAY,
        queued=NOON - HOUR,
        created_at=NOON - DAY,
        status=Status.RUNNING,
        attempt=attempt,
        rev=7,
    )


def actions(attempts: int) -> Mapping[str, Action[..., Any]]:
    return {"act": new_action("act", lambda: None, attempts=attempts)}


def attempted(
    error: BaseException | None, *, attempt: int = 1, attempts: int = 5, task: Task | None = None
) -> tuple[Task, Outcome]:
    task, known, keep = task or task_at(attempt), actions(attempts), RetentionPolicy(retention=DAY)
    ended = without_attempt(task, known, now=NOON, keep=keep) or after_attempt(
        task, error, known["act"], now=NOON, keep=keep, random=Random(1)
    )
    return ended.task, ended.outcome


def failure_of(task: Task) -> Failure:
    assert task.failure is not None
    return task.failure


@pytest.mark.parametrize(
    ("attempt", "whole"),
    [(1, 30), (2, 60), (7, 1920), (8, 3600), (10**6, 3600)],
)
def test_the_back_off_doubles_up_to_an_hour_and_chance_takes_up_to_half(attempt: int, whole: int) -> None:
    pauses = [Backoff().wait(attempt, Random(seed)).total_seconds() for seed in range(200)]
    assert whole / 2 <= min(pauses) < 0.55 * whole
    assert 0.95 * whole < max(pauses) <= whole


@pytest.mark.parametrize(
    ("after", "pause"),
    [
        (90, timedelta(seconds=90)),
        (0.5, timedelta(milliseconds=500)),
        (-5, timedelta(0)),
        (timedelta(days=-1), timedelta(0)),
        (timedelta(days=400), timedelta(days=400)),
    ],
)
def test_retry_says_when(after: timedelta | float, pause: timedelta) -> None:
    task, outcome = attempted(Retry("busy", after=after))
    assert (outcome, task.queued) == (Outcome.RETRIED, NOON + pause)
    assert failure_of(task) == Failure(type="Retry", message="busy", traceback="")


@pytest.mark.parametrize("error", [ValueError("no"), Retry("no", after=1), Unfinished()])
def test_the_last_attempt_is_not_retried(error: Exception) -> None:
    task, outcome = attempted(error, attempt=3, attempts=3)
    assert (outcome, task.status, task.attempt) == (Outcome.FAILED, Status.FAILED, 3)
    assert (task.queued, task.finished_at, task.expires_at) == (None, NOON, NOON + DAY)
    assert failure_of(task).type == type(error).__name__


def test_an_attempt_beyond_the_limit_was_not_made() -> None:
    begun = msgspec.structs.replace(task_at(4), begun=3)
    task, outcome = attempted(None, attempts=3, task=begun)
    assert (outcome, task.status, task.attempt) == (Outcome.FAILED, Status.FAILED, 3)
    assert failure_of(task).type == "WorkerDied"
    assert "all 3 attempts are used up" in failure_of(task).message


def test_an_unknown_action_names_those_that_are_known() -> None:
    known = {name: new_action(name, lambda: None, attempts=1) for name in ("zip", "mail")}
    for given, words in ((known, "it has mail, zip."), ({}, "it has none at all.")):
        ended = without_attempt(task_at(1), given, now=NOON, keep=RetentionPolicy(retention=DAY))
        assert ended
        task = ended.task
        assert (ended.outcome, task.status, task.attempt) == (Outcome.FAILED, Status.FAILED, 1)
        assert failure_of(task).type == "UnknownAction"
        assert f"no action 'act'; {words}" in failure_of(task).message


def test_a_long_message_is_cut() -> None:
    task, _ = attempted(ValueError("x" * 100_000))
    assert failure_of(task).message == "x" * 1_000
    assert len(failure_of(task).traceback) == 4_000


class Strange(Exception):
    """An error that cannot even be put into words."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_error_that_cannot_be_put_into_words_is_a_failure_like_others() -> None:
    task, outcome = attempted(Strange())
    assert (outcome, failure_of(task).type) == (Outcome.RETRIED, "Strange")
    assert failure_of(task).message == "(its message could not be made: RuntimeError)"


def test_an_error_within_a_class_is_named_with_it() -> None:
    class Inner(Exception):
        pass

    task, _ = attempted(Inner("x"))
    assert failure_of(task).type.endswith("<locals>.Inner")


@pytest.mark.parametrize("days", [3_000_000, 999_999_999])
def test_a_retry_is_never_later_than_a_rule_can_ring(days: int) -> None:
    task, outcome = attempted(Retry("later", after=timedelta(days=days)))
    assert (outcome, task.queued) == (Outcome.RETRIED, LATEST)
