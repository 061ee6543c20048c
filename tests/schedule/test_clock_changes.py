"""Tables of what happens when clocks are changed, a day is left out, a year ends, or the calendar does."""

from datetime import UTC, datetime, timedelta

import pytest

from duebell_shared.schedules.schedule import Schedule, make_schedule
from duebell_shared.schedules.zones import zone_of

NEW_YORK, BERLIN, LORD_HOWE = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"
SAO_PAULO, APIA, CASABLANCA = "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca"

#: schedule, zone, a local time to start after, and the local times that follow, with their offsets.
TABLE = [
    # Clocks go forward from 02:00 to 03:00: a fixed time in the gap runs at its end, once.
    ("cron(30 2 * * ? *)", BERLIN, "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
    # A wildcard or a step follows the clock as it goes: what the clock does not show does not run.
    ("*/30 * * * *", BERLIN, "2026-03-29T01:15", ["2026-03-29T01:30+01:00", "2026-03-29T03:00+02:00"]),
    ("0 */2 * * *", BERLIN, "2026-03-29T00:30", ["2026-03-29T04:00+02:00", "2026-03-29T06:00+02:00"]),
    # Clocks go back from 02:00 to 01:00 (03:00 to 02:00): a fixed time runs at the first of the two.
    ("30 1 * * *", NEW_YORK, "2026-10-31T12:00", ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
    # A wildcard or a step runs in both.
    ("30 * * * *", NEW_YORK, "2026-11-01T00:45", ["2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00"]),
    ("0 */2 * * *", BERLIN, "2026-10-25T00:30", ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00"]),
    # Lord Howe moves by half an hour only.
    ("15 2 * * *", LORD_HOWE, "2026-10-03T12:00", ["2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"]),
    ("45 * * * *", LORD_HOWE, "2026-04-05T01:00", ["2026-04-05T01:45+11:00", "2026-04-05T01:45+10:30"]),
    # Sao Paulo changed at midnight, until 2019.
    ("30 0 * * *", SAO_PAULO, "2018-11-03T12:00", ["2018-11-04T01:00-02:00", "2018-11-05T00:30-02:00"]),
    # Apia left out 30 December 2011: what was due on it runs when the 31st begins.
    ("cron(0 10 30 * ? *)", APIA, "2011-12-01T00:00", ["2011-12-31T00:00+14:00", "2012-01-30T10:00+14:00"]),
    ("cron(0 10 ? * FRI *)", APIA, "2011-12-24T00:00", ["2011-12-31T00:00+14:00", "2012-01-06T10:00+14:00"]),
    # Casablanca goes back for Ramadan and forward after it.
    ("30 2 * * *", CASABLANCA, "2026-02-14T12:00", ["2026-02-15T02:30+01:00", "2026-02-16T02:30+00:00"]),
    # Leap days and the ends of years.
    ("cron(0 0 29 2 ? *)", BERLIN, "2026-01-01T00:00", ["2028-02-29T00:00+01:00", "2032-02-29T00:00+01:00"]),
    ("0 0 29 2 *", "UTC", "2097-01-01T00:00", ["2104-02-29T00:00+00:00"]),
    ("cron(0 0 L 2 ? *)", "UTC", "2027-01-01T00:00", ["2027-02-28T00:00+00:00", "2028-02-29T00:00+00:00"]),
    # Days that are counted stay within their month.
    ("cron(0 9 1W 8 ? *)", "UTC", "2026-07-01T00:00", ["2026-08-03T09:00+00:00", "2027-08-02T09:00+00:00"]),
    ("cron(0 9 31W * ? *)", "UTC", "2027-01-01T00:00", ["2027-01-29T09:00+00:00", "2027-03-31T09:00+00:00"]),
    ("cron(0 9 L-30 * ? *)", "UTC", "2026-03-01T09:00", ["2026-05-01T09:00+00:00", "2026-07-01T09:00+00:00"]),
    ("cron(0 9 ? * 2#5 *)", "UTC", "2026-04-01T00:00", ["2026-06-29T09:00+00:00", "2026-08-31T09:00+00:00"]),
    ("* * * * *", BERLIN, "2026-12-31T23:58:30", ["2026-12-31T23:59+01:00", "2027-01-01T00:00+01:00"]),
]


@pytest.mark.parametrize(("expression", "zone", "after", "expected"), TABLE)
def test_what_follows(expression: str, zone: str, after: str, expected: list[str]) -> None:
    start = datetime.fromisoformat(after).replace(tzinfo=zone_of(zone)).astimezone(UTC)
    schedule = Schedule(expression=expression, timezone=zone)
    found = schedule.preview(len(expected), start)
    shown = [instant.astimezone(zone_of(zone)).isoformat(timespec="minutes") for instant in found]
    assert shown == expected


def test_the_first_year_and_the_last() -> None:
    first = Schedule(expression="cron(0 0 1 1 ? *)").next_after(datetime(1, 1, 1, tzinfo=UTC))
    assert first == datetime(1970, 1, 1, tzinfo=UTC)
    last = Schedule(expression="cron(59 23 31 12 ? 2199)")
    assert last.next_after(datetime(2026, 1, 1, tzinfo=UTC)) == datetime(2199, 12, 31, 23, 59, tzinfo=UTC)
    assert last.next_after(datetime(2199, 12, 31, 23, 59, tzinfo=UTC)) is None
    in_apia = Schedule(expression="0 0 1 1 *", timezone=APIA)
    assert in_apia.next_after(datetime(2199, 6, 1, tzinfo=UTC)) is None
    assert Schedule(expression="rate(1 day)").next_after(datetime(2199, 12, 31, 12, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("expression", "zone", "expected"),
    [
        ("cron(0 * 1 1 ? 2199)", BERLIN, "2199-01-01T00:00+01:00"),
        ("cron(0 */12 29 2 ? 2196)", NEW_YORK, "2196-02-29T00:00-05:00"),
        ("cron(0 */3 29 3 ? 2026)", BERLIN, "2026-03-29T00:00+01:00"),
        # The clock comes to 03:00 by being changed.
        ("cron(0 3-4/7 29 3 ? 2026)", BERLIN, "2026-03-29T03:00+02:00"),
    ],
)
def test_a_far_match_of_the_clock(expression: str, zone: str, expected: str) -> None:
    found = Schedule(expression=expression, timezone=zone).next_after(datetime(2025, 11, 21, tzinfo=UTC))
    assert found
    assert found.astimezone(zone_of(zone)).isoformat(timespec="minutes") == expected


def test_a_repeated_hour_just_before_a_far_match() -> None:
    # The clock shows 01:30 on 1 November once more; the next such date is a year away
    first = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    schedule = Schedule(expression="cron(30 1-1/2 1 11 ? *)", timezone=NEW_YORK)
    assert schedule.next_after(first) == first + timedelta(hours=1)
    assert schedule.next_after(first + timedelta(hours=1)) == datetime(2027, 11, 1, 5, 30, tzinfo=UTC)


# Rates.


def test_a_rate_is_counted_from_its_start_and_does_not_drift() -> None:
    now = datetime(2026, 3, 28, 12, 0, 7, 250_000, tzinfo=UTC)
    schedule = make_schedule("rate(90 minutes)", timezone=BERLIN, now=now)
    assert schedule.start == now
    # However late one asks, what follows is a whole number of steps from the start
    late = now + timedelta(days=400, minutes=17, seconds=3)
    found = schedule.next_after(late)
    assert found
    assert found > late
    assert (found - now) % timedelta(minutes=90) == timedelta(0)
    assert found - late < timedelta(minutes=90)


def test_a_rate_of_days_follows_elapsed_time() -> None:
    start = datetime(2026, 3, 28, 11, 0, tzinfo=UTC)
    schedule = make_schedule("rate(1 day)", timezone=BERLIN, start=start, now=start - timedelta(days=1))
    shown = [
        instant.astimezone(zone_of(BERLIN)).hour for instant in schedule.preview(3, start - timedelta(1))
    ]
    assert shown == [12, 13, 13]


def test_a_start_to_come_is_the_first_occurrence_of_a_rate() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    start = now + timedelta(days=3)
    schedule = make_schedule("rate(2 hours)", start=start, end=start + timedelta(hours=4), now=now)
    assert schedule.preview(9, now) == [start, start + timedelta(hours=2), start + timedelta(hours=4)]


# Start, end, and times to run once at.


@pytest.mark.parametrize(
    ("at", "zone", "expected"),
    [
        ("at(2026-12-31T09:00:00)", "Asia/Kolkata", "2026-12-31T03:30:00+00:00"),
        ("at(2026-12-31T09:00)", "UTC", "2026-12-31T09:00:00+00:00"),
        ("at(2026-12-31T09:00:30)", "UTC", "2026-12-31T09:00:30+00:00"),
        ("at(2026-03-29T02:30:00)", BERLIN, "2026-03-29T01:00:00+00:00"),
        ("at(2026-10-25T02:30:00)", BERLIN, "2026-10-25T00:30:00+00:00"),
        ("AT( 2026-12-31 )", "UTC", "2026-12-31T00:00:00+00:00"),
    ],
)
def test_a_time_to_run_at_once(at: str, zone: str, expected: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    schedule = make_schedule(at, timezone=zone, now=now)
    assert schedule.preview(5, now) == [datetime.fromisoformat(expected)]
