"""Actions that raise anything, each beside well-behaved ones: none stops the others, nor the re-arming."""

import asyncio
from datetime import timedelta

import pytest

from duebell import ProblemKind, Status, Worker
from duebell.testing import Rehearsal

GOOD = [f"good-{number}" for number in range(20)]


class Strange(BaseException):
    """An error of the user's that is no Exception."""


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Exhausting(Exception):
    """An error with more to say than a task can keep."""

    def __str__(self) -> str:
        return "\x00\ud800€" * 1_000_000


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        Strange("strange"),
        RecursionError(),
        Mute(),
        Exhausting(),
        BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError()]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_is_raised_fails_that_task_alone(error: BaseException) -> None:
    worker = Worker(concurrency=4)
    worker.action("good")(lambda: None)

    @worker.action("poison", attempts=2)
    def poison() -> None:
        raise error

    with Rehearsal(worker) as rehearsal:
        for id in ("poison", *GOOD):
            rehearsal.editor.add(id.partition("-")[0], due=timedelta(minutes=10), id=id)
        rehearsal.let_time_pass(timedelta(hours=1))

    # Then each well-behaved task was done at its first attempt, and nothing else is wrong
    tasks = [rehearsal.editor.get(id) for id in GOOD]
    assert {(task.status, task.attempt) for task in tasks} == {(Status.DONE, 1)}
    assert [problem.kind for problem in rehearsal.editor.status().problems] == [ProblemKind.FAILED_TASKS]
    task = rehearsal.editor.get("poison")
    assert (task.status, task.attempt) == (Status.FAILED, 2)
    assert task.failure
    assert task.failure.type == type(error).__name__
