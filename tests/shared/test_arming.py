"""The arming record's transitions, each alone: values in, a value out."""

from datetime import datetime, timedelta

import msgspec
import pytest
from msgspec.structs import replace

from duebell_shared.bell.arming import GRACE, HEAD_START, ArmingRecord, Fullest, Lane, LastRun
from duebell_shared.instants import MOST_SKEW, NEVER
from tests.support import NOON

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
SOON = NOON + 10 * MINUTE
LATER = NOON + timedelta(hours=1)
HOLD_END = NOON + 20 * SECOND


def free(*dues: datetime) -> ArmingRecord:
    """A record whose lanes are free and due then, with the rule unknown."""
    return ArmingRecord(lanes=tuple(Lane(due=due) for due in dues))


def held(due: datetime = NEVER, *, by: str = "run", until: datetime = LATER) -> Lane:
    return Lane(due=due, owner=by, until=until)


def armed(target: datetime, rings_at: datetime | None, *dues: datetime) -> ArmingRecord:
    return msgspec.structs.replace(free(*dues), armed=target, rings_at=rings_at)


# Transitions of an editor.


@pytest.mark.parametrize("due", [SOON, LATER])
def test_a_free_lane_that_will_be_claimed_with_an_earlier_one_is_left_as_it_is(due: datetime) -> None:
    record = free(SOON, NEVER)
    assert record.lowered({1: due}) is record


# Transitions of a run.


@pytest.mark.parametrize("early", [timedelta(0), 5 * SECOND])
def test_a_run_that_finds_nothing_free_may_have_come_by_the_ring_that_was_to_see_to_it(
    early: timedelta,
) -> None:
    # Given a lease that ends about now, by another clock, and a rule that rings for it about now
    record = ArmingRecord(lanes=(held(by="dead", until=NOON + early),), armed=NOON + early, rings_at=NOON)
    # When a run finds it held
    claimed = record.claimed("run", now=NOON - SECOND, until=SOON)
    # Then the rule is to be set again
    assert claimed.lanes == record.lanes
    assert not claimed.is_settled(NOON)


def test_a_run_that_is_for_some_lanes_claims_these() -> None:
    record = free(NOON, NOON, SOON)
    claimed = record.claimed("run", now=NOON, until=SOON, only=[1])
    assert claimed.lanes_of("run") == (1,)
    # Tasks may have been added to a lane that stays free, while another lane had an earlier due.
    assert [lane.due for lane in claimed.lanes] == [NOON, NEVER, NOON]
    assert [
        lane.due for lane in free(LATER, NOON, NEVER).claimed("run", now=NOON, until=SOON, only=[1]).lanes
    ] == [NOON, NEVER, NOON]
    assert record.claimed("run", now=NOON, until=SOON, only=[]) is record


# Transitions of a process that arms the rule.


def test_while_someone_applies_the_rule_is_unknown() -> None:
    record = armed(SOON, SOON, SOON).applying("me", until=HOLD_END)
    assert (record.armed, record.rings_at) == (None, None)
    assert record.is_being_applied(HOLD_END - SECOND)
    # For everybody else it lasts until it is over by any clock
    assert record.is_being_applied(HOLD_END + MOST_SKEW - SECOND)
    assert not record.is_being_applied(HOLD_END + MOST_SKEW)
    assert not record.is_being_applied(HOLD_END, skew=timedelta(0))
    assert not record.is_settled(NOON)


def test_what_is_confirmed_within_the_hold_is_so_and_ends_it() -> None:
    record = free(SOON).applying("me", until=HOLD_END)
    confirmed = record.confirmed("me", SOON, SOON, now=NOON, may_land_again=False)
    assert confirmed == armed(SOON, SOON, SOON)


def test_an_answer_to_one_who_was_taken_over_makes_the_other_unable_to_confirm() -> None:
    # Given an applier who was taken over by another
    record = free(SOON).applying("me", until=HOLD_END).applying("other", until=LATER)
    # When its answer comes: the call may have landed after the other's
    disputed = record.confirmed("me", SOON, SOON, now=NOON, may_land_again=False)
    # Then the other keeps its time, and cannot confirm
    assert disputed.armed is None
    assert disputed.is_being_applied(NOON)
    assert disputed.confirmed("other", SOON, SOON, now=NOON, may_land_again=False).armed is None


# The check that the rule is set as it must be.


