"""At the ends of the calendar, and in every zone: a schedule has a next time or none. Nothing overflows."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duebell_shared.errors import InvalidSchedule
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.schedules.zones import zone_names, zone_of
from tests.schedule.expressions import AWS, CLASSIC

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

_ENDS = tuple(
    map(
        datetime.fromisoformat,
        (
            "0001-01-01T00:00:00",
            "0001-01-01T13:59:59.999999",
            "1969-12-31T12:00:00",
            "1970-01-01T00:00:00",
            "2199-12-31T23:59:00",
            "2199-12-31T23:59:59.999999",
            "2200-01-01T00:00:00",
            "9999-12-31T10:00:00",
            "9999-12-31T23:59:59.999999",
        ),
    )
)
_NAMES = st.sampled_from(sorted(zone_names()))
_OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_ZONES: st.SearchStrategy[tzinfo] = st.one_of(_NAMES.map(zone_of), _OFFSETS)
_SHOWN = st.one_of(st.sampled_from(_ENDS), st.datetimes(), st.datetimes(_ENDS[3], _ENDS[4]))
_INSTANTS = st.builds(lambda shown, zone: shown.replace(tzinfo=zone), _SHOWN, _ZONES)
_RATES = st.builds(
    "rate({} {})".format, st.integers(0, 999_999_999), st.sampled_from(["minute", "minutes", "hours", "days"])
)
_ODD = st.text(alphabet="0123456789*,-/?LW#MONfri\u0131\u017f ()atecrn:TZ+.", max_size=30)
_EXPRESSIONS = st.one_of(
    AWS,
    CLASSIC,
    _RATES,
    _SHOWN.map(lambda shown: f"at({shown.isoformat()})"),
    _ODD,
    _ODD.map("cron({})".format),
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    expression=_EXPRESSIONS,
    zone=_NAMES,
    bounds=st.tuples(st.none() | _INSTANTS, st.none() | _INSTANTS),
    after=_INSTANTS,
    until=_INSTANTS,
)
def test_nothing_overflows(
    expression: str,
    zone: str,
    bounds: tuple[datetime | None, datetime | None],
    after: datetime,
    until: datetime,
) -> None:
    try:
        schedule = make_schedule(expression, timezone=zone, start=bounds[0], end=bounds[1], now=NOW)
    except InvalidSchedule:
        return
    schedule.describe()
    found = schedule.preview(20, after)
    assert found == sorted(set(found))
    passed = [instant for instant in found if instant <= until]
    assert all(after < instant for instant in found)
    assert schedule.latest(after, until, 1)[-1:] == passed[-1:] or len(passed) == 20
    count = schedule.count(after, until)
    assert count >= 20 if len(passed) == 20 else count == len(passed)


@pytest.mark.parametrize("expression", ["*/30 * * * *", "30 */2 * * *", "0 2/24 * * *", "30 2 * * *"])
def test_the_zone_that_an_instant_is_given_in_does_not_matter(expression: str) -> None:
    # Given instants around both changes of clocks, in UTC and as clocks in Berlin show them
    schedule = make_schedule(expression, timezone="Europe/Berlin", now=datetime(2026, 1, 1, tzinfo=UTC))
    for change in (datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)):
        for minutes in range(-1500, 300, 13):
            instant = change + timedelta(minutes=minutes)
            there = instant.astimezone(ZoneInfo("Europe/Berlin"))
            assert schedule.preview(2, there) == schedule.preview(2, instant)
