"""A process dies at each of its calls while it makes, fills, closes or counts a batch: all comes once."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from duebell import Abort, DuebellError, Editor, Status, Then, Worker
from duebell_shared.bell.expression import SENTINEL
from tests.crash.dying import Lambda, Moment, Processes, new_worlds
from tests.support import Clock

pytestmark = pytest.mark.slow

MOST_CALLS = 80
TASKS = [
    {"action": "work", "due": timedelta(minutes=minutes), "payload": minutes} for minutes in (20, 20, 90)
]


class World:
    """A scheduler on AWS in memory with a clock, and what its batch was told."""

    def __init__(self, processes: Processes) -> None:
        processes.create_stack()
        self.processes, self.clock = processes, Clock()
        self.editor = Editor(backend=processes.connect(self.clock))
        self.editor.ensure_armed()
        self.told: list[Any] = []
        self.lambda_ = Lambda(processes, self.clock, self._actions)

    def _actions(self, worker: Worker) -> None:
        @worker.action("work", attempts=3)
        def work(payload: Any) -> None:
            if payload == 90:
                raise Abort("as told")

        @worker.action("report", attempts=20)
        def report(payload: Any) -> None:
            members = self.editor.find("b/").tasks
            assert all(task.status.is_finished for task in members)
            self.told.append(payload["batch"])


@pytest.fixture
def world() -> Iterator[Callable[[], World]]:
    with new_worlds(World) as renew:
        yield renew


def batch(editor: Editor) -> object:
    return editor.batch("b", TASKS, then=Then("report"))


def one_by_one(editor: Editor) -> object:
    editor.batch("b", then=Then("report"))
    for number, task in enumerate(TASKS, 1):
        editor.add(**task, id=f"b/{number}", batch="b", if_exists="keep")  # type: ignore[arg-type]
    return editor.close_batch("b")


def of_what_is_there(editor: Editor) -> object:
    """Of which the first has ended when the batch is made."""
    return editor.batch("b", wait_for=[f"b/{number}" for number in (1, 2, 3)], then=Then("report"))


def insist(world: World, call: Callable[[Editor], object]) -> None:
    """Repeat a call that has died, as a user would; one that is reserved is free after its time."""
    for _ in range(5):
        try:
            call(world.editor)
        except DuebellError:
            world.clock.advance(timedelta(minutes=5))
            world.lambda_.let_it_ring()
        else:
            return
    raise AssertionError("it cannot be repeated")


def all_is_well(world: World) -> None:
    assert world.told[:1] == [{"id": "b", "done": 2, "failed": 1, "cancelled": 0, "expired": 0}]
    assert all(told == world.told[0] for told in world.told)
    assert world.editor.get("b").status is Status.DONE
    assert not any(task.owes for task in world.editor.find("b").tasks)
    assert world.processes.expression() == SENTINEL


@pytest.mark.parametrize("make", [batch, one_by_one, of_what_is_there])
def test_an_editor_that_dies_while_it_makes_a_batch(
    world: Callable[[], World], make: Callable[[Editor], object]
) -> None:
    for number, moment in ((number, moment) for number in range(1, MOST_CALLS) for moment in Moment):
        now = world()
        if make is of_what_is_there:
            for place, due in enumerate((0, 20, 90), 1):
                now.editor.add("work", due=timedelta(minutes=due), payload=due, id=f"b/{place}")
            assert now.lambda_.invoke(now.processes.connect(now.clock))
        has_died = now.processes.dies(now.clock, make, number, moment)
        if has_died:
            insist(now, make)
        now.lambda_.let_it_ring()
        all_is_well(now)
        assert len(now.told) == 1
        if not has_died:
            return
    raise AssertionError("more calls than expected")


@pytest.mark.parametrize("minutes", [20, 90])
def test_a_run_that_dies_while_it_counts(world: Callable[[], World], minutes: int) -> None:
    for number, moment in ((number, moment) for number in range(1, MOST_CALLS) for moment in Moment):
        # Given a batch of which some tasks, or the last one, are due
        now = world()
        batch(now.editor)
        now.clock.advance(timedelta(minutes=20, seconds=7))
        if minutes == 90:
            assert now.lambda_.invoke(now.processes.connect(now.clock))
            now.clock.advance(timedelta(minutes=70))
        # When the run dies, and further ones come by themselves
        backend = now.processes.connect(now.clock, dies_at=number, moment=moment)
        is_over = now.lambda_.invoke(backend)
        if not is_over:
            now.lambda_.retry()
        now.lambda_.let_it_ring()
        # Then the batch went on once all had ended
        all_is_well(now)
        if is_over:
            return
    raise AssertionError("more calls than expected")


def test_an_editor_that_dies_while_it_cancels_the_last_task(world: Callable[[], World]) -> None:
    for number, moment in ((number, moment) for number in range(1, MOST_CALLS) for moment in Moment):
        now = world()
        now.editor.batch("b", TASKS[:1], then=Then("report"))
        has_died = now.processes.dies(now.clock, lambda editor: editor.cancel("b/1"), number, moment)
        now.lambda_.let_it_ring()
        counted = {"done": 0, "cancelled": 1}
        assert now.told[0].items() >= counted.items() or (has_died and now.told[0]["done"] == 1)
        if not has_died:
            return
    raise AssertionError("more calls than expected")
