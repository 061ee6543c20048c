"""Lanes that one live run gives to another: the record's transitions, each alone."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from duebell_shared.bell.arming import ArmingRecord, Lane, LastRun
from duebell_shared.instants import NEVER
from tests.support import NOON

MINUTE = timedelta(minutes=1)
SOON = NOON + 10 * MINUTE
LATER = NOON + timedelta(hours=1)


def held(by: str, until: object = NOON + MINUTE, due: object = NEVER) -> Lane:
    return Lane(due=due, owner=by, until=until)  # type: ignore[arg-type]


#: "b" holds two lanes until a minute from now and "a" two until two minutes from now; one is free.
SHARED = ArmingRecord(
    lanes=(
        held("a", NOON + 2 * MINUTE),
        held("b"),
        held("a", NOON + 2 * MINUTE, SOON),
        held("b"),
        Lane(due=LATER),
    )
)


def test_the_first_run_that_says_so_takes_lanes_over() -> None:
    taking = SHARED.taking("b", now=NOON)
    assert taking.taker_for("a", NOON) == "b"
    assert taking.taking("a", now=NOON) == taking
    # Nobody gives lanes to itself
    assert taking.taker_for("b", NOON) is None


def test_a_run_whose_lease_has_run_out_is_replaced() -> None:
    taking = SHARED.taking("b", now=NOON)
    ended = NOON + MINUTE
    assert taking.taker_for("a", ended) is None
    assert taking.taking("a", now=ended).taker == "a"


def test_lanes_that_are_given_are_held_by_the_taker_until_its_lease_ends() -> None:
    run = LastRun(run="a", finished_at=NOON)
    given = SHARED.taking("b", now=NOON).given("a", {0: LATER, 2: LATER}, now=NOON, run=run)
    assert given.lanes_of("a") == ()
    assert given.lanes_of("b") == (0, 1, 2, 3)
    assert {given.lanes[number].until for number in (0, 2)} == {NOON + MINUTE}
    # Due at their heads, or at what was added since they were cleared
    assert [given.lanes[number].due for number in (0, 2)] == [LATER, SOON]
    assert (given.lanes[1], given.lanes[4]) == (SHARED.lanes[1], SHARED.lanes[4])
    assert given.last_run == run


def test_a_rule_that_is_armed_rings_early_enough_after_lanes_were_given() -> None:
    for taker, giver in (("a", "b"), ("b", "a")):
        record = SHARED.taking(taker, now=NOON)
        heads = dict.fromkeys(record.lanes_of(giver), NOON)
        assert record.given(giver, heads, now=NOON).target >= record.target


@pytest.mark.parametrize("taker", [None, "a", "gone"])
def test_without_another_live_run_that_takes_over_nothing_is_given(taker: str | None) -> None:
    record = replace(SHARED, taker=taker)
    assert record.given("a", {0: LATER, 2: LATER}, now=NOON) == record
