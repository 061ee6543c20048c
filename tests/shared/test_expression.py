"""The rule's expression: it rings first at the minute, then in echoes until someone sets it anew."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duebell_shared.bell.arming import GRACE
from duebell_shared.bell.expression import (
    FAR_SENTINEL,
    LEAD,
    SENTINEL,
    early_minute,
    expression_at,
    is_set_for,
    next_ring,
    ring_minute,
)
from duebell_shared.instants import LATEST, ceil_to_minute

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def at(text: str) -> datetime:
    """The UTC minute that is written so."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _list(first: int, last: int) -> str:
    return ",".join(map(str, range(first, last + 1)))


@pytest.mark.parametrize(
    ("minute", "now", "expression"),
    [
        # In the same hour, with the echoes of the hours to come, as far as they are over in this one
        ("2026-11-21 12:30", "2026-11-21 12:05", "cron(30,34,42,57 * * * ? 2026-2199)"),
        ("2026-11-21 12:58", "2026-11-21 12:55", "cron(2,10,25,58 * * * ? 2026-2199)"),
        ("2026-11-21 12:58", "2026-11-21 12:07", "cron(2,58 * * * ? 2026-2199)"),
        # On the same day
        (
            "2026-11-21 14:30",
            "2026-11-21 12:05",
            f"cron(30,34,42,57 {_list(0, 11)},{_list(14, 23)} * * ? 2026-2199)",
        ),
        ("2026-11-21 13:53", "2026-11-21 00:10", "cron(53,57 13-23 * * ? 2026-2199)"),
        # In the same month, also the first days of the next ones
        (
            "2026-11-23 10:30",
            "2026-11-21 12:00",
            f"cron(30,34,42,57 10-23 {_list(1, 20)},{_list(23, 31)} * ? 2026-2199)",
        ),
        (
            "2026-03-30 10:30",
            "2026-03-21 12:00",
            f"cron(30,34,42,57 10-23 {_list(1, 20)},30,31 * ? 2026-2199)",
        ),
        # In another month, year, or on the last day of a month
        (
            "2026-12-05 10:30",
            "2026-11-21 12:00",
            "cron(30,34,42,57 10-23 5-31 1,2,3,4,5,6,7,8,9,10,12 ? 2026-2199)",
        ),
        ("2026-12-05 10:30", "2026-01-21 12:00", "cron(30,34,42,57 10-23 5-31 11-12 ? 2026-2199)"),
        ("2027-02-28 12:00", "2026-03-01 00:00", "cron(0,4,12,27 12-23 27-31 * ? 2027-2199)"),
        ("2026-04-30 23:58", "2026-04-01 12:00", "cron(58 23 29-31 * ? 2026-2199)"),
        ("2199-12-31 23:59", "2199-12-31 23:00", "cron(59 * * * ? 2199)"),
    ],
)
def test_expressions(minute: str, now: str, expression: str) -> None:
    assert is_set_for(expression, at(minute))
    assert expression_at(at(minute), now=at(now)) == expression


def test_the_sentinels_never_come() -> None:
    for sentinel in (SENTINEL, FAR_SENTINEL):
        assert next_ring(sentinel, at("2026-01-01 00:00")) is None
        assert is_set_for(sentinel, None)
    assert not is_set_for(SENTINEL, at("1970-01-01 00:00"))
    assert not is_set_for(FAR_SENTINEL, at("2199-01-01 00:00"))


def test_an_early_minute_rings_too_and_is_not_what_the_rule_is_set_for() -> None:
    minute = at("2026-12-05 10:30")
    expression = expression_at(minute, early=minute - MINUTE, now=minute - 2 * MINUTE)
    assert expression == "cron(29,30,34,42,57 * * * ? 2026-2199)"
    assert is_set_for(expression, minute)
    assert not is_set_for(expression, minute - MINUTE)
    assert not is_set_for(expression, None)


@pytest.mark.parametrize(
    "expression", ["", "rate(1 minute)", "cron(0/5 * * * ? *)", "cron(5 9 ? * MON 2026)", "cron()"]
)
def test_an_expression_that_is_not_ours_is_set_for_no_minute(expression: str) -> None:
    ring = next_ring(expression, at("2026-11-21 12:00"))
    assert ring is None or not is_set_for(expression, ring)


