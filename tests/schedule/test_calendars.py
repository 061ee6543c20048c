"""Schedules with a calendar: which occurrences come, and which are skipped or moved, and why."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from duebell import InvalidInput, InvalidSchedule
from duebell_shared.instants import to_json
from duebell_shared.schedules.calendars import MOST_BYTES, Calendar, Calendars
from duebell_shared.schedules.schedule import Holidays, Schedule, make_schedule
from duebell_shared.schedules.zones import zone_of

ZONE = zone_of("Europe/Berlin")

NOW = datetime(2026, 12, 20, tzinfo=UTC)

#: Christmas of 2026 is a Friday, and the Saturday after it is a holiday, too.
CALENDAR = Calendar(
    days={
        date(2026, 12, 25): "Christmas Day",
        date(2026, 12, 26): "Boxing Day",
        date(2027, 1, 1): "New Year",
        date(2027, 3, 29): "Easter Monday",
    },
    ends=date(2027, 12, 31),
)


def schedule(expression: str, holidays: str | None = None, **given: object) -> Schedule:
    how = Holidays(holidays) if holidays else None
    made = {
        "timezone": "Europe/Berlin",
        "calendar": "de",
        "calendars": lambda _: CALENDAR,
        "now": NOW,
        **given,
    }
    return make_schedule(expression, holidays=how, **made)  # type: ignore[arg-type]


def shown(of: Schedule, count: int, after: datetime = NOW) -> list[str]:
    return [f"{at.astimezone(ZONE):%m-%d %H:%M}" for at in of.preview(count, after)]


@pytest.mark.parametrize(
    ("expression", "holidays", "found"),
    [
        ("0 9 24-28 12 *", None, ["12-24 09:00", "12-27 09:00", "12-28 09:00"]),
        ("0 9 24-28 12 *", "skip", ["12-24 09:00", "12-27 09:00", "12-28 09:00"]),
        # Both fall on Monday, which has an occurrence of its own
        ("0 9 24-28 12 *", "next", ["12-24 09:00", "12-27 09:00", "12-28 09:00", "12-24 09:00"]),
        ("0 9 25 * *", "next", ["12-28 09:00", "01-25 09:00"]),
        ("0 9 25 * *", "previous", ["12-24 09:00", "01-25 09:00"]),
        ("0 9 1 * *", "previous", ["12-31 09:00", "02-01 09:00"]),
        # Two times of a day keep their order; on the day that they come to are others
        ("0 9,17 25,28 12 *", "next", ["12-28 09:00", "12-28 17:00", "12-25 09:00"]),
        ("30 8 28 12 *", "next", ["12-28 08:30", "12-28 08:30"]),
        ("rate(1 day)", "skip", None),
    ],
)
def test_occurrences_on_holidays(expression: str, holidays: str | None, found: list[str] | None) -> None:
    meant = schedule(expression, holidays)
    if found is None:
        assert all(at.astimezone(ZONE).date() not in CALENDAR.days for at in meant.preview(120, NOW))
    else:
        assert shown(meant, len(found)) == found


def test_a_schedule_tells_what_falls_on_holidays_and_why() -> None:
    until = datetime(2027, 1, 31, tzinfo=UTC)
    skipped = schedule("0 9 * * *").on_holidays(NOW, until, 10)
    assert [(f"{one.due:%m-%d}", one.holiday, one.moved_to) for one in skipped] == [
        ("12-25", "Christmas Day", None),
        ("12-26", "Boxing Day", None),
        ("01-01", "New Year", None),
    ]
    [moved] = schedule("0 9 25 12 *", "next").on_holidays(NOW, until, 10)
    assert moved.moved_to == datetime(2026, 12, 28, 8, tzinfo=UTC)
    assert schedule("0 9 25 12 *", "next").describe().endswith("on holidays the next working day (de)")
    # And none before the one instant, after the other, or beyond the number
    first, last = (one.due for one in (skipped[0], skipped[2]))
    assert schedule("0 9 * * *").on_holidays(first, last, 10) == skipped[1:]
    assert schedule("0 9 * * *").on_holidays(NOW, last - timedelta(minutes=1), 10) == skipped[:2]
    assert schedule("0 9 * * *").on_holidays(NOW, until, 1) == skipped[:1]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="needs a calendar, and none is given"):
        schedule("0 9 * * *", "next", calendar=None)
    # And one whose only occurrences fall on holidays
    with pytest.raises(InvalidSchedule, match="never comes before the year 2200"):
        schedule("at(2026-12-25T09:00:00)")
    begin, end = datetime(2026, 12, 25, tzinfo=ZONE), datetime(2026, 12, 26, tzinfo=ZONE)
    with pytest.raises(InvalidSchedule, match="never comes before 2026-12-25 23:00:00"):
        schedule("0 9 * * *", start=begin, end=end)


def calendars_with(name: str) -> Calendars:
    return Calendars().changed("de", replace(CALENDAR, days={CALENDAR.ends: name}))


#: Characters of a name by which the calendars have just as many bytes as they may.
MOST = MOST_BYTES - len(to_json(calendars_with("")).encode())


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (lambda: replace(CALENDAR, days={}), "calendar: has no holidays"),
        (lambda: replace(CALENDAR, weekend=(7,)), "weekend: must be days from 0 to 6, and not all, not (7,)"),
        (lambda: replace(CALENDAR, weekend=(*range(7),)), "not all, not (0, 1, 2, 3, 4, 5, 6)"),
        (lambda: Calendars().changed("de", {}), "calendar: must be a Calendar, not {}"),
        (lambda: Calendars().changed("", CALENDAR), "calendar: must be 1 to 256 characters, not 0"),
        (lambda: calendars_with("x" * (MOST + 1)), "makes all calendars 200,001 bytes: 200,000 is the most"),
    ],
)
def test_a_calendar_that_cannot_be_is_refused(make: Callable[[], object], refusal: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        make()
    assert str(raised.value).endswith(refusal)
    assert calendars_with("x" * MOST).calendars


def test_a_schedule_without_a_calendar_stores_nothing_of_it_and_one_that_does_not_know_it_goes_on() -> None:
    assert b"calendar" not in to_json(make_schedule("0 9 * * *", now=NOW)).encode()
    # One that is read, whose calendar was deleted
    lost = schedule("0 9 25 12 *", "next")
    lost.set_calendar(None)
    assert shown(lost, 1) == ["12-25 09:00"]


DAYS = [date(2026, 12, 20) + timedelta(days=day) for day in range(40)]


@settings(max_examples=60, deadline=None)
@given(
    holidays=st.sets(st.sampled_from(DAYS), min_size=1, max_size=20),
    how=st.sampled_from(Holidays),
    expression=st.sampled_from(["0 9 * * *", "0 9,17 * * MON-FRI", "30 2 */3 * *", "0 0 * * SUN"]),
    begin=st.integers(0, 30),
    length=st.integers(1, 300),
)
def test_counts_and_the_last_are_those_of_the_occurrences_one_by_one(
    holidays: set[date], how: Holidays, expression: str, begin: int, length: int
) -> None:
    calendar = Calendar(days=dict.fromkeys(holidays, "x"), ends=date(2027, 12, 31))
    meant = schedule(expression, how, calendars=lambda _: calendar)
    plain = [at.astimezone(ZONE) for at in meant.plain.preview(200, NOW - timedelta(days=70))]
    expected = set()
    for at in plain:
        if at.date() not in holidays:
            expected.add(at.astimezone(UTC))
        elif how is not Holidays.SKIP:
            to = datetime.combine(calendar.moved(at.date(), how), at.time(), ZONE)
            expected.add(to.astimezone(UTC))
    after = NOW + timedelta(days=begin)
    until = after + timedelta(hours=length)
    between = sorted(at for at in expected if after < at <= until)
    found = [at for at in meant.preview(len(between) + 1, after) if at <= until]
    assert found == between
    assert meant.count(after, until) == len(between)
    assert meant.latest(after, until, 3) == between[-3:]
