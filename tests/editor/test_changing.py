"""Changing a task that is there: what each call makes of it, and when the rule follows."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from duebell import Editor, Status, Task, TaskConflict, TaskNotFound, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.tasks.status import RetentionPolicy
from tests.editor.memory import KEEP, Scheduler
from tests.support import NOON, SetFor

HOUR = timedelta(hours=1)
DUE = NOON + 2 * HOUR

CHANGES: dict[str, Callable[[Editor], Task]] = {
    "move": lambda editor: editor.move("one", due=HOUR),
    "update": lambda editor: editor.update("one", payload=2),
    "cancel": lambda editor: editor.cancel("one"),
    "pause": lambda editor: editor.pause("one"),
    "resume": lambda editor: editor.resume("one"),
    "retry": lambda editor: editor.retry("one"),
}


@pytest.fixture
def one(scheduler: Scheduler) -> Task:
    """A task that waits, with the rule armed for it."""
    return scheduler.editor.add("act", due=DUE, id="one", payload=1)


def expression(scheduler: Scheduler) -> str:
    return scheduler.events.expression


# Moving.


def test_a_later_date_leaves_the_rule_alone_until_a_run_finds_nothing(
    scheduler: Scheduler, one: Task
) -> None:
    # Given the head, moved later
    scheduler.editor.move("one", due=DUE + HOUR)
    # Then the rule rings once for nothing
    assert expression(scheduler) == SetFor(DUE)
    # And is set for it then
    scheduler.clock.now = DUE
    assert Worker(backend=scheduler.backend, pool=lambda _: InlinePool()).run().attempts == 0
    assert expression(scheduler) == SetFor(DUE + HOUR)


def test_a_running_task_is_moved_and_its_outcome_void(scheduler: Scheduler, one: Task) -> None:
    running = scheduler.become(one, Status.RUNNING)
    moved = scheduler.editor.move("one", due=HOUR)
    assert (moved.status, moved.attempt, moved.queued) == (Status.SCHEDULED, 0, NOON + HOUR)
    assert not scheduler.store.save(running, running.done(now=NOON, keep=RetentionPolicy(retention=KEEP)))
    assert expression(scheduler) == SetFor(NOON + HOUR)


def test_a_paused_task_is_moved_and_waits_to_be_resumed(scheduler: Scheduler, one: Task) -> None:
    scheduler.editor.pause("one")
    assert scheduler.editor.move("one", due=HOUR).status is Status.PAUSED
    assert expression(scheduler) == SetFor(DUE)
    assert scheduler.editor.resume("one").queued == NOON + HOUR
    assert expression(scheduler) == SetFor(NOON + HOUR)


# Updating.


def test_a_failed_task_is_mended_and_retried(scheduler: Scheduler, one: Task) -> None:
    scheduler.become(one, Status.FAILED)
    assert scheduler.editor.update("one", payload="right").status is Status.FAILED
    retried = scheduler.editor.retry("one")
    assert (retried.status, retried.payload, retried.attempt) == (Status.SCHEDULED, "right", 0)
    assert (retried.queued, retried.due) == (NOON, DUE)
    assert expression(scheduler) == SetFor(NOON + timedelta(minutes=1))


def test_an_update_that_is_half_allowed_changes_nothing(scheduler: Scheduler, one: Task) -> None:
    # Given a failed task, which can be updated but not moved
    there = scheduler.become(one, Status.FAILED)
    with pytest.raises(TaskConflict, match="cannot move task 'one': it is failed, and this needs it"):
        scheduler.editor.update("one", payload=2, due=HOUR)
    assert scheduler.editor.get("one") == there


# Cancelling, pausing, resuming.


@pytest.mark.parametrize("status", [Status.SCHEDULED, Status.RUNNING, Status.PAUSED, Status.FAILED])
def test_a_cancelled_task_is_kept_as_history_and_the_rule_left_alone(
    scheduler: Scheduler, one: Task, status: Status
) -> None:
    scheduler.become(one, status)
    before = len(scheduler.events.put)
    cancelled = scheduler.editor.cancel("one")
    assert cancelled == scheduler.editor.get("one")
    assert (cancelled.status, cancelled.queued, cancelled.expires_at) == (
        Status.CANCELLED,
        None,
        NOON + KEEP,
    )
    assert len(scheduler.events.put) == before


def test_a_paused_task_comes_back_and_the_rule_with_it(scheduler: Scheduler, one: Task) -> None:
    # Given a paused task, and a rule that has rung for nothing meanwhile
    scheduler.editor.pause("one")
    scheduler.clock.now = DUE + HOUR
    Worker(backend=scheduler.backend, pool=lambda _: InlinePool()).run()
    # When it is resumed after its due date
    resumed = scheduler.editor.resume("one")
    # Then it runs as soon as it can
    assert (resumed.status, resumed.queued) == (Status.SCHEDULED, DUE + HOUR)
    assert expression(scheduler) == SetFor(DUE + HOUR + timedelta(minutes=1))


# Changes that are refused.


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_not_there_or_done_is_not_changed(
    scheduler: Scheduler, change: Callable[[Editor], Task]
) -> None:
    scheduler.editor.add("act", due=DUE, id="another")
    before = scheduler.snapshot()
    with pytest.raises(TaskNotFound, match="there is no task 'one'"):
        change(scheduler.editor)
    assert scheduler.snapshot() == before
    # And one that is done
    one = scheduler.become(scheduler.editor.add("act", due=DUE, id="one"), Status.DONE)
    with pytest.raises(TaskConflict, match=r"cannot .* task 'one': it is done, and this needs it"):
        change(scheduler.editor)
    assert scheduler.editor.get("one") == one


def test_a_change_that_someone_else_got_in_before_is_made_on_what_is_there_now(
    scheduler: Scheduler, one: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given someone who changes the payload just before this one's change of the action is written
    save = scheduler.store.save

    def get_in_first(old: Task, new: Task) -> bool:
        monkeypatch.undo()
        assert save(old, old.updated(payload="theirs", now=NOON))
        return save(old, new)

    monkeypatch.setattr(scheduler.store, "save", get_in_first)
    updated = scheduler.editor.update("one", action="mine")
    # Then both are there
    assert (updated.payload, updated.action) == ("theirs", "mine")


def test_a_change_that_is_not_allowed_any_more_is_refused(
    scheduler: Scheduler, one: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a run that claims the task just before it is paused
    save = scheduler.store.save

    def get_in_first(old: Task, new: Task) -> bool:
        monkeypatch.undo()
        scheduler.become(one, Status.RUNNING)
        return save(old, new)

    monkeypatch.setattr(scheduler.store, "save", get_in_first)
    with pytest.raises(
        TaskConflict, match="cannot pause task 'one': it is running, and this needs it scheduled"
    ):
        scheduler.editor.pause("one")


def test_a_task_that_keeps_changing_is_given_up_on(
    scheduler: Scheduler, one: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler.store, "save", lambda *_: False)
    with pytest.raises(TaskConflict, match="task 'one' kept changing while this was tried: look at it and"):
        scheduler.editor.pause("one")
