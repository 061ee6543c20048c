"""A run that dies at its n-th AWS call while an attempt times out or is told to stop."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta

import pytest

from duebell import Editor, Status, Task, Worker, stopping
from duebell_shared.bell.expression import SENTINEL
from tests.crash.dying import Death, Lambda, Moment, Processes, new_worlds
from tests.support import Clock
from tests.worker.stage import Stage

pytestmark = pytest.mark.slow

#: The run makes fewer calls than this; the test sees to it.
MOST_CALLS = 90

MINUTE = timedelta(minutes=1)


class World:
    """A scheduler on AWS in memory whose action hangs in its first attempt."""

    cancels = False

    def __init__(self, processes: Processes) -> None:
        processes.create_stack()
        self.processes = processes
        self.clock = Clock()
        self.stage = Stage(self.clock)
        self.editor = Editor(backend=processes.connect(self.clock))
        self.editor.add("hangs", due=10 * MINUTE, id="one", on_failed="next")
        self.editor.add("next", due=11 * MINUTE, id="two")
        self.attempts: list[int] = []
        self.was_told: list[bool] = []
        self.lambda_ = Lambda(processes, self.clock, self._actions, pool=self.stage)

    def _actions(self, worker: Worker) -> None:
        @worker.action("hangs", attempts=3, timeout=MINUTE, stoppable=True)
        def hangs(_: object, task: Task) -> None:
            self.attempts.append(task.attempt)
            if self.cancels:
                self.stage.sleep(10)
                with self.processes.another():
                    self.editor.cancel("one")
                self.stage.sleep(5)
                self.was_told.append(stopping().is_set())
            elif task.attempt == 1:
                self.stage.sleep(math.inf)

        worker.action("next")(lambda: None)


@pytest.fixture
def world() -> Iterator[Callable[[], World]]:
    """A new world whenever asked; the old one is gone then."""
    with new_worlds(World) as renew:
        yield renew


@pytest.mark.parametrize("moment", Moment)
def test_a_run_that_dies_while_an_attempt_times_out(world: Callable[[], World], moment: Moment) -> None:
    for number in range(1, MOST_CALLS):
        now = world()
        now.clock.advance(10 * MINUTE + timedelta(seconds=7))
        backend = now.processes.connect(now.clock, dies_at=number, moment=moment)
        ended_well = now.lambda_.invoke(backend)
        if not ended_well:
            now.lambda_.retry()
        now.lambda_.let_it_ring()
        one = now.editor.get("one")
        assert (one.status, now.editor.get("two").status) == (Status.DONE, Status.DONE)
        assert now.attempts == list(range(now.attempts[0], one.attempt + 1))
        assert now.processes.expression() == SENTINEL
        # What hung returns in the end, and changes nothing
        with suppress(Death):
            now.stage.wake_all()
        assert now.editor.get("one") == one
        if ended_well:
            assert [failure.type for failure in one.failures] == ["TimedOut"]
            return
    raise AssertionError("it makes more calls than these")


@pytest.mark.parametrize("moment", Moment)
def test_a_run_that_dies_while_an_attempt_is_told_to_stop(world: Callable[[], World], moment: Moment) -> None:
    for number in range(1, MOST_CALLS):
        now = world()
        now.cancels = True
        now.clock.advance(10 * MINUTE + timedelta(seconds=7))
        backend = now.processes.connect(now.clock, dies_at=number, moment=moment)
        ended_well = now.lambda_.invoke(backend)
        if not ended_well:
            now.lambda_.retry()
        now.lambda_.let_it_ring()
        # What was cancelled stays so, and the other task is done
        assert (now.editor.get("one").status, now.editor.get("two").status) == (
            Status.CANCELLED,
            Status.DONE,
        )
        assert now.processes.expression() == SENTINEL
        if ended_well:
            assert now.was_told == [True]
            return
    raise AssertionError("it makes more calls than these")
