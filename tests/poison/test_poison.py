"""Actions that misbehave, each beside well-behaved ones: none stops the others, nor the re-arming."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from duebell import Editor, ProblemKind, Status, Worker
from duebell_shared.bell.expression import SENTINEL
from duebell_worker.run.context import ThreadPool
from tests.support import Clock

from .shared_memory import FakeRule, LockedStore, backend_of, ring_till_parked

SOON = timedelta(minutes=10)
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


class Scene:
    """A scheduler in memory, its worker with real threads; twenty well-behaved tasks and a poisonous one."""

    def __init__(self, pool: Callable[[int], ThreadPool] = ThreadPool) -> None:
        self.clock = Clock()
        self.rule = FakeRule()
        backend = backend_of(LockedStore(), self.rule, clock=self.clock, sleep=self.clock.sleep)
        self.editor = Editor(backend=backend)
        self.worker = Worker(backend=backend, concurrency=4, pool=pool)
        self.worker.action("good")(lambda: None)

    def run(self, *, poison: Callable[[], None], time_left: timedelta | None = None) -> None:
        """Have all come due and the rule ring, for as long as it does."""
        self.worker.action("poison", attempts=2)(poison)
        for id in ("poison", *GOOD):
            self.editor.add(id.partition("-")[0], due=SOON, id=id)

        def run(minute: object) -> None:
            self.clock.now = max(self.clock.now, minute)  # type: ignore[call-overload]
            self.worker.run(time_left=time_left)

        ring_till_parked(self.rule, run, now=self.clock.now)

    def everyone_else_is_done(self) -> bool:
        """Whether each well-behaved task was done at its first attempt, and the rule is parked."""
        tasks = [self.editor.get(id) for id in GOOD]
        all_done = all(task.status is Status.DONE and task.attempt == 1 for task in tasks)
        wrong = {problem.kind for problem in self.editor.status().problems}
        is_parked = self.rule.expression == SENTINEL
        return all_done and is_parked and wrong <= {ProblemKind.FAILED_TASKS, ProblemKind.FAILING_TASKS}


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
    scene = Scene()

    def poison() -> None:
        raise error

    scene.run(poison=poison)

    assert scene.everyone_else_is_done()
    task = scene.editor.get("poison")
    assert (task.status, task.attempt) == (Status.FAILED, 2)
    assert task.failure
    assert task.failure.type == type(error).__name__
