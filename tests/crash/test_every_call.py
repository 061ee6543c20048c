"""For each scenario and each n: the process dies at its n-th AWS call, and nothing acknowledged is lost."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import Any
from unittest import mock

import pytest

from duebell import Abort, DuebellError, Editor, Snooze, Status, Task, TaskNotFound, Then, Worker, stopping
from duebell_editor.library import adder
from duebell_shared.instants import render
from duebell_shared.tasks.history import Result

from .dying import Death, Moment, Processes, World

pytestmark = pytest.mark.slow

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
SOON, LATER = 30 * MINUTE, 3 * HOUR

Change = Callable[[Editor], object]


class Scene(World):
    """A world whose tasks fail, abort, snooze and are told of their batch, as their payloads say."""

    def __init__(self, processes: Processes, number: int, moment: Moment) -> None:
        super().__init__(processes, number, moment)
        self.told: list[Any] = []

    def note(self, payload: dict[str, Any], task: Task) -> str:
        if "batch" in payload:
            assert all(task.status.is_finished for task in self.editor.find("b/").tasks)
            self.told.append(payload["batch"])
        if payload.get("fails"):
            raise ValueError("as told")
        if payload.get("aborts"):
            raise Abort("as told")
        if (snoozed := payload.get("snoozed", 0)) < payload.get("snoozes", 0):
            raise Snooze(SOON, payload | {"snoozed": snoozed + 1})
        return task.id

    def add(self, *ids: str, due: timedelta = SOON, **payload: object) -> None:
        for id in ids:
            self.editor.add("note", due=due, id=id, payload=payload)


Worlds = Callable[[type[World]], Iterator[Any]]

# Editors.


def add_new(editor: Editor) -> None:
    editor.add("note", due=10 * MINUTE, id="new", payload={}, if_exists="keep")


@pytest.mark.parametrize("there", [(), ("one", "two")], ids=["to an empty queue", "a new head"])
def test_an_editor_that_dies_while_it_adds(each_call: Worlds, there: tuple[str, ...]) -> None:
    for now in each_call(Scene):
        now.add(*there)
        now.calls(add_new)
        now.rings()
        assert now.statuses(*there) <= {Status.DONE}
        # And what was not acknowledged is mended by the same call again
        if not now.lived:
            add_new(now.editor)
            now.rings()
        now.ends_well("new", *there)


MANY = tuple(f"new-{number}" for number in range(5))


def add_many_new(editor: Editor) -> None:
    tasks = ({"action": "note", "due": 10 * MINUTE, "id": id, "payload": {}} for id in MANY)
    editor.add_many(tasks, if_exists="keep")


def stored(editor: Editor) -> Iterator[str]:
    for id in MANY:
        with suppress(TaskNotFound):
            yield editor.get(id).id


def test_an_editor_that_dies_while_it_adds_many(each_call: Worlds, monkeypatch: pytest.MonkeyPatch) -> None:
    there = ("one", "two")
    monkeypatch.setattr(adder, "AT_ONCE", 2)
    for now in each_call(Scene):
        now.add(*there)
        now.calls(add_many_new)
        found = set(stored(now.editor))
        assert not now.lived or found == set(MANY)
        now.rings()
        assert now.statuses(*there) == {Status.DONE}
        # And any later call finds what was stored and not acknowledged
        now.editor.ensure_armed()
        now.rings()
        now.ends_well(*found, *there)


CHANGES: dict[str, tuple[Change, Status]] = {
    "moves its task earlier": (lambda editor: editor.move("two", due=SOON / 2), Status.DONE),
    "moves the head later": (lambda editor: editor.move("one", due=LATER * 2), Status.DONE),
    "cancels the head": (lambda editor: editor.cancel("one"), Status.CANCELLED),
}


@pytest.mark.parametrize(("change", "end"), CHANGES.values(), ids=CHANGES.keys())
def test_an_editor_that_dies_while_it(each_call: Worlds, change: Change, end: Status) -> None:
    for now in each_call(Scene):
        now.add("one")
        now.add("two", "three", due=LATER)
        now.calls(change)
        now.rings()
        # With or without the change, every task comes to its end
        now.ends_well("two", "three")
        assert now.statuses("one") <= ({end} if now.lived else {Status.DONE, end})


# Runs.


@pytest.mark.parametrize(
    ("ids", "fails"), [(("one", "two", "three"), False), (("one",), True)], ids=["several tasks", "a failure"]
)
def test_a_run_that_dies_with(each_call: Worlds, ids: tuple[str, ...], *, fails: bool) -> None:
    for now in each_call(Scene):
        now.add(*ids, fails=fails)
        now.add("next", due=LATER)
        now.runs(SOON)
        assert now.statuses(*ids) == {Status.FAILED if fails else Status.DONE}
        assert all(now.editor.get(id).attempt <= 3 for id in ids)
        now.ends_well("next")


@pytest.mark.parametrize(
    ("recurs", "fails"), [(False, True), (True, False), (True, True)], ids=["once", "recurring", "failing"]
)
def test_a_run_dies_with_a_task_that_has_follow_ups(each_call: Worlds, *, fails: bool, recurs: bool) -> None:
    often = {"schedule": "rate(30 minutes)", "max_runs": 2, "missed": "all"}
    when: dict[str, Any] = often if recurs else {"due": SOON}
    then = Then("note", {"fails": False}, result_as="after")
    cause, end = ("failed", Status.FAILED) if fails else ("then", Status.DONE)
    for now in each_call(Scene):
        first = now.editor.add(
            "note", id="one", payload={"fails": fails}, on_failed="note", then=then, **when
        )
        now.runs(SOON)
        # Then each end has its one follow-up, which has run
        ends = {f"one/{cause}@{render(first.due)}", f"one/{cause}"} if recurs else {f"one/{cause}"}
        assert {task.id for task in now.editor.find("one/").tasks} == ends
        now.ends_well(*ends)
        task = now.editor.get("one")
        assert (task.status, task.owes, task.queued, task.follow_up_error) == (end, None, None, None)
        # And what followed a task that was done has got its result
        assert task.result == (None if fails else "one")
        assert fails or {now.editor.get(id).payload["after"] for id in ends} == {"one"}
        # And each occurrence came to its end once, and in order: the chain neither broke nor forked
        if recurs:
            assert [one.due for one in task.occurrences] == [first.due, first.due + SOON]
            assert {one.result for one in task.occurrences} == {Result.FAILED if fails else Result.DONE}
            assert all(one.attempts <= 3 for one in task.occurrences)
            assert task.runs == 2


def test_a_run_that_dies_with_a_task_that_is_snoozed(each_call: Worlds) -> None:
    for now in each_call(Scene):
        now.add("one", snoozes=2)
        now.runs(SOON)
        task = now.editor.get("one")
        assert task.payload == {"snoozes": 2, "snoozed": 2}
        assert task.attempt <= 2, "only the death may have used an attempt up"
        now.ends_well("one")


class Limited(Scene):
    limits: Mapping[str, Any] = {"at_most": 1, "per_second": 0.5}


def test_a_run_that_dies_with_a_limited_action_loses_starts_and_no_task(each_call: Worlds) -> None:
    for now in each_call(Limited):
        now.add("a", "b")
        now.runs(SOON)
        now.ends_well("a", "b")
        in_order = sorted(at for _, at in now.ran)
        assert all(second - first >= timedelta(seconds=2) for first, second in pairwise(in_order))


class Hanging(World):
    """A world with an action that hangs in its first attempt, or whose task is cancelled in it."""

    cancels = False

    def actions(self, worker: Worker) -> None:
        super().actions(worker)

        @worker.action("hangs", attempts=3, timeout=MINUTE, stoppable=True)
        def hangs(_: object, task: Task) -> None:
            self.ran.append((task.id, self.clock.now))
            if self.cancels:
                with self.processes.another():
                    self.editor.cancel("one")
                self.stage.sleep(5)
                self.was_told = stopping().is_set()
            elif task.attempt == 1:
                self.stage.sleep(math.inf)

    def begins(self) -> None:
        self.editor.add("hangs", due=10 * MINUTE, id="one", on_failed="note")
        self.editor.add("note", due=11 * MINUTE, id="two", payload={})
        self.runs(10 * MINUTE)


class Cancelling(Hanging):
    cancels = True


def test_a_run_that_dies_while_an_attempt_times_out(each_call: Worlds) -> None:
    for now in each_call(Hanging):
        now.begins()
        now.ends_well("one", "two")
        one = now.editor.get("one")
        assert one.attempt - 1 <= now.starts("one") <= one.attempt <= 3
        # The action that hung returns in the end, and changes nothing
        with suppress(Death):
            now.stage.wake_all()
        assert now.editor.get("one") == one
        assert not now.lived or [str(failed.error)[:8] for failed in one.failures] == ["TimedOut"]


def test_a_run_that_dies_while_an_attempt_is_told_to_stop(each_call: Worlds) -> None:
    for now in each_call(Cancelling):
        now.begins()
        # The cancelled task stays cancelled, and the other task is done
        now.ends_well("two")
        assert now.statuses("one") == {Status.CANCELLED}
        assert not now.lived or now.was_told


# Transactions.


def replace_old_by_new(editor: Editor) -> None:
    """A transaction whose effect is seen by two tasks: the one is cancelled, the other added."""
    with editor.transaction() as tx:
        tx.cancel("old")
        tx.add("note", due=SOON, id="new", payload={})


@pytest.mark.parametrize("again", [False, True])
def test_a_process_that_dies_while_it_makes_a_transaction(each_call: Worlds, *, again: bool) -> None:
    for now in each_call(Scene):
        now.add("old", due=LATER)
        now.calls(replace_old_by_new)
        is_committed = now.statuses("old") == {Status.CANCELLED}
        assert is_committed or not now.lived
        # If it is not committed it can be made again: what it left behind is no hindrance, nor is it ever run
        if again and not is_committed:
            replace_old_by_new(now.editor)
            is_committed = True
        now.rings()
        # Then the new task has run if and only if the transaction was committed
        assert now.starts("new") == is_committed
        now.ends_well(*(["new"] if is_committed else ["old"]))


def test_a_run_that_dies_while_it_leaves_or_drops_reserved_tasks(each_call: Worlds) -> None:
    for now in each_call(Scene):
        # Given a task to be run, one whose transaction is to come, and one whose transaction never comes
        now.add("one")
        store = now.editor.queue.store
        never = now.editor.reserve("note", due=SOON, id="never", payload={})
        with mock.patch("duebell_editor.library.editor.GRACE", HOUR):
            to_come = now.editor.reserve("note", due=SOON, id="to-come", payload={})
        # When a run dies at its n-th call, and the transaction is committed then
        now.runs(SOON, then=partial(store.transact, [to_come.write], token="t" * 32))
        # Then the confirmed task is done, and the other one is gone
        now.ends_well("one", "to-come")
        assert now.starts("never") == 0
        assert store.get(now.editor.queue.lane_of("never"), "never") is None
        assert store.transact([never.write], token="u" * 32).refusals


# Batches.

TASKS = [{"action": "note", "due": due * MINUTE, "payload": {"aborts": due == 90}} for due in (20, 20, 90)]
ENDED = {"id": "b", "done": 2, "failed": 1, "cancelled": 0, "expired": 0}


def batch(editor: Editor) -> object:
    return editor.batch("b", TASKS, then=Then("note", {}))


def one_by_one(editor: Editor) -> object:
    editor.batch("b", then=Then("note", {}))
    for number, task in enumerate(TASKS, 1):
        editor.add(**task, id=f"b/{number}", batch="b", if_exists="keep")  # type: ignore[arg-type]
    return editor.close_batch("b")


def of_what_is_there(editor: Editor) -> object:
    """Of which the first has ended when the batch is made."""
    return editor.batch("b", wait_for=[f"b/{number}" for number in (1, 2, 3)], then=Then("note", {}))


def insist(now: Scene, call: Callable[[Editor], object]) -> None:
    """Repeat a call that has died, as a user would; one that is reserved is free after its time."""
    for _ in range(5):
        with suppress(DuebellError):
            call(now.editor)
            return
        now.clock.advance(5 * MINUTE)
        now.rings()
    raise AssertionError("it cannot be repeated")


def batch_is_well(now: Scene) -> None:
    assert now.told
    assert all(told == ENDED for told in now.told)
    now.ends_well("b")
    assert not any(task.owes for task in now.editor.find("b/").tasks)


@pytest.mark.parametrize("make", [batch, one_by_one, of_what_is_there])
def test_an_editor_dies_while_it_makes_a_batch(each_call: Worlds, make: Callable[[Editor], object]) -> None:
    for now in each_call(Scene):
        if make is of_what_is_there:
            for place, due in enumerate((0, 20, 90), 1):
                now.add(f"b/{place}", due=due * MINUTE, aborts=due == 90)
            assert now.invoke(now.processes.connect(now.clock))
        now.calls(make)
        if not now.lived:
            insist(now, make)
        now.rings()
        batch_is_well(now)
        assert len(now.told) == 1


@pytest.mark.parametrize("minutes", [20, 90])
def test_a_run_that_dies_while_it_counts(each_call: Worlds, minutes: int) -> None:
    for now in each_call(Scene):
        # Given a batch of which some tasks, or the last one, are due
        batch(now.editor)
        if minutes == 90:
            now.clock.advance(20 * MINUTE)
            assert now.invoke(now.processes.connect(now.clock))
        now.runs(timedelta(minutes=minutes - now.clock.now.minute))
        batch_is_well(now)


def test_an_editor_that_dies_while_it_cancels_the_last_task(each_call: Worlds) -> None:
    for now in each_call(Scene):
        now.editor.batch("b", TASKS[:1], then=Then("note", {}))
        now.calls(lambda editor: editor.cancel("b/1"))
        now.rings()
        [told] = now.told
        assert told["cancelled"] == 1 or (told["done"] == 1 and not now.lived)
