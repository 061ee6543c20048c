"""For each scenario and each n: the process dies at its n-th AWS call, and nothing acknowledged is lost."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, ProblemKind, Snooze, Status, Task, TaskNotFound, Then, Worker
from duebell_editor.library import adder
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.instants import render
from duebell_shared.tasks.history import Result
from tests.crash.dying import Lambda, Moment, Processes, new_worlds
from tests.support import Clock

pytestmark = pytest.mark.slow

SOON, LATER = timedelta(minutes=30), timedelta(hours=3)

#: The scenarios' processes make fewer calls than this; the tests see to it.
MOST_CALLS = 60

Change = Callable[[Editor], None]


class World:
    """A scheduler on AWS in memory with a clock, and what ran in it when."""

    def __init__(self, processes: Processes) -> None:
        processes.create_stack()
        self.processes = processes
        self.clock = Clock()
        self.editor = Editor(backend=processes.connect(self.clock))
        self.editor.ensure_armed()
        self.ran: list[str] = []
        self.hook: Change | None = None
        self.lambda_ = Lambda(processes, self.clock, self._actions)

    def _actions(self, worker: Worker) -> None:
        @worker.action("note", attempts=3, keep_result=True)
        def note(payload: dict[str, Any], task: Task) -> str:
            self.ran.append(task.id)
            if self.hook:
                hook, self.hook = self.hook, None
                with self.processes.another():
                    hook(self.editor)
            if payload.get("fails"):
                raise ValueError("as told")
            if task.snoozes < payload.get("snoozes", 0):
                raise Snooze(SOON, payload | {"asked": True})
            return task.id

    def add(self, *ids: str, due: timedelta = SOON, fails: bool = False) -> None:
        for id in ids:
            self.editor.add("note", due=due, id=id, payload={"fails": fails})

    def is_stored(self, id: str) -> bool:
        try:
            return bool(self.editor.get(id))
        except TaskNotFound:
            return False

    def status(self, id: str) -> Status:
        return self.editor.get(id).status

    def expression(self) -> str:
        return self.processes.expression()


@pytest.fixture
def world() -> Iterator[Callable[[], World]]:
    """A new world whenever asked; the old one is gone then."""
    with new_worlds(World) as renew:
        yield renew


def deaths() -> Iterator[tuple[int, Moment]]:
    for number in range(1, MOST_CALLS):
        for moment in Moment:
            yield number, moment


def die_running(world: World, number: int, moment: Moment) -> bool:
    """Run in a Lambda that dies at its n-th call; whether it ended well nevertheless."""
    backend = world.processes.connect(world.clock, dies_at=number, moment=moment)
    if world.lambda_.invoke(backend):
        return True
    world.lambda_.retry()
    return False


def ring_in(world: World, delay: timedelta) -> None:
    world.clock.advance(delay + timedelta(seconds=7))


def all_is_well(world: World, *done: str) -> None:
    for id in done:
        assert world.status(id) is Status.DONE, (
            f"{id} is {world.status(id)}, the rule at {world.expression()}"
        )
    assert world.expression() == SENTINEL
    assert {problem.kind for problem in world.editor.status().problems} <= {ProblemKind.FAILED_TASKS}


def add_new(editor: Editor) -> None:
    editor.add("note", due=timedelta(minutes=10), id="new")


ADDING = {
    "to an empty queue": (),
    "a new head": ("one", "two"),
}


@pytest.mark.parametrize("there", ADDING.values(), ids=ADDING.keys())
def test_an_editor_that_dies_while_it_adds(world: Callable[[], World], there: tuple[str, ...]) -> None:
    for number, moment in deaths():
        now = world()
        now.add(*there)
        acknowledged = not now.processes.dies(now.clock, add_new, number, moment)
        now.lambda_.let_it_ring()
        for id in there:
            assert now.status(id) is Status.DONE
        if acknowledged:
            all_is_well(now, "new", *there)
            return
        # And what was not acknowledged is mended by the same call again.
        now.editor.add("note", due=timedelta(minutes=10), id="new", if_exists="keep")
        now.lambda_.let_it_ring()
        all_is_well(now, "new", *there)
    raise AssertionError("more calls than expected")


def add_many_new(editor: Editor) -> None:
    editor.add_many(
        ({"action": "note", "due": timedelta(minutes=10), "id": id, "payload": {}} for id in MANY),
        if_exists="keep",
    )


MANY = tuple(f"new-{number}" for number in range(5))


def test_an_editor_that_dies_while_it_adds_many(
    world: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = ("one", "two")
    monkeypatch.setattr(adder, "AT_ONCE", 2)
    for number, moment in deaths():
        now = world()
        now.add(*there)
        acknowledged = not now.processes.dies(now.clock, add_many_new, number, moment)
        stored = {id for id in MANY if now.is_stored(id)}
        now.lambda_.let_it_ring()
        for id in there:
            assert now.status(id) is Status.DONE
        if acknowledged:
            all_is_well(now, *MANY, *there)
            return
        # And any later call finds what was stored and not acknowledged.
        now.editor.ensure_armed()
        now.lambda_.let_it_ring()
        all_is_well(now, *stored, *there)
    raise AssertionError("more calls than expected")


CHANGES: dict[str, tuple[Change, Status]] = {
    "moves its task earlier": (lambda editor: _ignore(editor.move("two", due=SOON / 2)), Status.DONE),
    "moves the head later": (lambda editor: _ignore(editor.move("one", due=LATER * 2)), Status.DONE),
    "cancels the head": (lambda editor: _ignore(editor.cancel("one")), Status.CANCELLED),
}


@pytest.mark.parametrize(("change", "end"), CHANGES.values(), ids=CHANGES.keys())
def test_an_editor_that_dies_while_it(world: Callable[[], World], change: Change, end: Status) -> None:
    for number, moment in deaths():
        now = world()
        now.add("one")
        now.add("two", "three", due=LATER)
        acknowledged = not now.processes.dies(now.clock, change, number, moment)
        now.lambda_.let_it_ring()
        # Whether the change was made or not, every task comes to its end.
        assert now.status("two") is Status.DONE
        assert now.status("three") is Status.DONE
        assert now.status("one") in {Status.DONE, end}
        assert now.expression() == SENTINEL
        if acknowledged:
            assert now.status("one") is end
            return
    raise AssertionError("more calls than expected")


RUNS: dict[str, tuple[tuple[str, ...], bool]] = {
    "several tasks": (("one", "two", "three"), False),
    "a task that fails": (("one",), True),
}


@pytest.mark.parametrize(("ids", "fails"), RUNS.values(), ids=RUNS.keys())
def test_a_run_that_dies_with(world: Callable[[], World], ids: tuple[str, ...], *, fails: bool) -> None:
    for number, moment in deaths():
        now = world()
        now.add(*ids, fails=fails)
        now.add("next", due=LATER)
        ring_in(now, SOON)
        ended_well = die_running(now, number, moment)
        now.lambda_.let_it_ring()
        end = Status.FAILED if fails else Status.DONE
        assert {now.status(id) for id in ids} == {end}
        assert all(now.editor.get(id).attempt <= 3 for id in ids)
        all_is_well(now, "next")
        if ended_well:
            return
    raise AssertionError("more calls than expected")


@pytest.mark.parametrize("fails", [False, True], ids=["done", "failing"])
def test_a_run_that_dies_with_a_recurring_task(world: Callable[[], World], *, fails: bool) -> None:
    for number, moment in deaths():
        now = world()
        first = now.editor.add(
            "note", schedule="rate(1 hour)", max_runs=2, missed="all", id="hourly", payload={"fails": fails}
        )
        ring_in(now, timedelta(hours=1))
        ended_well = die_running(now, number, moment)
        now.lambda_.let_it_ring()
        task = now.editor.get("hourly")
        # Then each occurrence came to its end once, and in order: the chain neither broke nor forked
        result = Result.FAILED if fails else Result.DONE
        assert [one.due for one in task.occurrences] == [first.due, first.due + timedelta(hours=1)]
        assert {one.result for one in task.occurrences} == {result}
        assert all(one.attempts <= 3 for one in task.occurrences)
        assert (task.runs, task.status) == (2, Status.FAILED if fails else Status.DONE)
        assert now.expression() == SENTINEL
        if ended_well:
            return
    raise AssertionError("more calls than expected")


def test_a_run_that_dies_with_a_task_that_is_snoozed(world: Callable[[], World]) -> None:
    for number, moment in deaths():
        now = world()
        now.editor.add("note", due=SOON, id="one", payload={"snoozes": 2})
        ring_in(now, SOON)
        ended_well = die_running(now, number, moment)
        now.lambda_.let_it_ring()
        task = now.editor.get("one")
        assert (task.status, task.snoozes) == (Status.DONE, 2)
        assert task.payload == {"snoozes": 2, "asked": True}
        assert task.attempt <= 2, "only the death may have used an attempt up"
        all_is_well(now, "one")
        if ended_well:
            return
    raise AssertionError("more calls than expected")


@pytest.mark.parametrize(("recurs", "fails"), [(False, True), (True, False)], ids=["once", "recurring"])
def test_a_run_that_dies_with_a_task_that_has_follow_ups(
    world: Callable[[], World], *, fails: bool, recurs: bool
) -> None:
    for number, moment in deaths():
        now = world()
        often = {"schedule": "rate(30 minutes)", "max_runs": 2, "missed": "all"}
        when: dict[str, Any] = often if recurs else {"due": SOON}
        then = Then("note", {"fails": False}, result_as="after")
        first = now.editor.add(
            "note", id="one", payload={"fails": fails}, on_failed="note", then=then, **when
        )
        ring_in(now, SOON)
        ended_well = die_running(now, number, moment)
        now.lambda_.let_it_ring()
        # Then each end has its one follow-up, which has run
        cause = "failed" if fails else "then"
        ends = {f"one/{cause}@{render(first.due)}", f"one/{cause}"} if recurs else {f"one/{cause}"}
        assert {task.id for task in now.editor.find("one/").tasks} == ends
        all_is_well(now, *ends)
        task = now.editor.get("one")
        # And what followed a task that was done has got its result
        assert task.result == (None if fails else "one")
        if not fails:
            assert {now.editor.get(id).payload["after"] for id in ends} == {"one"}
        assert task.status is (Status.FAILED if fails else Status.DONE)
        assert (task.owes, task.queued, task.follow_up_error) == (None, None, None)
        if ended_well:
            return
    raise AssertionError("more calls than expected")


def test_a_run_that_dies_while_a_task_is_added(world: Callable[[], World]) -> None:
    for number, moment in deaths():
        now = world()
        now.add("one")
        ring_in(now, SOON)
        now.hook = add_new  # made by another process, while the run is at work
        ended_well = die_running(now, number, moment)
        was_added = now.hook is None
        now.lambda_.let_it_ring()
        all_is_well(now, "one", *(["new"] if was_added else []))
        if ended_well:
            return
    raise AssertionError("more calls than expected")


def _ignore(_: object) -> None:
    """A change's result is of no interest."""