@pytest.mark.parametrize(
    ("record", "now", "is_settled"),
    [
        (free(SOON), NOON, False),  # unknown
        (free(NEVER), NOON, False),  # unknown, though nothing waits
        (armed(NEVER, None, NEVER), NOON, True),  # parked, and nothing waits
        (armed(NEVER, None, SOON), NOON, False),  # parked, and something waits
        (armed(SOON, SOON, SOON), NOON, True),
        (armed(LATER, LATER, SOON), NOON, False),  # lowered since
        (armed(SOON, SOON, LATER), NOON, False),  # raised since
        (armed(SOON, SOON, NEVER), NOON, False),  # empty since
        (armed(SOON, SOON, SOON), SOON + GRACE, True),  # it may be ringing
        (armed(SOON, SOON, SOON), SOON + GRACE + SECOND, False),  # it was missed
        # A ring in a minute or two is as soon as a new one could be, for a target that came since.
        (armed(NOON + MINUTE, NOON + MINUTE, NOON), NOON, True),
        (armed(NOON + MINUTE, NOON + 2 * MINUTE, NOON), NOON, False),
        (armed(NOON + 2 * MINUTE, NOON + 2 * MINUTE, NOON + 61 * SECOND), NOON, True),
        # But not once it was missed, which a record of a dead run may tell.
        (armed(SOON, SOON, NOON), SOON + GRACE + SECOND, False),
    ],
)
def test_settled(record: ArmingRecord, now: datetime, is_settled: bool) -> None:
    assert record.is_settled(now) is is_settled


# Direct calls of a run.


@pytest.mark.parametrize(
    ("due", "head_start", "rings_at", "too_late"),
    [
        (NOON, timedelta(0), NOON + MINUTE, True),
        (NOON, timedelta(0), NOON, False),  # it rings at this moment
        (NOON, timedelta(0), None, True),
        (NOON + SECOND, timedelta(0), NOON + 2 * MINUTE, False),  # a run would not wait for it
        (NOON + SECOND, HEAD_START, NOON + MINUTE, True),
        (NOON + HEAD_START + MINUTE, HEAD_START, NOON + MINUTE, False),
        (NOON + HEAD_START + MINUTE, HEAD_START, NOON + 2 * MINUTE, True),
        (LATER, HEAD_START, None, False),
        (NEVER, HEAD_START, None, False),
    ],
)
def test_a_run_is_called_when_the_rule_rings_too_late(
    due: datetime, head_start: timedelta, rings_at: datetime | None, too_late: bool
) -> None:
    record = ArmingRecord(lanes=(Lane(due=due),), rings_at=rings_at, head_start=head_start)
    assert record.rings_too_late(NOON) is too_late
    assert (record.called(NOON) is not record) is too_late


def test_one_call_is_enough_until_its_run_has_come_or_should_have() -> None:
    called = free(NOON).called(NOON)
    assert called.called_at == NOON
    assert not called.rings_too_late(NOON + 9 * SECOND)
    assert called.rings_too_late(NOON + 10 * SECOND)
    assert called.claimed("run", now=NOON, until=SOON).called_at is None


def test_lanes_that_were_just_handed_over_call_no_other_run_than_those_started_for_them() -> None:
    record = ArmingRecord(lanes=(held(), held())).handed_over("run", {1: NOON}, now=NOON)
    assert not record.rings_too_late(NOON + SECOND)


# The rule's echo as a run's watchdog, in the arming record.


def rung(minute: datetime, *, claimed_at: datetime, lease: timedelta = 2 * MINUTE) -> ArmingRecord:
    """A record that a run has claimed after the rule rang for this minute."""
    return armed(minute, minute, minute, NEVER).claimed("run", now=claimed_at, until=claimed_at + lease)


@pytest.mark.parametrize("after", [0, 60])
def test_the_echo_of_the_ring_is_the_watchdog_of_a_run_that_comes_in_its_minute(after: int) -> None:
    # Given a run that comes by a ring, when it claims
    claimed = rung(NOON, claimed_at=NOON + after * SECOND)
    # Then the rule need not be set: it rings again soon after the end of the lease
    assert claimed.is_settled(NOON + after * SECOND)
    assert claimed.rings_at == NOON + 4 * MINUTE
    assert claimed.target <= NOON + 4 * MINUTE <= claimed.target + 2 * MINUTE
    assert claimed.set_to == NOON


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(rung(NOON, claimed_at=NOON + 121 * SECOND), id="the echo is before the lease's end"),
        pytest.param(rung(NOON, claimed_at=NOON, lease=119 * SECOND), id="the echo is long after it"),
        pytest.param(rung(NOON, claimed_at=NOON - SECOND, lease=150 * SECOND), id="the ring is to come"),
        pytest.param(rung(NOON + 56 * MINUTE, claimed_at=NOON + 56 * MINUTE), id="it has none in this hour"),
        pytest.param(free(NOON).claimed("run", now=NOON, until=NOON + 2 * MINUTE), id="the rule is unknown"),
        pytest.param(rung(NOON, claimed_at=NOON + 4 * MINUTE), id="it came by the echo"),
    ],
)
def test_no_other_echo_is_relied_on(record: ArmingRecord) -> None:
    assert (record.armed, record.rings_at, record.echo_of) == (None, None, None)


