"""What a long-running process does when AWS fails, or when others hold the lanes."""

import pytest
from msgspec.structs import replace

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable, NotArmed, NotDeployed
from tests.support import NOON
from tests.worker.hosted import MINUTE, SECOND, Hosted

OUT = AwsUnavailable("no answer")


def test_a_queue_that_is_not_there_is_told_at_once(hosted: Hosted) -> None:
    def missing() -> None:
        raise NotDeployed("the table", "duebell")

    hosted.store.on_read = missing
    with pytest.raises(NotDeployed):
        hosted.process.run()


def test_an_outage_is_waited_for_and_what_is_due_runs_after_it(hosted: Hosted) -> None:
    hosted.add("act", NOON + 5 * MINUTE)
    look = hosted.store.on_read

    def out() -> None:
        look()
        if NOON + MINUTE <= hosted.clock.now < NOON + 10 * MINUTE:
            raise OUT

    hosted.store.on_read = out
    hosted.run_until(NOON + 20 * MINUTE)
    [start] = hosted.starts
    assert NOON + 10 * MINUTE <= start <= NOON + 11 * MINUTE
    pauses = [line["trying_again_in"] for line in hosted.log.lines("look_failed")]
    assert [0.5, 1, 2] <= pauses[:3] <= [1, 2, 4]
    assert 16 <= max(pauses) <= 32


def test_a_run_that_failed_goes_on_as_the_same_and_gives_its_lanes_back_at_the_end(hosted: Hosted) -> None:
    # Given a run that holds lanes when the record cannot be written any more
    hosted.add("act", NOON + MINUTE)
    is_out = [False]

    def refuse(_: ArmingRecord) -> None:
        if is_out[-1]:
            raise OUT

    hosted.store.on_write = refuse
    hosted.at(NOON + MINUTE - SECOND, lambda: is_out.append(True))
    hosted.at(NOON + 2 * MINUTE, lambda: is_out.append(False))
    # When the process is told to end while it waits to try again, and the record can be written
    hosted.run_until(NOON + 2 * MINUTE)
    # Then the lanes are free
    assert len({line["run"] for line in hosted.log.lines("run_failed")}) == 1
    assert not hosted.record.owners(hosted.clock.now)
    assert hosted.starts == [NOON + MINUTE]


def test_lanes_that_cannot_be_given_back_in_the_end_are_an_error(hosted: Hosted) -> None:
    hosted.add("act", NOON + MINUTE)

    def refuse(_: ArmingRecord) -> None:
        if hosted.clock.now >= NOON + MINUTE:
            raise OUT

    hosted.store.on_write = refuse
    with pytest.raises((AwsUnavailable, NotArmed)):
        hosted.run_until(NOON + MINUTE + 10 * SECOND)


def test_a_process_that_finds_the_lanes_held_makes_no_run(hosted: Hosted) -> None:
    hosted.add("act", NOON + MINUTE)
    other = hosted.other(0, 1, 2, 3)
    for seconds in (30, 90):
        hosted.at(NOON + seconds * SECOND, other.lease.renew)
    hosted.run_until(NOON + 3 * MINUTE)
    assert not hosted.log.lines("run")


def test_a_process_makes_no_run_while_the_queue_is_given_more_lanes(hosted: Hosted) -> None:
    hosted.add("act", NOON + MINUTE)
    relaning = {"relaner": "relaner", "relaner_until": NOON + 2 * MINUTE}
    hosted.backend.armer.change(lambda record: replace(record, **relaning))
    hosted.run_until(NOON + 90 * SECOND)
    assert not hosted.log.lines("run")
