"""What changes while a call is under way is not mistaken for what the call was made for."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from duebell import Editor, Worker
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.tasks.task import Task
from tests.support import NOON, Clock, SetFor

from .shared_memory import FakeRule, LockedStore, backend_of

LATER, SOONER = timedelta(hours=1), timedelta(minutes=10)


class InterruptedRule(FakeRule):
    """A rule during whose first setting something else happens."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None

    def put_rule(self, **arguments: Any) -> dict[str, Any]:
        if happens := self.meanwhile:
            self.meanwhile = None
            happens()
        return super().put_rule(**arguments)


def test_an_earlier_due_that_comes_while_the_rule_is_being_set_gets_a_ring_of_its_own() -> None:
    # Given an editor that is setting the rule, and another that lowers the record just then
    store, rule, clock = LockedStore(), InterruptedRule(), Clock()
    backend = backend_of(store, rule, clock=clock, sleep=clock.sleep)
    dues = dict.fromkeys(range(4), NOON + SOONER)
    rule.meanwhile = lambda: backend.armer.change(lambda record: record.lowered(dues))

    # When the first one returns
    Editor(backend=backend).add("act", due=LATER)

    # Then the rule is not taken to be where the other needs it: it is set once more
    assert rule.expression == SetFor(NOON + SOONER)
    assert rule.put_rules == 2


class ContendedStore(LockedStore):
    """A queue whose record someone else changes between another's read and write, once."""

    meanwhile: Callable[[], object] | None = None

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        if happens := self.meanwhile:
            self.meanwhile = None
            happens()
        return super().swap_record(old, new)


def test_of_two_changes_to_the_record_at_once_neither_is_lost() -> None:
    # Given two editors that each lower a lane which a run holds, one in the middle of the other's change
    store, clock = ContendedStore(), Clock()
    armer = backend_of(store, FakeRule(), clock=clock, sleep=clock.sleep).armer
    armer.change(lambda record: record.claimed("run", now=NOON, until=NOON + timedelta(minutes=2)))
    store.meanwhile = lambda: armer.lower({0: NOON + SOONER})

    # When both have returned
    armer.lower({1: NOON + LATER})

    # Then the record has what each of them wanted
    assert [lane.due for lane in armer.read().lanes[:2]] == [NOON + SOONER, NOON + LATER]


def test_a_run_that_comes_before_a_task_is_written_does_not_leave_it_without_a_ring() -> None:
    # Given a run that comes and goes right before an editor's task is written
    class SlowStore(LockedStore):
        def insert(self, task: Task) -> bool:
            Worker(backend=backend).run()
            return super().insert(task)

    store, rule, clock = SlowStore(), FakeRule(), Clock()
    backend = backend_of(store, rule, clock=clock, sleep=clock.sleep)

    # When the editor returns, then the rule rings for the task
    Editor(backend=backend).add("act", due=LATER)
    assert rule.expression == SetFor(NOON + LATER)


def test_what_comes_earlier_by_a_change_is_rung_for_at_once() -> None:
    # Given a task for later, and one that is paused
    rule, clock = FakeRule(), Clock()
    editor = Editor(backend=backend_of(LockedStore(), rule, clock=clock, sleep=clock.sleep))
    editor.add("act", due=LATER, id="later")
    editor.add("act", due=2 * LATER, id="moved")
    editor.add("act", due=LATER, id="paused")
    editor.pause("paused")

    # When one is moved earlier, and the other too, and then resumed
    editor.move("moved", due=SOONER)
    assert rule.expression == SetFor(NOON + SOONER)
    editor.move("paused", due=SOONER / 2)
    assert rule.expression == SetFor(NOON + SOONER)
    editor.resume("paused")

    # Then the rule is there before the editor returns
    assert rule.expression == SetFor(NOON + SOONER / 2)
