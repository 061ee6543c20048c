"""Changing parts of a task, taking them away, and doing so only to the task as it was seen."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from duebell import Editor, InvalidTask, Task, TaskChanged
from duebell_shared.tasks.history import Failure
from tests.editor.memory import Scheduler
from tests.support import NOON


@pytest.fixture
def editor() -> Editor:
    return Scheduler.start().editor


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (lambda editor, rev: editor.move("a", due=timedelta(days=2), rev=rev), "move"),
        (lambda editor, rev: editor.update("a", payload=1, rev=rev), "update"),
        (lambda editor, rev: editor.pause("a", rev=rev), "pause"),
        (lambda editor, rev: editor.run_now("a", rev=rev), "run_now"),
        (lambda editor, rev: editor.cancel("a", rev=rev), "cancel"),
    ],
)
def test_a_change_to_a_rev_that_is_over_is_refused(
    editor: Editor, change: Callable[[Editor, int], Task], kept: str
) -> None:
    seen = editor.add("x", due=timedelta(days=1), id="a")
    now = editor.update("a", payload="theirs")
    with pytest.raises(TaskChanged, match="to rev 2 from 1: look at it again"):
        change(editor, seen.rev)
    assert editor.get("a") == now, kept
    assert change(editor, now.rev).rev > now.rev


def test_what_waits_is_looked_at_by_its_new_spread(editor: Editor) -> None:
    # Given a task that runs once and one that recurs, and one of each that waits for something else
    due = timedelta(days=1)
    once = editor.add("x", due=due, id="once")
    recurring = editor.add("x", schedule="0 9 * * *", id="recurring")
    moved = editor.move(editor.add("x", schedule="0 9 * * *", id="moved").id, due=due)
    paused = editor.pause(editor.add("x", due=due, id="paused").id)
    # When each is spread over an hour
    spread = {id: editor.update(id, spread=timedelta(hours=1)) for id in (once.id, recurring.id, moved.id)}
    later = editor.update(paused.id, spread=timedelta(hours=1))
    # Then it is looked at some time in that hour, but for what goes its own way
    for before in (once, recurring):
        assert before.queued
        after = spread[before.id]
        assert after.queued
        assert after.due == before.due
        assert timedelta(0) < after.queued - before.queued < timedelta(hours=1)
    assert spread[moved.id].queued == moved.queued
    assert later.queued is None
    resumed = editor.resume(paused.id)
    assert resumed.queued
    assert resumed.queued > resumed.due
    # And without one, when it is due
    assert editor.update(once.id, spread=None).queued == once.queued
    assert editor.update(recurring.id, spread=None).queued == recurring.queued


def test_a_priority_is_changed_and_taken_away(editor: Editor) -> None:
    task = editor.add("act", due=timedelta(hours=1), id="a")
    changed = editor.update("a", priority=5)
    assert (changed.priority, changed.queued, changed.due) == (5, task.queued, task.due)
    assert editor.move("a", due=timedelta(hours=2)).priority == 5
    editor.pause("a")
    assert editor.update("a", priority=6).status == "paused"
    assert editor.resume("a").priority == 6
    assert editor.update("a", priority=None).priority == 0


def test_a_limit_that_is_taken_away_is_gone(editor: Editor) -> None:
    editor.add("x", due=timedelta(days=1), expires_after=timedelta(hours=1), id="once")
    assert editor.update("once", expires_after=None).expires_after is None
    assert editor.update("once", expires_after=timedelta(hours=2)).expires_after == timedelta(hours=2)
    end = datetime(2027, 1, 1, tzinfo=UTC)
    editor.add("x", schedule="0 9 * * *", end=end, max_runs=3, id="r")
    task = editor.update("r", end=None)
    assert task.recurrence
    assert (task.recurrence.schedule.end, task.recurrence.max_runs) == (None, 3)
    task = editor.update("r", max_runs=None, end=end)
    assert task.recurrence
    assert (task.recurrence.schedule.end, task.recurrence.max_runs) == (end, None)
    with pytest.raises(InvalidTask, match="cannot be combined with a schedule"):
        editor.update("r", expires_after=timedelta(hours=1))
    with pytest.raises(InvalidTask, match="schedule: cannot be taken away"):
        editor.update("r", schedule=None)  # type: ignore[arg-type]


def test_an_occurrence_that_waits_is_not_lost_when_only_the_rules_change(editor: Editor) -> None:
    # Given an occurrence that is due, and looked at some time later
    task = editor.add("x", schedule="rate(1 hour)", start=NOON, spread=timedelta(minutes=50), id="r")
    assert task.queued
    assert task.due < task.queued
    # When anything but the expression changes
    for change in ({"max_runs": 9}, {"missed": "skip"}, {"end": NOON + timedelta(days=9)}, {"spread": None}):
        changed = editor.update("r", **change)
        # Then it is still the one to come
        assert changed.due == task.due
        assert changed.recurrence
        assert changed.recurrence.next_due == task.due + timedelta(hours=1)


def test_a_moved_occurrence_does_not_come_twice_when_the_rules_change(editor: Editor) -> None:
    task = editor.add("x", schedule="0 9 * * *", id="r")
    moved = editor.move("r", due=timedelta(hours=1))
    changed = editor.update("r", max_runs=9)
    assert (changed.due, changed.queued) == (moved.due, moved.queued)
    assert changed.recurrence
    assert changed.recurrence.next_due == task.due + timedelta(days=1)


def backed_off(scheduler: Scheduler, **when: Any) -> Task:
    """A task whose second attempt has failed a moment ago, and that is to be retried in five minutes."""
    task = scheduler.editor.add("x", id="a", **when)
    scheduler.clock.advance(timedelta(hours=1, seconds=1))
    now = scheduler.clock()
    claimed = msgspec.structs.replace(task, attempt=2, started_at=now, lateness_ms=1_000)
    retry = claimed.to_retry(now + timedelta(minutes=5), Failure(type="E", message="no"), now=now)
    assert scheduler.store.save(task, retry)
    scheduler.clock.advance(timedelta(seconds=10))
    return scheduler.editor.get("a")


ONCE = {"due": timedelta(hours=1)}
HOURLY = {"schedule": "rate(1 hour)"}


@pytest.mark.parametrize(
    ("when", "change"),
    [
        (ONCE, {"payload": 1}),
        (ONCE, {"expires_after": timedelta(days=1), "spread": timedelta(minutes=1)}),
        (ONCE, {"payload": 1, "due": NOON + timedelta(hours=1)}),
        (HOURLY, {"payload": 1, "due": NOON + timedelta(hours=1)}),
        (HOURLY, {"schedule": "rate(2 hours)"}),
        (HOURLY, {"max_runs": 9, "action": "y"}),
    ],
)
def test_a_task_that_is_to_be_retried_is_retried_when_it_would_have_been(
    when: dict[str, Any], change: dict[str, Any]
) -> None:
    # Given
    scheduler = Scheduler.start()
    before = backed_off(scheduler, **when)
    # When
    after = scheduler.editor.update("a", **change)
    # Then
    assert (after.due, after.queued, after.attempt) == (before.due, before.queued, 2)
    assert after.failure == before.failure
