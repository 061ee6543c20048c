"""Actions of a long-running process that still run when their run has lost its lease."""

from datetime import timedelta

import pytest

from duebell import Status
from duebell_worker.run.lease import LEASE
from tests.support import NOON
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted


def lose_the_lease(hosted: Hosted) -> None:
    """Have the process stand still until its lease is over, and another run do all that is at work."""
    hosted.clock.advance(LEASE + SECOND)
    hosted.other(0, 1, 2, 3)
    for task in hosted.editor.list(status=Status.RUNNING).tasks:
        hosted.editor.cancel(task.id)


@pytest.mark.parametrize(("takes", "is_all"), [(5 * MINUTE + 10 * SECOND, True), (HOUR, False)])
def test_an_end_gives_actions_of_a_lost_lease_time(takes: timedelta, is_all: bool, hosted: Hosted) -> None:
    # Given an action at work when its run loses the lease
    hosted.takes(takes)
    hosted.add("long", NOON)
    hosted.at(NOON + 10 * SECOND, lambda: lose_the_lease(hosted))
    # When the process is told to end
    assert hosted.run_until(NOON + 5 * MINUTE) is is_all
    # Then it waits for the action, at most as long as it is given, and tells whether it was cut off
    assert hosted.clock.now - NOON <= 5 * MINUTE + 22 * SECOND
    [lost] = hosted.log.lines("lease_lost")
    assert lost["still_running"] == 1
    [ended] = hosted.log.lines("process_ended")
    assert ended["unfinished"] == (0 if is_all else 1)


def test_actions_of_a_lost_lease_keep_their_places_until_they_end(hosted: Hosted) -> None:
    # Given a process with two places, one of them taken by an action whose run lost its lease
    at_once: list[int] = []
    at_work: list[None] = []

    @hosted.worker.action("some")
    def some() -> None:
        at_work.append(None)
        at_once.append(len(at_work))
        hosted.stage.sleep(30)
        at_work.pop()

    hosted.takes(HOUR)
    hosted.add("long", NOON)
    hosted.at(NOON + 10 * SECOND, lambda: lose_the_lease(hosted))
    # When several are due while it runs, and after it
    for lane, at in enumerate((30 * MINUTE, 30 * MINUTE, 2 * HOUR, 2 * HOUR)):
        hosted.add(some.name, NOON + at, lane=lane)
    hosted.run_until(NOON + 3 * HOUR)
    # Then one at a time goes on beside it, and two after it
    assert at_once == [1, 1, 1, 2]


def test_a_process_whose_places_are_all_kept_claims_no_lanes(hosted: Hosted) -> None:
    # Given actions that never return and have all places, and a lease that was lost
    hosted.takes(HOUR * 20)
    for lane in (0, 1):
        hosted.add("long", NOON, lane=lane)
    hosted.at(NOON + 10 * SECOND, lambda: lose_the_lease(hosted))
    hosted.add("act", NOON + HOUR, lane=2)
    # When something is due
    free: list[bool] = []
    hosted.at(NOON + HOUR + MINUTE, lambda: free.append(not hosted.record.owners(hosted.clock.now)))
    hosted.run_until(NOON + 2 * HOUR)
    # Then its lane is free for others, and the rule rings for it
    assert free == [True]
    assert not hosted.starts
    assert len(hosted.log.lines("lease_lost")) == 1
