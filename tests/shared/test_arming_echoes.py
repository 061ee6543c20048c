"""The rule's echo as a run's watchdog, in the arming record."""

from datetime import datetime, timedelta

import pytest

from duebell_shared.bell.arming import ECHO_SOON, ArmingRecord
from duebell_shared.bell.expression import echoes_of
from duebell_shared.instants import NEVER
from duebell_worker.run.lease import LEASE
from tests.shared.test_arming import HOLD_END, MINUTE, SECOND, SOON, armed, free
from tests.support import NOON


def rung(minute: datetime, *, claimed_at: datetime, lease: timedelta = 2 * MINUTE) -> ArmingRecord:
    """A record that a run has claimed after the rule rang for this minute."""
    return armed(minute, minute, minute, NEVER).claimed("run", now=claimed_at, until=claimed_at + lease)


@pytest.mark.parametrize("after", [0, 1, 59, 60])
def test_the_echo_of_the_ring_is_the_watchdog_of_a_run_that_comes_in_its_minute(after: int) -> None:
    # Given a run that comes by a ring, when it claims
    claimed = rung(NOON, claimed_at=NOON + after * SECOND)
    # Then the rule need not be set: it rings again soon after the end of the lease
    assert claimed.is_settled(NOON + after * SECOND)
    assert claimed.rings_at == NOON + 4 * MINUTE
    assert claimed.target <= NOON + 4 * MINUTE <= claimed.target + 2 * MINUTE
    assert claimed.set_to == NOON


@pytest.mark.parametrize("after", [timedelta(0), MINUTE - timedelta(milliseconds=1)])
def test_the_first_echo_comes_soon_after_each_lease_that_begins_in_the_minute(after: timedelta) -> None:
    # The record knows no lease's length: a shorter or longer LEASE would cost each run a PutRule more
    began = NOON + after
    ends = began + LEASE
    assert ends <= echoes_of(NOON)[0] <= ends + ECHO_SOON
    assert rung(NOON, claimed_at=began, lease=LEASE).is_settled(began)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(rung(NOON, claimed_at=NOON + 121 * SECOND), id="the echo is before the lease's end"),
        pytest.param(rung(NOON, claimed_at=NOON, lease=119 * SECOND), id="the echo is long after it"),
        pytest.param(rung(NOON, claimed_at=NOON - SECOND), id="the ring is still to come"),
        pytest.param(rung(NOON + 56 * MINUTE, claimed_at=NOON + 56 * MINUTE), id="it has none in this hour"),
        pytest.param(free(NOON).claimed("run", now=NOON, until=NOON + 2 * MINUTE), id="the rule is unknown"),
        pytest.param(rung(NOON, claimed_at=NOON + 4 * MINUTE), id="it came by the echo"),
    ],
)
def test_no_other_echo_is_relied_on(record: ArmingRecord) -> None:
    assert (record.armed, record.rings_at, record.echo_of) == (None, None, None)


def test_what_comes_by_an_echo_that_was_a_watchdog_relies_on_no_further_one() -> None:
    # Given a run that died, with the rule's echo as its watchdog
    died = rung(NOON, claimed_at=NOON)
    # When another one comes by that echo, which itself has none four minutes later
    claimed = died.claimed("next", now=NOON + 4 * MINUTE, until=NOON + 6 * MINUTE)
    # Then the rule is to be set
    assert claimed.lanes_of("next") == (0, 1)
    assert not claimed.is_settled(NOON + 4 * MINUTE)


def test_the_echo_is_the_watchdog_of_a_renewed_lease_too_until_that_ends_after_it() -> None:
    claimed = rung(NOON, claimed_at=NOON)
    for minute in (1, 2):
        claimed = claimed.renewed("run", until=NOON + (2 + minute) * MINUTE)
        assert claimed.is_settled(NOON + minute * MINUTE)
        assert claimed.rings_at == NOON + 4 * MINUTE
    renewed = claimed.renewed("run", until=NOON + 5 * MINUTE)
    assert not renewed.is_settled(NOON + 3 * MINUTE)


def test_a_rule_that_is_set_has_no_echo_in_the_record() -> None:
    confirmed = (
        rung(NOON, claimed_at=NOON)
        .applying("me", until=HOLD_END)
        .confirmed("me", SOON, SOON, now=NOON, may_land_again=False)
    )
    assert (confirmed.armed, confirmed.rings_at, confirmed.echo_of) == (SOON, SOON, None)
    assert confirmed.set_to == SOON


def test_a_ring_that_is_still_to_come_has_no_echo_yet_however_long_the_lease() -> None:
    claimed = rung(NOON, claimed_at=NOON - SECOND, lease=150 * SECOND)
    assert (claimed.armed, claimed.rings_at) == (None, None)


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


def test_an_echo_is_no_ring_once_the_lanes_are_given_back() -> None:
    released = rung(NOON, claimed_at=NOON).released("run", {0: NEVER, 1: NEVER})
    assert not released.is_settled(NOON)


def test_a_lease_that_is_renewed_while_the_rule_is_being_set_has_no_echo() -> None:
    # Given a rule whose echo is a watchdog, and which a process is setting to another time
    held = rung(NOON, claimed_at=NOON).applying("me", until=HOLD_END)
    # When the lease is renewed meanwhile, then where the rule stands is unknown still
    renewed = held.renewed("run", until=NOON + 3 * MINUTE)
    assert (renewed.armed, renewed.rings_at) == (None, None)
