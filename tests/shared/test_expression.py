"""The rule's expression: it rings first at the minute, then in echoes until someone sets it anew."""

import itertools
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duebell_shared.bell.arming import GRACE
from duebell_shared.bell.expression import SENTINEL, expression_at, is_set_for, minute_of
from duebell_shared.bell.ring_times import LEAD
from duebell_shared.instants import LATEST, ceil_to_minute
from duebell_shared.schedules.cron import parse_aws
from duebell_shared.schedules.wall_clock import next_match

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def at(text: str) -> datetime:
    """The UTC minute that is written so."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def rings(expression: str, after: datetime) -> Iterator[datetime]:
    """The minutes that the expression rings in, strictly after this, as cron expressions are understood."""
    cron = parse_aws(expression.removeprefix("cron(").removesuffix(")"))
    while ring := next_match(cron, ZoneInfo("UTC"), after):
        yield ring
        after = ring


@pytest.mark.parametrize(
    ("minute", "now", "expression"),
    [
        ("2026-12-05 10:30", "2026-11-21 12:00", "cron(30,34,42,57 10-23 5-31 12 ? 2026)"),
        ("2026-12-05 10:53", "2026-11-21 12:00", "cron(53,57 10-23 5-31 12 ? 2026)"),
        ("2026-12-05 10:58", "2026-11-21 12:00", "cron(58 10-23 5-31 12 ? 2026)"),
        ("2026-12-05 23:58", "2026-11-21 12:00", "cron(58 23 5-31 12 ? 2026)"),
        ("2028-02-28 00:00", "2028-02-01 00:00", "cron(0,4,12,27 0-23 28-29 2 ? 2028)"),
        # The last day of a month, in an earlier month: for nothing the day before, which sets it anew
        ("2026-12-31 00:00", "2026-11-21 12:00", "cron(0,4,12,27 0-23 30,31 12 ? 2026)"),
        ("2026-04-30 23:58", "2026-03-31 12:00", "cron(58 23 29,30 4 ? 2026)"),
        ("2026-04-30 23:58", "2026-04-01 12:00", "cron(58 23 29,30 4 ? 2026)"),
        # and in its own month, when the first has passed: the next day's too
        ("2026-04-30 23:58", "2026-04-29 23:58", "cron(58 23 1,30 4,5 ? 2026)"),
        ("2026-12-31 23:30", "2026-12-02 00:00", "cron(30,34,42,57 23 1,31 1,12 ? 2026,2027)"),
        # The last day of all has no next one
        ("2199-12-31 23:59", "2199-12-31 23:00", "cron(59 23 31 12 ? 2199)"),
        ("2199-12-31 23:59", "2026-11-21 12:00", "cron(59 23 31 12 ? 2199)"),
    ],
)
def test_expressions(minute: str, now: str, expression: str) -> None:
    assert expression_at(at(minute), now=at(now)) == expression
    assert minute_of(expression) == at(minute)


def test_the_sentinel_never_comes() -> None:
    assert expression_at(None) == SENTINEL == "cron(0 0 1 1 ? 1970)"
    assert minute_of(SENTINEL) is None
    assert is_set_for(SENTINEL, None)
    assert not is_set_for(SENTINEL, at("1970-01-01 00:00"))


def test_an_early_minute_rings_too_and_is_not_what_the_rule_is_set_for() -> None:
    minute = at("2026-12-05 10:30")
    expression = expression_at(minute, early=minute - MINUTE)
    assert expression == "cron(29,30,34,42,57 10-23 5-31 12 ? 2026)"
    assert minute_of(expression) == minute
    assert is_set_for(expression, minute)
    assert not is_set_for(expression, minute - MINUTE)
    assert not is_set_for(expression, None)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "rate(1 minute)",
        "cron(0/5 * * * ? *)",
        "cron(5 9 ? * MON 2026)",
        "cron(5 9 31 2 ? 2026)",
        "cron(30 10 5 12 ? 2026)",
        "cron(30,34,42,57 10-23 5-30 12 ? 2026)",
        "cron()",
    ],
)
def test_an_expression_that_is_not_ours_has_no_minute(expression: str) -> None:
    assert minute_of(expression) is None


_MINUTES = st.datetimes(
    min_value=datetime(2026, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    max_value=LATEST.replace(tzinfo=None),
    timezones=st.just(UTC),
).map(lambda instant: min(ceil_to_minute(instant), LATEST))
_MONTH_ENDS = _MINUTES.map(lambda minute: minute.replace(day=monthrange(minute.year, minute.month)[1]))
_AHEAD = st.one_of(st.timedeltas(LEAD, DAY), st.timedeltas(LEAD, 100 * DAY), st.timedeltas(LEAD, 800 * DAY))


@given(minute=_MINUTES | _MONTH_ENDS, ahead=_AHEAD)
def test_it_rings_at_its_minute_and_before_it_at_most_once(minute: datetime, ahead: timedelta) -> None:
    # Given a rule that was set at some time before its minute
    now = minute - ahead
    expression = expression_at(minute, now=now)
    # Then it rings then
    before = list(itertools.takewhile(lambda ring: ring < minute, rings(expression, now)))
    assert next(rings(expression, minute - MINUTE)) == minute
    assert minute_of(expression) == minute
    assert is_set_for(expression, minute)
    # And for nothing only for the last day of a month, and the run of that ring sets it anew without
    assert not before or before[0] == minute - DAY
    set_then = expression_at(minute, now=minute - DAY)
    assert next(rings(set_then, minute - DAY)) == minute


@given(minute=_MINUTES | _MONTH_ENDS, ahead=_AHEAD)
@example(minute=at("2026-01-31 23:56"), ahead=30 * DAY)
@example(minute=at("2026-01-31 23:56"), ahead=31 * DAY)
@example(minute=at("2026-01-31 23:56"), ahead=29 * DAY)
def test_its_first_echo_comes_within_the_hour_or_at_the_end_of_a_day_a_day_later(
    minute: datetime, ahead: timedelta
) -> None:
    # Given the rule as it stands at its minute: a ring the day before has set it anew
    set_at = minute - ahead
    if next(rings(expression_at(minute, now=set_at), set_at)) < minute:
        set_at = minute - DAY
    echo = next(rings(expression_at(minute, now=set_at), minute), None)
    if minute + DAY > LATEST and minute.hour == 23:
        return  # the calendar of cron expressions ends
    assert echo
    # Late enough for a changed rule to have taken effect, and not taken for the ring itself
    assert echo - minute > GRACE
    late = minute.hour == 23 and minute.minute > 55
    assert echo - minute <= (DAY if late else HOUR)


@given(minute=_MINUTES, fault=st.timedeltas(timedelta(0), 12 * HOUR))
def test_it_rings_within_an_hour_after_a_fault_that_ends_on_the_same_day(
    minute: datetime, fault: timedelta
) -> None:
    ends = minute + fault
    ring = next(rings(expression_at(minute), ends), None)
    if ends.date() == minute.date() and ends.hour < 23:
        assert ring
        assert ring - ends <= HOUR
    elif minute + 2 * DAY < LATEST:
        # And otherwise when the same time of day comes again
        assert ring
        assert ring - ends <= DAY


def test_eventbridge_takes_it_as_lists_of_its_length() -> None:
    # https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html: 256 characters at most
    hours = (at("2026-01-01 00:01") + number * HOUR for number in range(2 * 8760))
    assert max(len(expression_at(hour, early=hour - MINUTE, now=hour)) for hour in hours) < 100