def test_the_echo_is_the_watchdog_of_a_renewed_lease_too_until_that_ends_after_it() -> None:
    claimed = rung(NOON, claimed_at=NOON)
    for minute in (1, 2):
        claimed = claimed.renewed("run", until=NOON + (2 + minute) * MINUTE)
        assert claimed.is_settled(NOON + minute * MINUTE)
        assert claimed.rings_at == NOON + 4 * MINUTE
    renewed = claimed.renewed("run", until=NOON + 5 * MINUTE)
    assert not renewed.is_settled(NOON + 3 * MINUTE)


@pytest.mark.parametrize("head_start", [timedelta(0), 130 * SECOND])
@pytest.mark.parametrize(
    ("due", "is_settled"),
    [(2 * MINUTE, False), (3 * MINUTE, False), (4 * MINUTE, True), (timedelta(days=1), True)],
)
def test_an_echo_does_for_what_is_due_in_a_free_lane_only_if_it_rings_as_soon(
    due: timedelta, head_start: timedelta, *, is_settled: bool
) -> None:
    # Given a run that holds one of two lanes, with the rule's echo as its watchdog
    record = rung(NOON, claimed_at=NOON).ringing_ahead(head_start).released("run", {1: NEVER})
    assert record.is_settled(NOON)
    # When something is to start in the other one
    lowered = record.lowered({1: NOON + head_start + due})
    # Then the rule is to be set if the echo rings later than a rule that is set anew
    assert lowered.is_settled(NOON) == is_settled


def test_a_lease_that_is_renewed_while_the_rule_is_being_set_has_no_echo() -> None:
    # Given a rule whose echo is a watchdog, and which a process is setting to another time
    held = rung(NOON, claimed_at=NOON).applying("me", until=HOLD_END)
    # When the lease is renewed meanwhile, then where the rule stands is unknown still
    renewed = held.renewed("run", until=NOON + 3 * MINUTE)
    assert (renewed.armed, renewed.rings_at) == (None, None)


# Measurements of runs in the arming record: counts now and then, and the fullest lane.


GB = 2**30
RECORD = ArmingRecord(lanes=(Lane(), Lane(), Lane()))


def test_the_first_run_counts_and_others_only_when_that_is_five_minutes_ago() -> None:
    counted = RECORD.counting(NOON)
    assert counted.counted_at == NOON
    assert counted.counting(NOON + 5 * MINUTE - timedelta(seconds=1)) == counted
    assert counted.counting(NOON + 5 * MINUTE).counted_at == NOON + 5 * MINUTE
    # And a clock that was a day ahead does not stop the counting
    assert RECORD.counting(NOON + timedelta(days=1)).counting(NOON) == counted


def test_another_lane_takes_its_place_only_when_it_is_a_gb_fuller() -> None:
    measured = RECORD.measured({2: 3 * GB}, NOON)
    assert measured.measured({1: 3 * GB + 1, 2: 3 * GB + 2}, NOON + MINUTE) == measured
    assert measured.measured({1: 2 * GB}, NOON + MINUTE) == measured
    assert measured.measured({1: 4 * GB}, NOON + MINUTE).fullest == Fullest(
        lane=1, bytes=4 * GB, measured_at=NOON + MINUTE
    )


def test_an_echo_is_no_ring_once_the_lanes_are_given_back() -> None:
    released = rung(NOON, claimed_at=NOON).released("run", {0: NEVER, 1: NEVER})
    assert not released.is_settled(NOON)


def test_a_free_lane_does_not_count_on_a_held_ones_due() -> None:
    record = ArmingRecord(lanes=(held(NOON), Lane()))
    assert record.lowered({1: SOON}).lanes[1].due == SOON


def test_a_run_renews_and_clears_its_own_lanes_only() -> None:
    record = ArmingRecord(lanes=(held(SOON), held(SOON, by="other"), Lane(due=SOON)))
    assert record.renewed("run", until=NOON).lanes == (held(SOON, until=NOON), *record.lanes[1:])
    assert record.cleared("run").lanes == (held(), *record.lanes[1:])


# Lanes that one live run gives to another: the record's transitions, each alone.


def lent(by: str, until: object = NOON + MINUTE, due: object = NEVER) -> Lane:
    return Lane(due=due, owner=by, until=until)  # type: ignore[arg-type]


#: "b" holds two lanes until a minute from now and "a" two until two minutes from now; one is free.
SHARED = ArmingRecord(
    lanes=(
        lent("a", NOON + 2 * MINUTE),
        lent("b"),
        lent("a", NOON + 2 * MINUTE, SOON),
        lent("b"),
        Lane(due=LATER),
    )
)


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


@pytest.mark.parametrize("taker", [None, "a", "gone"])
def test_without_another_live_run_that_takes_over_nothing_is_given(taker: str | None) -> None:
    record = replace(SHARED, taker=taker)
    assert record.given("a", {0: LATER, 2: LATER}, now=NOON) == record
