"""An invalid schedule is refused at once with its field, the reason, and a valid form."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duebell_shared.errors import InvalidSchedule, InvalidTask
from duebell_shared.schedules.schedule import MAX_EXPRESSION, Schedule, make_schedule

NOW, YEAR_2028 = datetime(2026, 11, 21, 12, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"

BAD_EXPRESSIONS = {
    "": "'' is no schedule: give rate(5 minutes), AWS's cron(0 9 ? * MON-FRI *), five fields",
    "tomorrow": "'tomorrow' is no schedule",
    "cron(0 9 * * *)": "cron(…) needs six fields, minute hour day-of-month month day-of-week year, not 5",
    "cron(0 9 * * * *)": "exactly one of day-of-month (*) and day-of-week (*) must be ?",
    "cron(60 9 * * ? *)": "minute '60': 60 is not within 0 to 59",
    "cron(0 9 32 * ? *)": "day-of-month '32': 32 is not within 1 to 31",
    "cron(0 9 * * ? 2200)": "year '2200': 2200 is not within 1970 to 2199",
    "0 9 * * 8": "day-of-week '8': 8 is not within 0 to 7",
    "cron(0 9 * MAI ? *)": "month 'MAI': 'MAI' is not a number from 1 to 12 or JAN/FEB/",
    "cron(-5 9 * * ? *)": "minute '-5': '' is not a number from 0 to 59",
    "cron(0 22-2 * * ? *)": "hour '22-2': a range goes upwards: write 22-23,0-2",
    "cron(0 9 ? * FRI-MON *)": "day-of-week 'FRI-MON': a range goes upwards: write FRI-7,1-MON",
    "0 9 * * FR\u0131": "day-of-week 'FR\u0131': 'FR\u0131' is not a number from 0 to 7 or SUN/MON/",
    "rate(5 minute\u017f)": "write rate(1 hour) or rate(5 minutes)",
    "cron(*/0 9 * * ? *)": "minute '*/0': a step of 0 never gets on",
    "*/x 9 * * *": "minute '*/X': after / comes how many to go on by, a number",
    "? 9 * * *": "minute '?': ? is AWS's",
    "0 1W * * *": "hour '1W': W is AWS's",
    "0 9 * L *": "month 'L': L is AWS's",
    "0 9 * * 1#2": "day-of-week '1#2': # is AWS's",
    "cron(1,,2 9 * * ? *)": "minute '1,,2': a list has values between its commas",
    "cron(0 9 L-0 * ? *)": "day-of-month 'L-0': after L- comes a number of days, 1 to 30",
    "cron(0 9 ? * 2#6 *)": "day-of-week '2#6': after # comes which one of the month, 1 to 5",
    "0 9 L * *": "day-of-month 'L': L is AWS's: write cron(…) with six fields",
    "cron(0 0 31 2 ? *)": "cron(0 0 31 2 ? *) in UTC never comes before the year 2200",
    "cron(0 0 1 1 ? 2020)": "never comes before the year 2200, counted from 2026-11-21 12:00:00+00:00",
    "rate(0 minutes)": "up to 230 years",
    "rate(1 minutes)": "write rate(1 hour) or rate(5 minutes)",
    "cron(0 9 L-\u0665 * ? *)": "after L- comes a number of days",
    "rate(5 minute)": "write rate(1 hour) or rate(5 minutes)",
    "rate(30 seconds)": "'rate(30 seconds)': write rate(1 hour) or rate(5 minutes): some",
    "rate(9999999 days)": "up to 230 years",
    "at(2026-02-30T09:00:00)": "at(…): '2026-02-30T09:00:00' is no date and time such as",
    "at(2027-01-01T00:00:00Z)": "leave the offset out, and give the time zone beside it",
    "at(2020-01-01T00:00:00)": "never comes before the year 2200, counted from 2026-11-21",
    "at(1969-12-31T23:59:59)": "at(1969-12-31T23:59:59) is not within 1970 to 2199",
    "at(2300-01-01T00:00:00)": "is not within 1970 to 2199",
    "at(2199-12-31T23:59:30)": "at(2199-12-31T23:59:30) in UTC never comes before the year 2200",
}


@pytest.mark.parametrize(("expression", "reason"), BAD_EXPRESSIONS.items())
def test_an_expression_that_cannot_be(expression: str, reason: str) -> None:
    with pytest.raises(InvalidSchedule) as raised:
        make_schedule(expression, now=NOW)
    assert raised.value.field == "schedule"
    assert reason in raised.value.reason
    assert isinstance(raised.value, InvalidTask)


@pytest.mark.parametrize(
    ("given", "field", "reason"),
    [
        ({"timezone": "Europe/Berln"}, "timezone", "is no IANA time zone; did you mean Europe/Berlin?"),
        ({"end": datetime(2027, 1, 1)}, "end", "must be a datetime with a time zone"),  # noqa: DTZ001
        ({"start": datetime(2027, 1, 1)}, "start", "must be a datetime with a time zone"),  # noqa: DTZ001
        ({"end": "tomorrow"}, "end", "must be a datetime with a time zone, not 'tomorrow'"),
        ({"end": NOW}, "end", "is before the first time, 2026-11-22 09:00:00+00:00"),
        ({"start": NOW + timedelta(5), "end": NOW + timedelta(4)}, "end", "is before the first time"),
        ({"expression": "cron(0 9 * * ? 2027)", "start": YEAR_2028}, "schedule", "counted from 2028-01-01"),
        ({"expression": "at(2199-12-31T20:00)", "timezone": "America/New_York"}, "schedule", "never comes"),
        # A time that clocks skip, and that follows the clock as time goes by
        ({"expression": "cron(30 2/24 28 3 ? 2027)", "timezone": BERLIN}, "schedule", "never comes"),
        ({"expression": None}, "schedule", "must be text, not NoneType"),
    ],
)
def test_what_else_cannot_be(given: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(InvalidSchedule) as raised:
        make_schedule(**{"expression": "0 9 * * *", **given}, now=NOW)
    assert raised.value.field == field
    assert reason in raised.value.reason


@pytest.mark.parametrize(
    "same", [" cron( 0  9 ? * mon-fri * ) ", "Cron(0 9 ? * 2-6 *)", "0 9 * * 1-5", "0 9 * * MON-FRI"]
)
def test_ways_to_write_the_same(same: str) -> None:
    schedule = make_schedule(same, now=NOW)
    assert schedule.preview(3, NOW) == [datetime(2026, 11, day, 9, tzinfo=UTC) for day in (23, 24, 25)]


def test_each_name_of_a_month_or_a_weekday_is_its_number() -> None:
    def found(expression: str) -> list[datetime]:
        return make_schedule(expression, now=NOW).preview(2, NOW)

    for n, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1):  # noqa: SIM905
        assert found(f"0 9 1 {name} *") == found(f"cron(0 9 1 {name} ? *)") == found(f"0 9 1 {n} *")
    for n, name in enumerate("sun mon tue wed thu fri sat".split()):  # noqa: SIM905
        assert found(f"0 9 * * {name}") == found(f"cron(0 9 ? * {name} *)") == found(f"0 9 * * {n}")


def test_an_expression_has_1_kb_at_most() -> None:
    longest = "cron(0" + ",0" * 503 + " 9 ? * * *)"
    assert len(longest) == MAX_EXPRESSION - 1
    assert make_schedule(longest, now=NOW).expression == longest
    for expression in (f"{longest}  ", " " * 1_025, "at(" * 500, "x" * 1_000_000):
        with pytest.raises(InvalidSchedule) as raised:
            make_schedule(expression, now=NOW)
        assert (raised.value.field, raised.value.reason) == (
            "schedule",
            f"must be at most 1,024 characters, not {len(expression):,}",
        )


@pytest.mark.parametrize(
    "expression",
    [
        "at(" + " " * 200_000,
        "rate(5" + " " * 200_000 + "minute",
        "cron(" + "(" * 200_000,
        ")" * 200_000,
        "A" * 200_000 + " 9 * * *",
    ],
    ids=range(5),
)
def test_an_expression_that_others_stored_is_read_in_time(expression: str) -> None:
    # Given what takes for ever to match when every blank is tried with every other
    with pytest.raises(InvalidSchedule) as raised:
        Schedule(expression=expression).check()
    assert len(str(raised.value)) < 400