_MINUTES = st.datetimes(
    min_value=datetime(2026, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    max_value=datetime(2190, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
).map(ceil_to_minute)
_MONTH_ENDS = _MINUTES.map(lambda minute: minute.replace(day=monthrange(minute.year, minute.month)[1]))
_AHEAD = st.one_of(*(st.timedeltas(LEAD, most) for most in (HOUR, DAY, 31 * DAY, 400 * DAY, 3000 * DAY)))

#: The longest time from the end of an outage to the next echo: after a month at most, and after longer ones.
HEALS_WITHIN, _HEALS_LATE = 59 * DAY, 366 * DAY


@given(minute=_MINUTES | _MONTH_ENDS, ahead=_AHEAD, outage=st.timedeltas(timedelta(0), 800 * DAY))
@example(minute=at("2026-03-30 10:30"), ahead=9 * DAY, outage=40 * HOUR)
@example(minute=at("2027-02-28 12:00"), ahead=350 * DAY, outage=36 * HOUR)
@example(minute=at("2026-12-31 23:58"), ahead=300 * DAY, outage=2 * DAY)
@example(minute=at("2026-04-30 23:58"), ahead=30 * DAY, outage=DAY)
@example(minute=at("2028-01-30 23:58"), ahead=29 * DAY, outage=DAY)
@example(minute=at("2026-11-28 00:00"), ahead=301 * DAY, outage=34 * DAY)
def test_nothing_rings_for_nothing_but_once_and_no_outage_is_final(
    minute: datetime, ahead: timedelta, outage: timedelta
) -> None:
    # Given a rule that is set at some time before its minute
    set_at = minute - ahead
    expression = expression_at(minute, now=set_at)
    assert len(expression) <= 119  # EventBridge takes 256 characters
    assert is_set_for(expression, minute)
    # When it rings early, for one of the three minutes that may, and that run sets it anew
    for _ in range(2):
        ring = next_ring(expression, set_at)
        assert ring is not None
        if ring != minute:
            assert ring < minute
            is_last_day = minute.day == monthrange(minute.year, minute.month)[1]
            assert is_last_day or set_at.month == 1 or minute.year > set_at.year
            set_at, expression = ring, expression_at(minute, now=ring)
    # Then it rings at its minute
    assert next_ring(expression, set_at) == minute
    # A single lost ring comes again within the hour, or a day later; late enough not to be taken for the ring
    echo = next_ring(expression, minute)
    assert echo is not None
    assert GRACE < echo - minute <= (DAY if minute.minute > 55 and minute.hour == 23 else 31 * DAY)
    assert echo - minute <= HOUR or minute.hour == 23
    # And no outage is final: it rings again, whenever the outage ends
    after = next_ring(expression, minute + outage)
    assert after is not None
    assert after - minute - outage <= (HEALS_WITHIN if outage <= 31 * DAY else _HEALS_LATE)


# The minute that a rule is set to: never before the target, never too near, never later than it must be.


def clock(time: str) -> datetime:
    """This time of one day, such as `10:05:30`."""
    return at(f"2026-11-21 {time}")


@pytest.mark.parametrize(
    ("target", "now", "early"),
    [
        ("10:01", "10:00:00.001", "10:01"),  # it rings at 10:02 to be safe
        ("09:00", "10:00:59", "10:01"),
        ("10:01:00.001", "10:00:30", None),  # at 10:01 it might not be due yet
        ("10:01", "10:00", None),  # it rings at 10:01 anyway
        ("09:00", "10:00", None),  # 10:00 may be over
        ("10:00", "10:58:30", None),  # it rings at 11:00, and 10:59 is of another hour
        ("12:00", "10:00", None),
    ],
)
def test_what_rings_late_to_be_safe_rings_before_as_well(target: str, now: str, early: str | None) -> None:
    minute = ring_minute(clock(target), clock(now))
    assert early_minute(minute, clock(target), clock(now)) == (early and clock(early))


_TIMES = st.datetimes(
    min_value=datetime(1990, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    max_value=LATEST.replace(tzinfo=None) - timedelta(hours=1),
    timezones=st.just(UTC),
)


@given(target=_TIMES, now=_TIMES)
def test_whatever_the_target_and_the_time(target: datetime, now: datetime) -> None:
    minute = ring_minute(target, now)
    assert minute is not None
    assert minute >= target
    assert minute >= now + LEAD
    assert (minute.second, minute.microsecond) == (0, 0)
    assert minute - max(target, now + LEAD) < MINUTE
    early = early_minute(minute, target, now)
    assert early is None or (target <= early > now and early == minute - MINUTE)
