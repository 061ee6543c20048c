"""Schedules in words."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duebell_shared.schedules.cron import parse_aws, parse_classic
from duebell_shared.schedules.schedule import Schedule, make_schedule
from tests.schedule.expressions import AWS, CLASSIC

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

WORDS = {
    "cron(0 9 ? * MON-FRI *)": "every weekday at 09:00",
    "0 9 * * 1-5": "every weekday at 09:00",
    "cron(0 9,18 ? * SAT,SUN *)": "every Saturday and Sunday at 09:00 and 18:00",
    "cron(0 8 L * ? *)": "on the last day of the month at 08:00",
    "cron(0 8 LW * ? *)": "by cron(0 8 LW * ? *)",
    "cron(0 8 1,2,23 * ? *)": "on the 1st, 2nd and 23rd of the month at 08:00",
    "cron(0 8 11,12,13 * ? *)": "on the 11th to 13th of the month at 08:00",
    "cron(0 8 ? * L *)": "every Saturday at 08:00",
    "0 8 13 * 5": "by 0 8 13 * 5",
    "* * * * *": "every minute",
    "*/5 * * * *": "every 5 minutes",
    "15 * * * *": "every hour at :15",
    "*/45 * * * *": "every hour at :00 and :45",
    "1-59/2 * * * *": "by 1-59/2 * * * *",
    "cron(0 0 1 1,7 ? *)": "on the 1st of January and July at 00:00",
    "*/25 9,17 * * *": "every day at 09:00, 09:25, 09:50, 17:00, 17:25 and 17:50",
    "*/25 9-11 * * *": "by */25 9-11 * * *",
    "0 */2 * * *": "every 2 hours from 00:00 to 22:00",
    "*/10 9-17 * * 1-5": "every 10 minutes from 09:00 to 17:50, on weekdays",
    "* 9-17 * * *": "every minute from 09:00 to 17:59",
    "0,30 * * * *": "every 30 minutes",
    "0 9 * * 1-4": "Monday to Thursday at 09:00",
    "0 9 * * 5-7,1": "every Monday and Friday to Sunday at 09:00",
    "0 9 * 3-9 1": "every Monday from March to September at 09:00",
    "*/5 9-17 * 11,12,1,2 1-5": (
        "every 5 minutes from 09:00 to 17:55, on weekdays in January, February, November and December"
    ),
    "cron(0 8 ? * 2#1,6L *)": "on the first Monday and on the last Friday of the month at 08:00",
    "cron(0 8 ? * MON,2#2 *)": "by cron(0 8 ? * MON,2#2 *)",
    "cron(0 8 ? * MON,6L *)": "by cron(0 8 ? * MON,6L *)",
    "cron(0 8 1 * ? 2027)": "by cron(0 8 1 * ? 2027)",
    "cron(0 8 1 3-5 ? *)": "on the 1st of the month from March to May at 08:00",
    "cron(0 8 1 3-5,8 ? *)": "by cron(0 8 1 3-5,8 ? *)",
    "0 8 * 3,4 *": "every day in March and April at 08:00",
    "*/5 * * 8 *": "every 5 minutes, in August",
    "*/5 * * * 1-4": "every 5 minutes, on Mondays to Thursdays",
    "0 1-7 * * *": "every hour from 01:00 to 07:00",
    "0 0-6,20 * * *": "by 0 0-6,20 * * *",
    "*/5 */2 * * *": "by */5 */2 * * *",
    "*/5 9 * * *": "every 5 minutes from 09:00 to 09:55",
    "1-59/2 9-17 * * *": "every 2 minutes from 09:01 to 17:59",
    "0-5 * * * *": "every hour at :00, :01, :02, :03, :04 and :05",
    "0-6 * * * *": "by 0-6 * * * *",
    "0 0 1,3,5,7,9,11 * *": "on the 1st, 3rd, 5th, 7th, 9th and 11th of the month at 00:00",
    "0 0 1,3,5,7,9,11,13 * *": "by 0 0 1,3,5,7,9,11,13 * *",
}


#: The days of these years tell two rules apart, leap years and all.
YEARS = range(2024, 2029)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.one_of(AWS, CLASSIC))
def _collect(expression: str) -> None:
    is_aws = expression.startswith("cron(")
    cron = parse_aws(expression[5:-1]) if is_aws else parse_classic(expression)
    days = tuple(tuple(cron.days_of(year, month)) for year in YEARS for month in range(1, 13))
    words = Schedule(expression=expression).describe()
    assert FOUND.setdefault(words, (cron.minutes, days)) == (cron.minutes, days), expression
    assert words.startswith("by ") or not re.search(r"\bif\b|  |,,|, ,|\band and\b|None|\(", words)


FOUND: dict[str, tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]] = {}


def test_two_schedules_with_the_same_words_mean_the_same() -> None:
    FOUND.clear()
    _collect()
    assert len(FOUND) > 80


@pytest.mark.parametrize(("expression", "words"), WORDS.items())
def test_words(expression: str, words: str) -> None:
    assert (
        make_schedule(expression, timezone="Europe/Berlin", now=NOW).describe() == f"{words}, Europe/Berlin"
    )


def test_words_name_each_day_and_month() -> None:
    def words(expression: str, of: int) -> str:
        days = (make_schedule(expression.format(n), now=NOW).describe() for n in range(1, of + 1))
        return " ".join(re.sub(r"^every (day in )?|^on the | of .*| at .*", "", day) for day in days)

    assert words("0 9 * * {}", 7) == "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
    nths = words("cron(0 8 ? * 5#{} *)", 5).replace("Thursday ", "")
    assert nths == "first second third fourth fifth Thursday"
    assert words("0 0 {} * *", 31) == (
        "1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th 11th 12th 13th 14th 15th 16th 17th 18th 19th 20th 21st "
        "22nd 23rd 24th 25th 26th 27th 28th 29th 30th 31st"
    )
    assert words("0 0 * {} *", 12) == (
        "January February March April May June July August September October November December"
    )


def test_words_of_rates_and_times() -> None:
    assert make_schedule("rate(1 day)", now=NOW).describe() == "every day, counted from 2026-11-21 12:00 UTC"
    assert make_schedule("rate(5 minutes)", now=NOW).describe().startswith("every 5 minutes, counted from")
    once = make_schedule("at(2026-12-31T09:00:00)", timezone="Asia/Kolkata", now=NOW)
    assert once.describe() == "once, on 2026-12-31 at 09:00, Asia/Kolkata"
    assert make_schedule("at( 20261231T0900 )", now=NOW).describe() == "once, on 2026-12-31 at 09:00, UTC"
    assert make_schedule("at(2026-12-31)", now=NOW).describe() == "once, on 2026-12-31 at 00:00, UTC"
    seconds = make_schedule("at(2026-12-31T09:00:05.25)", now=NOW)
    assert seconds.describe() == "once, on 2026-12-31 at 09:00:05, UTC"


def test_words_of_a_start_and_an_end() -> None:
    schedule = make_schedule("0 9 * * *", start=NOW + timedelta(days=1), end=NOW + timedelta(days=9), now=NOW)
    assert schedule.describe() == (
        "every day at 09:00, UTC, from 2026-11-22 12:00 UTC, until 2026-11-30 12:00 UTC"
    )
