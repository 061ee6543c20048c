"""For random expressions, zones and instants: what fires is what a search minute by minute finds."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from duebell_shared.errors import InvalidSchedule
from duebell_shared.schedules.schedule import Schedule, make_schedule
from tests.schedule.expressions import AWS, CLASSIC, ZONES
from tests.schedule.oracle import fires

pytestmark = pytest.mark.slow

NOW = datetime(2026, 1, 1, tzinfo=UTC)

#: Days around which clocks are changed somewhere, and some others.
_DAYS = (
    datetime(2026, 3, 7, tzinfo=UTC),
    datetime(2026, 3, 28, tzinfo=UTC),
    datetime(2026, 4, 4, tzinfo=UTC),
    datetime(2026, 10, 3, tzinfo=UTC),
    datetime(2026, 10, 24, tzinfo=UTC),
    datetime(2026, 10, 31, tzinfo=UTC),
    datetime(2026, 12, 30, tzinfo=UTC),
    datetime(2027, 2, 27, tzinfo=UTC),
    datetime(2028, 2, 28, tzinfo=UTC),
)
_INSTANTS = st.tuples(st.sampled_from(_DAYS), st.integers(0, 3 * 86_400_000)).map(
    lambda given: given[0] + timedelta(milliseconds=given[1])
)
_EXPRESSIONS = st.one_of(AWS, CLASSIC)


def schedule_of(expression: str, zone: str) -> Schedule:
    try:
        return make_schedule(expression, timezone=zone, now=NOW)
    except InvalidSchedule:
        assume(False)
        raise


@settings(max_examples=50, deadline=None, derandomize=True)
@given(expression=_EXPRESSIONS, zone=st.sampled_from(ZONES), after=_INSTANTS)
def test_nothing_between_is_skipped(expression: str, zone: str, after: datetime) -> None:
    schedule = schedule_of(expression, zone)
    until = after + timedelta(hours=40)
    found = []
    instant = schedule.next_after(after)
    while instant is not None and instant <= until:
        found.append(instant)
        instant = schedule.next_after(instant)
    assert found == fires(expression, zone, after, until)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    expression=st.one_of(_EXPRESSIONS, st.sampled_from(["rate(1 minute)", "rate(7 hours)", "rate(2 days)"])),
    zone=st.sampled_from(ZONES),
    after=_INSTANTS,
    hours=st.integers(0, 200),
    n=st.integers(1, 5),
)
def test_the_latest_are_the_end_of_all(
    expression: str, zone: str, after: datetime, hours: int, n: int
) -> None:
    schedule = schedule_of(expression, zone)
    until = after + timedelta(hours=hours)
    every: list[datetime] = []
    instant = schedule.next_after(after)
    while instant is not None and instant <= until and len(every) < 20_000:
        every.append(instant)
        instant = schedule.next_after(instant)
    assert schedule.latest(after, until, n) == every[-n:]
    assert schedule.count(after, until) == len(every)
    assert schedule.preview(3, after)[: len(every)] == every[:3]
