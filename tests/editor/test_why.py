"""Why a task waits, or started late: the cause is made, and the answer read."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from duebell import Editor, Lateness, Retry, Snooze, Status, Then, WaitCause, Why, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.bell.arming import ArmingRecord, LastRun, RestingLane
from duebell_shared.tasks.follow_up import Cause, Owed
from duebell_shared.tasks.task import STARTS_WITHIN
from duebell_worker.worker import rang_at
from tests.editor.memory import Scheduler
from tests.support import NOON

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

#: When the tasks of these tests are due.
DUE = NOON + HOUR


pytestmark = pytest.mark.usefixtures("whole_answers")


@pytest.fixture
def worker(scheduler: Scheduler) -> Worker:
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    worker.action("mail", per_second=0.01)(lambda: None)

    @worker.action("fail", attempts=5)
    def fail() -> None:
        raise Retry("the bank is closed", after=600)

    @worker.action("later")
    def later() -> None:
        raise Snooze(HOUR)

    worker.register()
    return worker


@pytest.fixture
def editor(scheduler: Scheduler, worker: Worker) -> Editor:
    return scheduler.editor


def late(editor: Editor, scheduler: Scheduler, id: str = "one") -> Why:
    """The answer for a task that is late by now."""
    scheduler.clock.now = max(scheduler.clock.now, DUE + STARTS_WITHIN + SECOND)
    why = editor.why(id)
    assert (why.id, why.is_late, why.starts_by) == (id, True, DUE + STARTS_WITHIN)
    return why


def change(scheduler: Scheduler, **changes: object) -> None:
    scheduler.backend.armer.change(lambda record: replace(record, **changes))


def test_its_time_is_to_come(editor: Editor) -> None:
    task = editor.add("act", due=DUE, id="one")
    assert task.starts_by == DUE + STARTS_WITHIN
    why = editor.why("one")
    assert (why.cause, why.what) == (WaitCause.NOT_DUE, "it is not due yet: 2026-11-21T13:00:00.000Z")
    assert (why.starts_by, why.is_late, why.way_out) == (task.starts_by, False, "")
    # And with a spread, the delay is told
    spread = editor.add("act", due=DUE, id="two", spread=HOUR)
    assert spread.queued
    put_off = (spread.queued - DUE).total_seconds()
    assert editor.why("two").what.endswith(f"{put_off:,.1f} s after its due date")


def test_it_is_due_and_the_rule_rings(editor: Editor, scheduler: Scheduler) -> None:
    editor.add("act", due=DUE, id="one")
    scheduler.clock.now = DUE
    why = editor.why("one")
    assert (why.cause, why.is_late) == (WaitCause.RING, False)
    assert why.what == "it is due, and the rule rings for it by 2026-11-21T13:00:00.000Z"


def test_the_ring_was_lost(editor: Editor, scheduler: Scheduler) -> None:
    editor.add("act", due=DUE, id="one")
    why = late(editor, scheduler)
    assert why.cause is WaitCause.LOST_RING
    assert why.what == "the rule should have rung at 2026-11-21T13:00:00.000Z, and no run has come since"
    assert "the rule's echo at 2026-11-21T13:04:00.000Z" in why.way_out


def test_the_rule_is_not_as_it_should_be(editor: Editor, scheduler: Scheduler) -> None:
    editor.add("act", due=DUE, id="one")
    scheduler.clock.now = DUE
    scheduler.events.rule["State"] = "DISABLED"
    why = editor.why("one")
    assert (why.cause, why.what) == (WaitCause.SCHEDULER, "rule 'duebell' is disabled, so nothing runs")
    assert why.way_out.startswith("enable it")


def test_a_run_is_at_work(editor: Editor, scheduler: Scheduler) -> None:
    editor.add_many({"action": "act", "due": DUE - MINUTE, "id": f"before-{n}"} for n in range(7))
    editor.add("act", due=DUE, id="one")
    scheduler.clock.now = DUE
    scheduler.backend.armer.change(lambda record: record.claimed("run", now=DUE, until=DUE + 10 * MINUTE))
    why = late(editor, scheduler)
    assert why.cause is WaitCause.IN_LINE
    assert why.what == "a run is at work, and about 7 tasks are before it"


def test_its_action_is_paused(editor: Editor, scheduler: Scheduler, worker: Worker) -> None:
    editor.add("act", due=DUE, id="one")
    editor.acting_as("ann").limit("act", at_most=0)
    paused = f"its action 'act' is paused since {NOON:%Y-%m-%dT%H:%M:%S}.000Z by ann"
    before = editor.why("one")
    assert (before.cause, before.starts_by) == (WaitCause.NOT_DUE, None)
    assert before.what == f"it is not due yet: 2026-11-21T13:00:00.000Z, and {paused}"
    # When its time has come, before and after a run has put it back
    scheduler.clock.now = DUE + MINUTE
    for _ in range(2):
        why = editor.why("one")
        assert (why.cause, why.what) == (WaitCause.ACTION_PAUSED, paused)
        assert why.way_out.startswith("`duebell limit --as-declared act`")
        # Nobody knows when the pause ends, so no time is promised
        assert (why.starts_by, why.is_late) == (None, False)
        worker.run()


def test_its_action_is_closed(editor: Editor, scheduler: Scheduler, worker: Worker) -> None:
    editor.add("act", due=DUE, id="one")
    hours = "13:00-15:00 Europe/Berlin; 14:00-15:30 Europe/Berlin"
    editor.limit("act", closed=hours)
    opens = NOON.replace(hour=14, minute=30)
    closed = f"its action 'act' is closed then ({hours}), and opens at "
    # Before its time has come, then before a run has put it back, and after
    for now in (NOON, DUE, DUE + 10 * MINUTE):
        scheduler.clock.now = now
        why = editor.why("one")
        assert (why.cause, why.what) == (WaitCause.CLOSED, f"{closed}2026-11-21T14:30:00.000Z")
        assert (why.starts_by, why.is_late) == (opens + STARTS_WITHIN, False)
        worker.run()
    # Nobody calls it late, though it stands far behind its due date
    assert editor.get("one").starts_by
    status = editor.status()
    assert (status.healthy, status.overdue) == (True, 0)
    [limit] = status.limited
    assert (limit.action, limit.closed_until, limit.waiting) == ("act", opens, 1)


def test_its_action_is_limited(editor: Editor, scheduler: Scheduler, worker: Worker) -> None:
    editor.add_many({"action": "mail", "due": DUE, "id": f"mail-{n}"} for n in range(5))
    editor.limit("mail", closed="never")
    scheduler.clock.now = DUE + SECOND
    worker.run()
    waiting = [editor.why(f"mail-{n}") for n in range(5)]
    limited = [one for one in waiting if one.cause is WaitCause.LIMIT]
    assert len(limited) == 4
    assert "its action 'mail' (0.01 a second, never closed) since 2026-11-21T13:00:00.000Z" in limited[0].what
    assert "about 4 tasks wait, and its turn is expected at 2026-11-21T13:" in limited[0].what
    # And one that comes meanwhile starts behind them, as one starts in a hundred seconds
    editor.add("mail", due=DUE + 2 * MINUTE, id="next")
    why = editor.why("next")
    assert (why.cause, why.is_late) == (WaitCause.NOT_DUE, False)
    assert why.starts_by == DUE + SECOND + 500 * SECOND + STARTS_WITHIN
    # And one that comes later starts as usual
    editor.add("mail", due=DUE + HOUR, id="later")
    assert editor.why("later").starts_by == DUE + HOUR + STARTS_WITHIN


def test_it_is_tried_again_later(editor: Editor, scheduler: Scheduler, worker: Worker) -> None:
    editor.add("fail", due=DUE, id="one")
    scheduler.clock.now = DUE + SECOND
    worker.run()
    why = editor.why("one")
    assert why.cause is WaitCause.RETRY
    assert why.what == (
        "attempt 2 of 5 is at 2026-11-21T13:10:01.000Z: the last one failed with Retry: the bank is closed"
    )


def test_its_lane_is_in_trouble(editor: Editor, scheduler: Scheduler) -> None:
    task = editor.add("act", due=DUE, id="one")
    # Two lanes are, and it is told of its own
    resting = tuple(RestingLane(lane=lane, since=DUE) for lane in (task.lane, (task.lane + 1) % 4))
    change(scheduler, last_run=LastRun(run="run", finished_at=DUE, resting=resting))
    scheduler.clock.now = DUE + MINUTE
    why = editor.why("one")
    assert (why.cause, f"AWS has refused or not answered the calls for lane {task.lane} " in why.what) == (
        WaitCause.LANE,
        True,
    )


def test_no_run_has_come(editor: Editor, scheduler: Scheduler) -> None:
    editor.add("act", due=DUE, id="one")

    def parked(record: ArmingRecord) -> ArmingRecord:
        lanes = tuple(replace(lane, due=NOON + 24 * HOUR) for lane in record.lanes)
        return replace(record, lanes=lanes)

    scheduler.backend.armer.ensure(scheduler.backend.armer.change(parked))
    why = late(editor, scheduler)
    assert (why.cause, why.what) == (
        WaitCause.NO_RUN,
        "no run has come since it was due: none has ever run; the rule rings by 2026-11-22T12:00:00.000Z",
    )
    change(scheduler, last_run=LastRun(run="run", finished_at=NOON))
    assert "the last one ended at 2026-11-21T12:00:00.000Z; the rule" in late(editor, scheduler).what


def test_the_clock_of_this_machine_is_wrong(editor: Editor, scheduler: Scheduler) -> None:
    editor.add("act", due=DUE, id="one")
    change(scheduler, last_run=LastRun(run="run", finished_at=DUE + HOUR))
    scheduler.clock.now = DUE
    why = editor.why("one")
    assert (why.cause, why.way_out) == (WaitCause.CLOCK, "set the clock of this machine")


def test_its_follow_up_is_being_added(editor: Editor, scheduler: Scheduler) -> None:
    task = editor.add("act", due=DUE, id="one", then=Then("act"))
    owes = Owed(cause=Cause.DONE, action="act", at=DUE, due=DUE, attempts=1)
    assert scheduler.store.save(task, replace(task, status=Status.DONE, owes=owes))
    why = editor.why("one")
    assert (why.cause, why.is_late) == (WaitCause.FOLLOW_UP, False)
    assert why.what == "it ended at 2026-11-21T13:00:00.000Z, and its follow-up is being added"


@pytest.mark.parametrize("status", ["paused", "reserved", "blocked", "running", "cancelled"])
def test_a_task_that_does_not_wait_for_a_start(editor: Editor, scheduler: Scheduler, status: str) -> None:
    scheduler.become(editor.acting_as("ann").add("act", due=DUE, id="one"), Status(status))
    why = editor.why("one")
    assert (why.starts_by, why.is_late) == (None, False)


def test_a_run_is_at_work_on_it(editor: Editor, scheduler: Scheduler) -> None:
    scheduler.become(editor.add("act", due=DUE, id="one"), Status.RUNNING)
    scheduler.backend.armer.change(lambda record: record.claimed("run", now=NOON, until=DUE))
    assert editor.why("one").what == "attempt 1 runs since 2026-11-21T12:00:00.000Z, in run run"


def test_the_lateness_of_an_attempt_is_split(editor: Editor, scheduler: Scheduler, worker: Worker) -> None:
    """The rule rings in the minute after the due date, and Lambda takes some seconds."""
    editor.add("act", due=DUE + 30 * SECOND, id="one")
    scheduler.clock.now = DUE + 84 * SECOND
    event = {"source": "aws.events", "time": "2026-11-21T13:01:20Z"}
    worker._run("run", scheduler.backend, None, rang_at=rang_at(event))
    why = editor.why("one")
    assert why.cause is WaitCause.STARTED
    assert why.lateness == Lateness(rounding=30_000, ring=20_000, start=4_000)
    assert why.what == (
        "its last attempt started at 2026-11-21T13:01:24.000Z, 54.0 s after it was due: 30.0 s until the "
        "full minute, 20.0 s until the rule rang, 4.0 s until the worker had started"
    )


def test_a_task_that_expired_was_not_started(editor: Editor, scheduler: Scheduler, worker: Worker) -> None:
    editor.add("act", due=DUE, id="one", expires_after=MINUTE)
    scheduler.clock.now = DUE + HOUR
    worker.run()
    why = editor.why("one")
    assert (why.cause, editor.get("one").status) == (WaitCause.NEVER_STARTED, Status.EXPIRED)
    assert why.what.startswith(
        "it expired, because a run reached it at 2026-11-21T14:00:00.000Z, 3,600.0 s after it"
    )


def test_attempts_before_it_are_told_apart(editor: Editor, scheduler: Scheduler, worker: Worker) -> None:
    editor.add("fail", due=DUE, id="one")
    for _ in range(5):
        scheduler.clock.now += HOUR + SECOND
        worker.run()
    task = editor.get("one")
    assert task.status is Status.FAILED
    why = editor.why("one")
    assert why.delay_ms > 3 * HOUR / timedelta(milliseconds=1)
    assert "s until the time that it was queued for" in why.what
