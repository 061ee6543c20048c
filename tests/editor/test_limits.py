"""Limits of actions, set while the system is running."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from duebell import Editor, InvalidTask, NotArmed, Status, Worker
from duebell_shared.errors import AwsUnavailable
from duebell_shared.limits.limits import Limit, Limits, parked_until
from tests.editor.memory import Scheduler
from tests.support import NOON

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def editor(scheduler: Scheduler) -> Editor:
    """The editor of a queue whose worker has the actions `mail` and `act`."""
    worker = Worker(backend=scheduler.editor._backend)
    worker.action("mail", at_most=5, per_second=10)(lambda: None)
    worker.action("act")(lambda: None)
    worker.register()
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


def test_a_limit_repeated_after_a_failure_reaches_the_runs(
    editor: Editor, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a queue in use, and a call that has stored the limit and could not tell it
    editor.ensure_armed()
    with monkeypatch.context() as broken:
        broken.setattr(scheduler.store, "swap_record", raise_unavailable)
        with pytest.raises(NotArmed, match="the limit is stored, but"):
            editor.limit("mail", per_second=2)
    assert editor._backend.armer.read().limits == 0
    # When it is repeated
    editor.limit("mail", per_second=2)
    # Then the arming record says so, and every lane is looked at
    record = editor._backend.armer.read()
    assert record.limits == 1
    assert record.target <= NOON
    assert record.is_settled(NOON)


def raise_unavailable(*_: object) -> None:
    raise AwsUnavailable("as told")


def test_a_new_arming_record_knows_of_the_limits(editor: Editor, scheduler: Scheduler) -> None:
    editor.limit("mail", per_second=2)
    scheduler.store.record = None
    assert editor._backend.armer.read().limits == 1


def test_an_update_keeps_what_a_task_waits_for(editor: Editor, scheduler: Scheduler) -> None:
    task = editor.add("mail", due=NOON, id="a")
    waiting = replace(task, limited_since=NOON, rev=2)
    scheduler.store.save(task, waiting)
    assert editor.update("a", priority=3).limited_since == NOON
    again = replace(editor.get("a"), attempt=1, rev=4)
    scheduler.store.save(editor.get("a"), again)
    assert editor.update("a", spread=HOUR).limited_since == NOON
    assert editor.update("a", action="act").limited_since is None


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
