"""A long-running process that is told to end: what runs has its time, and the lanes are given back."""

import pytest

from duebell import Status
from tests.support import NOON
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted


@pytest.mark.parametrize(("takes", "ends_after"), [(15, 15), (600, 20)])
def test_what_runs_is_given_its_time_and_nothing_else_is_started(
    takes: int, ends_after: int, hosted: Hosted
) -> None:
    # Given an action at work, and a task that comes due a little later
    at = NOON + MINUTE
    hosted.takes(takes * SECOND)
    long, following = hosted.add("long", at), hosted.add("act", at + 5 * SECOND)
    # When the process is told to end
    is_all = hosted.run_until(at + SECOND)
    # Then it takes no longer than the action, or than it is given
    assert hosted.clock.now - at <= (ends_after + 2) * SECOND
    # The action has come to its end; or it is retried later, with a message that says why
    ended = hosted.editor.get(long.id)
    assert is_all is (takes <= ends_after)
    assert ended.status is (Status.DONE if is_all else Status.SCHEDULED)
    assert is_all or "--drain-seconds" in (ended.failure.message if ended.failure else "")
    # What came due is left to the Lambda: its lane is free, and the rule rings
    assert not hosted.starts
    assert hosted.editor.get(following.id).status is Status.SCHEDULED
    assert not hosted.record.owners(hosted.clock.now)
    assert hosted.rings_at <= hosted.clock.now + 2 * MINUTE


def test_a_process_that_waits_for_a_due_date_gives_its_lanes_back_at_once(hosted: Hosted) -> None:
    hosted.add("act", NOON + MINUTE)
    assert hosted.run_until(NOON + 55 * SECOND)
    assert hosted.clock.now <= NOON + 57 * SECOND
    assert not hosted.record.owners(hosted.clock.now)
    [drains] = hosted.log.lines("process_drains")
    assert drains["ends_by"] == "2026-11-21T12:01:15.000Z"


def test_a_process_that_looks_seldom_ends_soon_too(hosted: Hosted) -> None:
    hosted.serve(look_every=MINUTE)
    assert hosted.run_until(NOON + 10 * SECOND)
    assert hosted.clock.now <= NOON + 12 * SECOND


def test_a_run_of_one_that_looks_seldom_gives_its_lanes_back_at_once(hosted: Hosted) -> None:
    hosted.serve(look_every=MINUTE)
    hosted.add("act", NOON + MINUTE)
    hosted.run_until(NOON + 52 * SECOND)
    assert hosted.clock.now <= NOON + 54 * SECOND
    assert not hosted.record.owners(hosted.clock.now)


def test_draining_twice_gives_no_more_time(hosted: Hosted) -> None:
    hosted.takes(HOUR)
    hosted.add("long", NOON + SECOND)
    hosted.at(NOON + 20 * SECOND, hosted.process.drain)
    assert not hosted.run_until(NOON + 10 * SECOND)
    assert hosted.clock.now <= NOON + 32 * SECOND
