"""Limits of actions: set while the system is running, and told in the status and the timeline."""

from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from duebell import Editor, InvalidTask, NotArmed, ProblemKind, Status, Step, Worker
from duebell_shared.errors import AwsUnavailable
from duebell_shared.limits.limits import Limit, Limits, parked_until
from duebell_shared.tasks.worker_record import WorkerRecord
from tests.editor.memory import Scheduler
from tests.support import NOON

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def worker(scheduler: Scheduler) -> Worker:
    """A worker that has made its actions `mail` and `act` known."""
    worker = Worker(backend=scheduler.backend)
    worker.action("mail", at_most=5, per_second=10)(lambda: None)
    worker.action("act")(lambda: None)
    worker.register()
    return worker


@pytest.fixture
def editor(scheduler: Scheduler, worker: Worker) -> Editor:
    return scheduler.editor


def test_a_limit_is_set_in_part_and_taken_away(editor: Editor) -> None:
    slower = editor.limit("mail", per_second=2)
    assert (slower.at_most, slower.per_second, slower.since) == (5, 2, NOON)
    fewer = editor.limit("mail", at_most=1)
    assert (fewer.at_most, fewer.per_second) == (1, 2)
    editor.limit("mail", per_second=None)
    declared = editor.limit("mail", at_most=None)
    assert (declared.at_most, declared.per_second, declared.since) == (5, 10, None)
    assert editor.limits() == (replace(declared, waiting=0),)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"at_most": 10_001}, "at_most: must be a whole number, 0 to 10,000, not 10001"),
        ({"per_second": 0.00009}, "per_second: must be a number, 0.0001 to 1,000, or 0 to pause, not 9e-05"),
        ({"per_second": 1_000.1}, "or 0 to pause, not 1000.1"),
        ({"per_second": True}, "or 0 to pause, not True"),
        ({"closed": "sat," * 49 + "sun  "}, "closed: must be a text of at most 200 characters, not 'sat,"),
    ],
)
def test_a_limit_has_bounds(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidTask, match=reason):
        Limit(**given).checked()
    assert Limit(at_most=10_000, per_second=0.0001, closed="sat," * 49 + "sun ").checked().is_counted
    assert Limit(at_most=0, per_second=1_000).checked().is_paused


def test_zero_pauses_also_an_action_without_limits(editor: Editor) -> None:
    assert editor.limit("act", at_most=0).paused
    assert [one.action for one in editor.limits()] == ["act", "mail"]
    assert not editor.limit("act", at_most=None).paused
    assert [one.action for one in editor.limits()] == ["mail"]


def test_an_action_that_the_worker_does_not_have_is_refused(editor: Editor) -> None:
    with pytest.raises(InvalidTask, match="did you mean mail"):
        editor.limit("mial", per_second=1)
    with pytest.raises(InvalidTask, match="duebell's own"):
        editor.limit("duebell.verify", per_second=1)
    with pytest.raises(InvalidTask, match=r"^action: "):
        editor.limit("", per_second=1)


def test_a_limit_repeated_after_a_failure_reaches_the_runs(editor: Editor, scheduler: Scheduler) -> None:
    # Given a queue in use, and a call that has stored the limit and could not tell it
    editor.ensure_armed()
    with (
        patch.object(scheduler.store, "swap_record", side_effect=AwsUnavailable("as told")),
        pytest.raises(NotArmed, match="the limit is stored, but"),
    ):
        editor.limit("mail", per_second=2)
    assert editor._backend.armer.read().limits == 0
    # When it is repeated
    editor.limit("mail", per_second=2)
    # Then the arming record says so, and every lane is looked at
    record = editor._backend.armer.read()
    assert record.limits == 1
    assert record.target <= NOON
    assert record.is_settled(NOON)


def test_a_new_arming_record_knows_of_the_limits(editor: Editor, scheduler: Scheduler) -> None:
    editor.limit("mail", per_second=2)
    scheduler.store.record = None
    assert editor._backend.armer.read().limits == 1


def test_an_update_keeps_what_a_task_waits_for(editor: Editor, scheduler: Scheduler) -> None:
    task = editor.add("mail", due=NOON, id="a")
    scheduler.store.save(task, replace(task, limited_since=NOON, rev=2))
    assert editor.update("a", priority=3).limited_since == NOON
    again = replace(editor.get("a"), attempt=1, rev=4)
    scheduler.store.save(editor.get("a"), again)
    assert editor.update("a", spread=HOUR).limited_since == NOON


def test_a_task_that_is_given_another_action_does_not_wait_for_the_limit_of_the_first(
    editor: Editor, scheduler: Scheduler
) -> None:
    # Given a task that is put back for hours, as its action is paused
    added = editor.add("mail", due=NOON + HOUR, id="one")
    scheduler.clock.advance(HOUR)
    claimed = scheduler.become(added, Status.RUNNING)
    assert scheduler.store.save(claimed, claimed.held_back(NOON + 20 * HOUR))
    # When it is given an action that is not
    task = editor.update("one", action="act")
    # Then it is due, and the rule rings for it
    assert (task.queued, task.limited_since) == (NOON + HOUR, None)
    assert (editor.status().rings_at or NOON) <= scheduler.clock.now + timedelta(minutes=2)


def test_tasks_of_an_action_are_parked_together_and_of_no_other() -> None:
    places = {parked_until("mail", NOON + n * HOUR) for n in range(24)}
    assert len(places) == 2
    for n in range(48):
        now = NOON + n * HOUR
        assert now + HOUR < parked_until("mail", now) <= now + HOUR + DAY
    assert len({parked_until(f"action-{n}", NOON) for n in range(1_000)}) == 1_000
    assert all(parked_until(f"action-{n}", NOON).microsecond for n in range(1_000))


def test_what_was_parked_is_released_when_the_action_goes_on_and_no_longer() -> None:
    paused = Limits().changed("mail", Limit(per_second=0), now=NOON)
    assert not paused.released(NOON + HOUR)
    places = {parked_until("mail", NOON), parked_until("mail", NOON + 20 * HOUR)}
    resumed_at = NOON + 20 * HOUR
    resumed = paused.changed("mail", Limit(per_second=2), now=resumed_at)
    assert {at for at in places if at > resumed_at} <= set(resumed.released(resumed_at))
    assert set(resumed.released(resumed_at).values()) == {"mail"}
    # Another limit changes nothing in that, and after a day it is over
    again = resumed.changed("mail", Limit(per_second=3), now=resumed_at + HOUR)
    assert again.released(resumed_at) == resumed.released(resumed_at)
    assert not again.released(resumed_at + 27 * HOUR)
    assert not Limits().changed("mail", Limit(per_second=3), now=NOON).released(NOON)


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
    editor.limit("mail", per_second=0.01)
    assert editor.status().limited == ()
    add(editor, "mail", 10)
    worker.run()
    [mail] = editor.status().limited
    assert (mail.action, mail.paused, mail.per_second, mail.waiting) == ("mail", False, 0.01, 9)
    assert [(one.action, one.waiting) for one in editor.limits()] == [("mail", 9)]
    # When their time has come, nobody waits
    scheduler.clock.advance(HOUR)
    assert editor.status().limited == ()


def test_the_timeline_tells_what_is_only_read(editor: Editor, scheduler: Scheduler, worker: Worker) -> None:
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
    monkeypatch.setattr("duebell_editor.listing.timeline.LARGEST_PAGE", 10)
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
