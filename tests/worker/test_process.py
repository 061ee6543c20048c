"""A long-running process starts what is due to the second, and keeps the rule armed for what it does not."""

from datetime import datetime, timedelta

import pytest

from duebell_shared.bell.arming import HEAD_START, ArmingRecord
from duebell_worker.run.lease import LEASE
from tests.support import NOON
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted


def test_each_task_starts_at_its_second(hosted: Hosted) -> None:
    dues = [NOON + SECOND * seconds for seconds in (3, 40, 41, 127, 3600, 3725)]
    for due in dues:
        hosted.add("act", due)
    assert hosted.run_until(NOON + 2 * HOUR)
    assert hosted.starts == dues


def test_what_is_added_meanwhile_starts_at_its_second_or_with_the_next_look(hosted: Hosted) -> None:
    at = NOON + HOUR
    hosted.at(at, lambda: hosted.add("act", at))
    hosted.at(at + HOUR, lambda: hosted.add("act", at + HOUR + 3 * SECOND))
    hosted.run_until(NOON + 3 * HOUR)
    assert hosted.starts[1] == at + HOUR + 3 * SECOND
    assert at <= hosted.starts[0] <= at + SECOND


def test_nothing_is_held_and_little_is_read_while_nothing_is_due(hosted: Hosted) -> None:
    hosted.serve(look_every=10 * SECOND)
    hosted.add("act", NOON + 5 * HOUR)
    reads: list[datetime] = []
    look = hosted.store.on_read

    def read() -> None:
        reads.append(hosted.clock.now)
        look()

    hosted.store.on_read = read
    writes: list[ArmingRecord] = []
    hosted.store.on_write = writes.append
    hosted.run_until(NOON + HOUR)
    assert not writes
    assert len(reads) <= 3600 / 10 + 5


def test_the_rule_stays_armed_for_what_comes_next(hosted: Hosted) -> None:
    hosted.add("act", NOON + 10 * MINUTE)
    hosted.add("act", NOON + 3 * HOUR)
    rings: list[datetime] = []
    for minutes in (5, 20):
        hosted.at(NOON + minutes * MINUTE, lambda: rings.append(hosted.rings_at))
    hosted.run_until(NOON + HOUR)
    # Before it ran, and after
    assert rings == [NOON + 10 * MINUTE, NOON + 3 * HOUR]
    assert hosted.rings_at == NOON + 3 * HOUR


def test_while_it_holds_lanes_the_rule_is_its_watchdog(hosted: Hosted) -> None:
    hosted.takes(HOUR)
    hosted.add("long", NOON + MINUTE)
    ahead: list[timedelta] = []
    for minutes in range(2, 60):
        hosted.at(NOON + minutes * MINUTE, lambda: ahead.append(hosted.rings_at - hosted.clock.now))
    hosted.run_until(NOON + 2 * HOUR)
    assert len(ahead) == 58
    assert all(timedelta(0) < each <= LEASE + MINUTE for each in ahead)


@pytest.mark.parametrize("head_start", [timedelta(0), HEAD_START])
def test_the_head_start_stays_as_the_lambda_set_it(head_start: timedelta, hosted: Hosted) -> None:
    hosted.backend.armer.change(lambda record: record.ringing_ahead(head_start))
    hosted.add("act", NOON + 30 * MINUTE)
    hosted.run_until(NOON + HOUR)
    assert hosted.record.head_start == head_start
    assert hosted.starts == [NOON + 30 * MINUTE]


def test_it_claims_the_lanes_before_the_rule_rings_ahead_of_a_due_date(hosted: Hosted) -> None:
    hosted.backend.armer.change(lambda record: record.ringing_ahead(HEAD_START))
    hosted.add("act", NOON + 30 * MINUTE)
    claimed: list[datetime] = []

    def note(record: ArmingRecord) -> None:
        if any(lane.owner for lane in record.lanes):
            claimed.append(hosted.clock.now)

    hosted.store.on_write = note
    hosted.run_until(NOON + HOUR)
    assert NOON + 30 * MINUTE - HEAD_START - MINUTE < claimed[0] < NOON + 30 * MINUTE - HEAD_START
