"""Schedules in words."""

from datetime import UTC, datetime, timedelta

import pytest

from duebell_shared.schedule import make_schedule

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

WORDS = {
    "cron(0 9 ? * MON-FRI *)": "every weekday at 09:00",
    "0 9 * * 1-5": "every weekday at 09:00",
    "cron(30 2 * * ? *)": "every day at 02:30",
    "cron(0 9,18 ? * SAT,SUN *)": "every Saturday and Sunday at 09:00 and 18:00",
    "0 9 * * 1,3": "every Monday and Wednesday at 09:00",
    "cron(0 8 L * ? *)": "on the last day of the month at 08:00",
    "cron(0 8 L-1 * ? *)": "the day before the last day of the month at 08:00",
    "cron(0 8 L-11 * ? *)": "11 days before the last day of the month at 08:00",
    "cron(0 8 L-3 * ? *)": "3 days before the last day of the month at 08:00",
    "cron(0 8 LW * ? *)": "on the last weekday of the month at 08:00",
    "cron(0 8 15W * ? *)": "on the weekday nearest to the 15th of the month at 08:00",
    "cron(0 8 1,2,23 * ? *)": "on the 1st, 2nd and 23rd of the month at 08:00",
    "cron(0 8 11,12,13 * ? *)": "on the 11th, 12th and 13th of the month at 08:00",
    "cron(0 8 ? * 2#1 *)": "on the first Monday of the month at 08:00",
    "cron(0 8 ? * FRIL *)": "on the last Friday of the month at 08:00",
    "cron(0 8 ? * L *)": "every Saturday at 08:00",
    "0 8 13 * 5": "on the 13th of the month and every Friday at 08:00",
    "0 8 */10 * 5": "on the 1st, 11th, 21st and 31st of the month if it is a Friday at 08:00",
    "* * * * *": "every minute",
    "*/5 * * * *": "every 5 minutes",
    "cron(0/15 * * * ? *)": "every 15 minutes",
    "15 * * * *": "every hour at :15",
    "*/45 * * * *": "every hour at :00 and :45",
    "*/60 * * * *": "every hour at :00",
    "*/25 9,17 * * *": "every day at 09:00, 09:25, 09:50, 17:00, 17:25 and 17:50",
    "*/25 9-11 * * *": "every day at :00, :25 and :50 from 09:00 to 11:59",
    "5,35 * * * 6": "every hour at :05 and :35, every Saturday",
    "0 */2 * * *": "every 2 hours at :00",
    "0 */5 * * *": "every day at 00:00, 05:00, 10:00, 15:00 and 20:00",
    "0 */24 * * *": "every day at 00:00",
    "*/10 9-17 * * 1-5": "every 10 minutes from 09:00 to 17:59, every weekday",
    "* 9,11 * * *": "every minute in the hours 09 and 11",
    "0,20,40 9-17 * * *": "every day at :00, :20 and :40 from 09:00 to 17:59",
    "cron(0 0 1 1,7 ? *)": "on the 1st of the month at 00:00 in January and July",
    "cron(0 0 1 1 ? 2027-2030)": "on the 1st of the month at 00:00 in January, 2027 to 2030",
    "cron(0 0 1 1 ? 2027,2030)": "on the 1st of the month at 00:00 in January, 2027 and 2030",
}


@pytest.mark.parametrize(("expression", "words"), WORDS.items())
def test_words(expression: str, words: str) -> None:
    assert (
        make_schedule(expression, timezone="Europe/Berlin", now=NOW).describe() == f"{words}, Europe/Berlin"
    )


def test_words_of_rates_and_times() -> None:
    assert make_schedule("rate(1 day)", now=NOW).describe() == "every day, counted from 2026-11-21 12:00 UTC"
    assert make_schedule("rate(5 minutes)", now=NOW).describe().startswith("every 5 minutes, counted from")
    once = make_schedule("at(2026-12-31T09:00:00)", timezone="Asia/Kolkata", now=NOW)
    assert once.describe() == "once, on 2026-12-31 at 09:00:00, Asia/Kolkata"
    assert make_schedule("at( 20261231T0900 )", now=NOW).describe() == "once, on 2026-12-31 at 09:00:00, UTC"
    assert make_schedule("at(2026-12-31)", now=NOW).describe() == "once, on 2026-12-31 at 00:00:00, UTC"


def test_words_of_a_start_and_an_end() -> None:
    schedule = make_schedule("0 9 * * *", start=NOW + timedelta(days=1), end=NOW + timedelta(days=9), now=NOW)
    assert schedule.describe() == (
        "every day at 09:00, UTC, from 2026-11-22 12:00 UTC, until 2026-11-30 12:00 UTC"
    )
