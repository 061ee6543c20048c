"""Changing a task that is there: what each call makes of it, when the rule follows, and what is refused."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from duebell import (
    Calendar,
    Editor,
    InvalidTask,
    Missed,
    Status,
    Task,
    TaskChanged,
    TaskConflict,
    TaskNotFound,
    Worker,
)
from duebell_infra.testing import InlinePool
from duebell_shared.tasks.history import Failure
from tests.editor.memory import KEEP, Scheduler
from tests.support import NOON, SetFor

HOUR = timedelta(hours=1)
DUE = NOON + 2 * HOUR
ONCE, HOURLY = {"due": HOUR}, {"schedule": "rate(1 hour)"}

CHANGES: dict[str, Callable[[Editor], Task]] = {
    "move": lambda editor: editor.move("one", due=HOUR),
    "update": lambda editor: editor.update("one", payload=2),
    "cancel": lambda editor: editor.cancel("one"),
    "pause": lambda editor: editor.pause("one"),
    "resume": lambda editor: editor.resume("one"),
    "retry": lambda editor: editor.retry("one"),
}


@pytest.fixture
def editor(scheduler: Scheduler) -> Editor:
    return scheduler.editor


@pytest.fixture
def one(scheduler: Scheduler) -> Task:
    """A task that waits, with the rule armed for it."""
    return scheduler.editor.add("act", due=DUE, id="one", payload=1)


# Moving.


def test_a_later_date_leaves_the_rule_alone_until_a_run_finds_nothing(
    scheduler: Scheduler, one: Task
) -> None:
    # Given the head, moved later
    scheduler.editor.move("one", due=DUE + HOUR)
    # Then the rule rings once for nothing
    assert scheduler.events.expression == SetFor(DUE)
    # And is set for it then
    scheduler.clock.now = DUE
    assert Worker(backend=scheduler.backend, pool=lambda _: InlinePool()).run().attempts == 0
    assert scheduler.events.expression == SetFor(DUE + HOUR)


def test_a_paused_task_is_moved_and_waits_to_be_resumed(scheduler: Scheduler, one: Task) -> None:
    scheduler.editor.pause("one")
    assert scheduler.editor.move("one", due=HOUR).status is Status.PAUSED
    assert scheduler.events.expression == SetFor(DUE)
    assert scheduler.editor.resume("one").queued == NOON + HOUR
    assert scheduler.events.expression == SetFor(NOON + HOUR)


# Updating.


def test_a_failed_task_is_mended_and_retried(scheduler: Scheduler, one: Task) -> None:
    scheduler.become(one, Status.FAILED)
    assert scheduler.editor.update("one", payload="right").status is Status.FAILED
    retried = scheduler.editor.retry("one")
    assert (retried.status, retried.payload, retried.attempt) == (Status.SCHEDULED, "right", 0)
    assert (retried.queued, retried.due) == (NOON, DUE)
    assert scheduler.events.expression == SetFor(NOON + timedelta(minutes=1))


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
    assert (cancelled.status, cancelled.queued) == (Status.CANCELLED, None)
    assert cancelled.expires_at == NOON + KEEP
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
    assert scheduler.events.expression == SetFor(DUE + HOUR + timedelta(minutes=1))


# Changes that are refused.


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_gone_or_done_is_not_changed(scheduler: Scheduler, change: Callable[[Editor], Task]) -> None:
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


@pytest.mark.usefixtures("one")
def test_a_change_that_someone_else_got_in_before_is_made_on_what_is_there_now(scheduler: Scheduler) -> None:
    scheduler.before("save", lambda: scheduler.editor.update("one", payload="theirs"))
    updated = scheduler.editor.update("one", action="mine")
    assert (updated.payload, updated.action) == ("theirs", "mine")


def test_a_change_that_is_not_allowed_any_more_is_refused(scheduler: Scheduler, one: Task) -> None:
    scheduler.before("save", lambda: scheduler.become(one, Status.RUNNING))
    with pytest.raises(TaskConflict, match="cannot pause task 'one': it is running, and this needs it sched"):
        scheduler.editor.pause("one")


def test_a_task_that_keeps_changing_is_given_up_on(
    scheduler: Scheduler, one: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler.store, "save", lambda *_: False)
    with pytest.raises(TaskConflict, match="task 'one' kept changing while this was tried: look at it and"):
        scheduler.editor.pause("one")
    monkeypatch.setattr(scheduler.store, "swap", lambda *_: None)
    with pytest.raises(TaskConflict, match="the limits keep changing: try again"):
        scheduler.editor.limit("act", at_most=1)
    with pytest.raises(TaskConflict, match="the calendars keep changing: try again"):
        scheduler.editor.import_calendar("de", Calendar(days={NOON.date(): "a day"}, ends=NOON.date()))


def test_the_rule_rings_for_the_first_occurrence(scheduler: Scheduler) -> None:
    task = scheduler.editor.add(
        "report", schedule="cron(0 9 ? * MON-FRI *)", timezone="Europe/Berlin", id="r"
    )
    assert task.due == datetime.fromisoformat("2026-11-23T08:00:00Z")
    assert task.recurrence
    assert task.recurrence.next_due == datetime.fromisoformat("2026-11-24T08:00:00Z")
    assert task.recurrence.missed is Missed.ONCE
    assert scheduler.events.expression == SetFor(task.due)
    assert scheduler.editor.get("r") == task


# Changing.


def test_another_schedule_arms_for_its_first(scheduler: Scheduler) -> None:
    scheduler.editor.add("report", schedule="rate(5 hours)", id="r", max_runs=7)
    scheduler.clock.advance(HOUR)
    task = scheduler.editor.update("r", schedule="cron(30 13 * * ? *)", payload={"n": 1})
    assert (task.due, task.payload, task.rev) == (NOON + 1.5 * HOUR, {"n": 1}, 2 + 1)
    assert task.recurrence
    assert (task.recurrence.max_runs, task.recurrence.schedule.start) == (7, None)
    assert scheduler.events.expression == SetFor(task.due)


def test_another_time_zone_keeps_the_expression(scheduler: Scheduler) -> None:
    scheduler.editor.add("report", schedule="0 9 * * *", timezone="Europe/Berlin", id="r", missed="all")
    task = scheduler.editor.update("r", timezone="America/New_York")
    assert task.due == datetime.fromisoformat("2026-11-21T14:00:00Z")
    assert task.recurrence
    assert task.recurrence.missed is Missed.ALL
    task = scheduler.editor.update("r", missed="skip", max_runs=9)
    assert task.recurrence
    assert (task.recurrence.missed, task.recurrence.max_runs) == (Missed.SKIP, 9)
    assert task.recurrence.schedule.timezone == "America/New_York"


def test_a_task_that_runs_once_cannot_become_one_that_recurs(scheduler: Scheduler) -> None:
    scheduler.editor.add("report", due=9 * HOUR, id="once")
    with pytest.raises(InvalidTask, match="schedule: cannot be given to task 'once', which runs once"):
        scheduler.editor.update("once", schedule="rate(2 hours)")


def test_a_due_date_and_a_schedule_do_not_go_together(scheduler: Scheduler) -> None:
    scheduler.editor.add("report", schedule="rate(5 hours)", id="r")
    with pytest.raises(InvalidTask, match="due: cannot be combined with a schedule"):
        scheduler.editor.update("r", schedule="rate(1 hour)", due=HOUR)
    assert scheduler.editor.update("r", due=HOUR).due == NOON + HOUR


def test_run_now(scheduler: Scheduler) -> None:
    editor = scheduler.editor
    editor.add("report", schedule="rate(5 hours)", id="r")
    task = editor.run_now("r")
    assert task.queued == NOON
    assert scheduler.events.expression == SetFor(NOON + timedelta(minutes=1))
    scheduler.become(task, Status.RUNNING)
    with pytest.raises(TaskConflict, match="it is running"):
        editor.run_now("r")
    editor.add("report", due=5 * HOUR, id="once")
    assert editor.run_now("once").due == NOON


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
    spread = {id: editor.update(id, spread=HOUR) for id in (once.id, recurring.id, moved.id)}
    later = editor.update(paused.id, spread=HOUR)
    # Then it is looked at some time in that hour, but for what goes its own way
    for before in (once, recurring):
        assert before.queued
        after = spread[before.id]
        assert after.queued
        assert after.due == before.due
        assert timedelta(0) < after.queued - before.queued < HOUR
    assert spread[moved.id].queued == moved.queued
    assert later.queued is None
    resumed = editor.resume(paused.id)
    assert resumed.queued
    assert resumed.queued > resumed.due
    # And without one, when it is due
    assert editor.update(once.id, spread=None).queued == once.queued
    assert editor.update(recurring.id, spread=None).queued == recurring.queued


def test_a_priority_is_changed_and_taken_away(editor: Editor) -> None:
    task = editor.add("act", due=HOUR, id="a")
    changed = editor.update("a", priority=5)
    assert (changed.priority, changed.queued, changed.due) == (5, task.queued, task.due)
    assert editor.move("a", due=2 * HOUR).priority == 5
    editor.pause("a")
    assert editor.update("a", priority=6).status == "paused"
    assert editor.resume("a").priority == 6
    assert editor.update("a", priority=None).priority == 0


def test_a_limit_that_is_taken_away_is_gone(editor: Editor) -> None:
    editor.add("x", due=timedelta(days=1), expires_after=HOUR, id="once")
    assert editor.update("once", expires_after=None).expires_after is None
    assert editor.update("once", expires_after=2 * HOUR).expires_after == 2 * HOUR
    end = datetime(2027, 1, 1, tzinfo=UTC)
    editor.add("x", schedule="0 9 * * *", end=end, max_runs=3, id="r")
    task = editor.update("r", end=None)
    assert task.recurrence
    assert (task.recurrence.schedule.end, task.recurrence.max_runs) == (None, 3)
    task = editor.update("r", max_runs=None, end=end)
    assert task.recurrence
    assert (task.recurrence.schedule.end, task.recurrence.max_runs) == (end, None)
    with pytest.raises(InvalidTask, match="cannot be combined with a schedule"):
        editor.update("r", expires_after=HOUR)
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
        assert changed.recurrence.next_due == task.due + HOUR


def test_a_moved_occurrence_does_not_come_twice_when_the_rules_change(editor: Editor) -> None:
    task = editor.add("x", schedule="0 9 * * *", id="r")
    moved = editor.move("r", due=HOUR)
    changed = editor.update("r", max_runs=9)
    assert (changed.due, changed.queued) == (moved.due, moved.queued)
    assert changed.recurrence
    assert changed.recurrence.next_due == task.due + timedelta(days=1)


@pytest.mark.parametrize(
    ("when", "change"),
    [
        (ONCE, {"payload": 1}),
        (ONCE, {"expires_after": timedelta(days=1), "spread": timedelta(minutes=1)}),
        (ONCE, {"payload": 1, "due": NOON + HOUR}),
        (HOURLY, {"payload": 1, "due": NOON + HOUR}),
        (HOURLY, {"schedule": "rate(2 hours)"}),
        (HOURLY, {"max_runs": 9, "action": "y"}),
    ],
)
def test_a_task_that_is_to_be_retried_is_retried_when_it_would_have_been(
    scheduler: Scheduler, when: dict[str, Any], change: dict[str, Any]
) -> None:
    # Given a task whose second attempt has failed a moment ago, and that is to be retried in five minutes
    task = scheduler.editor.add("x", id="a", **when)
    scheduler.clock.advance(HOUR + timedelta(seconds=1))
    now = scheduler.clock.now
    claimed = msgspec.structs.replace(task, attempt=2, started_at=now, lateness_ms=1_000)
    retry = claimed.to_retry(now + timedelta(minutes=5), Failure(type="E", message="no"), now=now)
    assert scheduler.store.save(task, retry)
    scheduler.clock.advance(timedelta(seconds=10))
    # When it is changed, then it waits as before
    before, after = scheduler.editor.get("a"), scheduler.editor.update("a", **change)
    assert (after.due, after.queued, after.attempt) == (before.due, before.queued, 2)
    assert after.failure == before.failure
