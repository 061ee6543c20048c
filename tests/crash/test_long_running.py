"""A long-running process that dies, or is told to end, at each of its calls: nothing acknowledged is lost."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from duebell import AwsError, Editor, NotArmed, Status, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.expression import SENTINEL
from duebell_worker.process import Process
from tests.crash.dying import Death, Lambda, Moment, Processes, new_worlds
from tests.support import NOON, Clock

pytestmark = pytest.mark.slow

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

#: When the tasks are due; the process has waited for all of them by then.
DUES = (10 * SECOND, 40 * SECOND, 5 * MINUTE)
END = 6 * MINUTE

#: It makes fewer calls than this that are no looks; the tests see to it.
MOST_CALLS = 90


class World:
    """A scheduler on AWS in memory, a process, and the Lambda that stands in for it."""

    def __init__(self, processes: Processes) -> None:
        processes.create_stack()
        self.processes = processes
        self.clock = Clock()
        self.ran: list[str] = []
        self.editor = Editor(backend=processes.connect(self.clock))
        for number, due in enumerate(DUES):
            self.editor.add("note", due=NOON + due, id=f"task-{number}")
        self.lambda_ = Lambda(processes, self.clock, self._actions)

    def _actions(self, worker: Worker) -> None:
        @worker.action("note", attempts=3)
        def note(_: object, task: object) -> None:
            self.ran.append(task.id)  # type: ignore[attr-defined]

    def process(self, backend: Backend) -> Process:
        worker = Worker(backend=backend, pool=lambda _: InlinePool())
        self._actions(worker)
        # It looks seldom, so that most of its calls are of runs.
        return Process(worker, look_every=MINUTE, drain_for=20 * SECOND)

    def ends_well(self) -> None:
        """Let the rule ring; then all is done, and the rule is parked."""
        backend = self.processes.connect(self.clock)
        self.lambda_.let_it_ring()
        editor = Editor(backend=backend)
        for number in range(len(DUES)):
            assert editor.get(f"task-{number}").status is Status.DONE
        assert self.processes.expression() == SENTINEL
        assert not backend.armer.read().owners(self.clock.now)


@pytest.fixture
def world() -> Iterator[Callable[[], World]]:
    """A new world whenever asked; the old one is gone then."""
    with new_worlds(World) as renew:
        yield renew


def drained_at(clock: Clock, moment: timedelta, process: Process) -> None:
    """Have the process told to end when it sleeps until this moment."""
    sleep = clock.sleep

    def slept(seconds: float) -> None:
        sleep(seconds)
        if clock.now >= NOON + moment:
            process.drain()

    for one in (process._backend, process._worker.backend):
        object.__setattr__(one, "sleep", slept)


@pytest.mark.parametrize("moment", Moment)
def test_a_process_that_dies_at_any_call_is_replaced_by_the_lambda(
    world: Callable[[], World], moment: Moment
) -> None:
    for number in range(1, MOST_CALLS):
        now = world()
        backend = now.processes.connect(now.clock, dies_at=number, moment=moment)
        process = now.process(backend)
        drained_at(now.clock, END, process)
        try:
            process.run()
        except Death:
            now.ends_well()
            # At most the task that was under way was started twice
            assert len(now.ran) <= len(DUES) + 1
        else:
            assert sorted(now.ran) == ["task-0", "task-1", "task-2"]
            return
    raise AssertionError("it makes more calls than these")


def test_a_process_that_is_told_to_end_at_any_call_leaves_the_rest_to_the_lambda(
    world: Callable[[], World],
) -> None:
    for number in range(1, MOST_CALLS):
        now = world()
        backend = now.processes.connect(now.clock)
        process = now.process(backend)
        calls = 0

        def called(process: Process = process, number: int = number, **_: object) -> None:
            nonlocal calls
            calls += 1
            if calls == number:
                process.drain()

        drained_at(now.clock, END, process)
        events = now.processes._session.events
        events.register("before-call", called, unique_id="drain")
        try:
            assert process.run()
        except (AwsError, NotArmed) as error:
            raise AssertionError(f"at call {number}") from error
        finally:
            events.unregister("before-call", unique_id="drain")
        # All lanes are free at once, and the rule is set for what is left
        assert not backend.armer.read().owners(now.clock.now)
        now.ends_well()
        # Nothing was started twice
        assert sorted(now.ran) == ["task-0", "task-1", "task-2"]
        if calls < number:
            return
    raise AssertionError("it makes more calls than these")
