"""Tasks that wait for limits, in the status, the list of limits and the timeline."""

from datetime import datetime, timedelta

import pytest

from duebell import Editor, ProblemKind, Step, Worker
from duebell_shared.tasks.worker_record import WorkerRecord
from tests.editor.memory import Scheduler
from tests.support import NOON

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def worker(scheduler: Scheduler) -> Worker:
    worker = Worker(backend=scheduler.backend)
    worker.action("mail", per_second=0.01)(lambda: None)
    worker.action("act")(lambda: None)
    worker.register()
    return worker


@pytest.fixture
def editor(scheduler: Scheduler, worker: Worker) -> Editor:
    return scheduler.editor


def add(editor: Editor, action: str, count: int, due: datetime = NOON) -> None:
    editor.add_many({"action": action, "due": due, "id": f"{action}-{n}"} for n in range(count))


def test_a_paused_action_is_told_with_who_paused_it_and_how_many_wait(
    editor: Editor, scheduler: Scheduler, worker: Worker
) -> None:
    add(editor, "act", 30)
    editor.acting_as("ann").limit("act", at_most=0)
    scheduler.clock.advance(MINUTE)
    worker.run()
    status = editor.status()
    [act] = status.limited
    assert (act.action, act.paused, act.since, act.changed_by, act.waiting) == ("act", True, NOON, "ann", 30)
    # And the verdict is that it needs attention, as tasks wait
    [problem] = status.problems
    assert (problem.kind, problem.at) == (ProblemKind.ACTION_PAUSED, NOON)
    assert problem.what == (
        "the action 'act' is paused since 2026-11-21T12:00:00.000Z by ann, and 30 tasks wait"
    )
    # A day later, too, when they were put back again
    scheduler.clock.advance(DAY + HOUR)
    worker.run()
    [act] = editor.status().limited
    assert act.waiting == 30
    # And when it goes on, nothing is said any more
    editor.limit("act", at_most=None)
    worker.run()
    assert (editor.status().limited, editor.status().healthy) == ((), True)


def test_what_waits_for_a_rate_is_told(editor: Editor, scheduler: Scheduler, worker: Worker) -> None:
    assert editor.status().limited == ()
    add(editor, "mail", 10)
    worker.run()
    [mail] = editor.status().limited
    assert (mail.action, mail.paused, mail.per_second, mail.waiting) == ("mail", False, 0.01, 9)
    assert [(one.action, one.waiting) for one in editor.limits()] == [("mail", 9)]
    # When their time has come, nobody waits
    scheduler.clock.advance(HOUR)
    assert editor.status().limited == ()


def test_the_timeline_tells_what_is_only_looked_at(
    editor: Editor, scheduler: Scheduler, worker: Worker
) -> None:
    add(editor, "act", 20)
    editor.limit("act", per_second=0)
    worker.run()
    at = editor.get("act-0").queued
    assert at
    editor.add("mail", due=at.replace(microsecond=0), id="beside")
    [hour] = [one for one in editor.timeline(NOON, step=Step.HOUR, count=30) if one.count]
    assert hour.start <= at < hour.end
    assert (hour.count, hour.paused) == (21, 20)
    editor.limit("act", per_second=None)
    assert not sum(one.paused for one in editor.timeline(NOON, step=Step.HOUR, count=30))


def test_the_timeline_of_a_long_queue_tells_it_too(
    editor: Editor, scheduler: Scheduler, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duebell_editor.listing.timeline.PAGE", 10)
    add(editor, "act", 100)
    editor.limit("act", per_second=0)
    worker.run()
    editor.add_many({"action": "mail", "due": NOON + n * MINUTE / 10, "id": f"mail-{n}"} for n in range(100))
    counted = sum(one.paused for one in editor.timeline(NOON, step=Step.HOUR, count=30))
    in_lane_0 = sum(editor.get(f"act-{n}").lane == 0 for n in range(100))
    assert counted == 4 * in_lane_0


def test_actions_without_limits_cost_the_status_nothing(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(backend=scheduler.backend)
    worker.action("act")(lambda: None)
    worker.register()
    add(scheduler.editor, "act", 3)
    read = scheduler.store.read
    monkeypatch.setattr(scheduler.store, "read", lambda kind, *_, **__: {WorkerRecord: read}[kind](kind))
    assert scheduler.editor.status().limited == ()
    assert sum(one.count for one in scheduler.editor.timeline(NOON, step=Step.HOUR, count=2)) == 3
