"""Schedules in words, for people. The common shapes read as one would say them."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from .cron import Cron, Days, parse_aws, parse_classic

if TYPE_CHECKING:
    from .schedule import Schedule

__all__ = ["words_for"]

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
_WEEKDAYS, _WEEKEND = frozenset(range(5)), frozenset({5, 6})

#: Times of day beyond these are not listed one by one.
_MOST_TIMES = 6


def words_for(schedule: "Schedule") -> str:
    """The schedule in words: `every weekday at 09:00, Europe/Berlin`."""
    text = schedule.expression
    if text.lower().startswith("rate"):
        words = _every(*text[5:-1].split())
        if schedule.start:
            words += f", counted from {_moment(schedule.start)}"
    elif text.lower().startswith("at"):
        at = datetime.fromisoformat(text[3:-1].strip())
        words = f"once, on {at.date()} at {at.time()}, {schedule.timezone}"
    else:
        is_aws = text.lower().startswith("cron(")
        cron = parse_aws(text[5:-1]) if is_aws else parse_classic(text)
        words = f"{_cron_words(cron)}, {schedule.timezone}"
        if schedule.start:
            words += f", from {_moment(schedule.start)}"
    return f"{words}, until {_moment(schedule.end)}" if schedule.end else words


def _cron_words(cron: Cron) -> str:
    days, time = _days(cron), _time(cron)
    if time.startswith("every") and days == "every day":
        words = time
    elif time.startswith("every"):
        words = f"{time}, {days}"
    else:
        words = f"{days} {time}"
    return words + _months(cron) + _years(cron)


def _time(cron: Cron) -> str:  # noqa: PLR0911 (one for each shape)
    minute, hour = cron.fields[:2]
    if hour == "*":
        if minute == "*":
            return "every minute"
        if step := _even_step(minute, 60):
            return _every(step, "minutes")
        return f"every hour at {_and(f':{one % 60:02}' for one in cron.minutes if one < 60)}"  # noqa: PLR2004
    step = _even_step(hour, 24)
    if step and minute.isdecimal():
        return f"{_every(step, 'hours')} at :{int(minute):02}"
    if len(cron.minutes) <= _MOST_TIMES:
        return f"at {_and(f'{one // 60:02}:{one % 60:02}' for one in cron.minutes)}"
    hours = sorted({one // 60 for one in cron.minutes})
    within = f"from {hours[0]:02}:00 to {hours[-1]:02}:59"
    if hours != list(range(hours[0], hours[-1] + 1)):
        within = f"in the hours {_and(f'{one:02}' for one in hours)}"
    if minute == "*":
        return f"every minute {within}"
    if step := _even_step(minute, 60):
        return f"{_every(step, 'minutes')} {within}"
    return f"at {_and(f':{one:02}' for one in sorted({one % 60 for one in cron.minutes}))} {within}"


def _even_step(field: str, whole: int) -> str | None:
    """The step of a field that goes on evenly from one hour, or day, to the next; `*/45` does not."""
    step = re.fullmatch(r"(?:\*|0)/([0-9]+)", field)
    return step[1] if step and int(step[1]) < whole and whole % int(step[1]) == 0 else None


def _days(cron: Cron) -> str:
    by_month = None if cron.month_days is None else _month_days(cron.month_days)
    by_week = None if cron.week_days is None else _week_days(cron.week_days)
    if by_month and by_week:
        return f"{by_month} and {by_week}" if cron.either else f"{by_month} if it is {_bare(by_week)}"
    return by_month or by_week or "every day"


def _month_days(days: Days) -> str:
    parts = []
    if days.numbers:
        parts.append(f"on the {_and(_ordinal(day) for day in sorted(days.numbers))}")
    parts += [_before_the_last(back) for back in sorted(days.from_end)]
    parts += [f"on the weekday nearest to the {_ordinal(day)}" for day in sorted(days.nearest)]
    if days.last_workday:
        parts.append("on the last weekday")
    return f"{_and(parts)} of the month"


def _before_the_last(back: int) -> str:
    if back == 0:
        return "on the last day"
    return "the day before the last day" if back == 1 else f"{back} days before the last day"


def _week_days(days: Days) -> str:
    parts = []
    if days.weekdays == _WEEKDAYS:
        parts.append("every weekday")
    elif days.weekdays == _WEEKEND:
        parts.append("every Saturday and Sunday")
    elif len(days.weekdays) == len(_DAYS):
        parts.append("every day")
    elif days.weekdays:
        parts.append(f"every {_and(_DAYS[day] for day in sorted(days.weekdays))}")
    parts += [f"on the {_ORDINALS[count]} {_DAYS[day]} of the month" for day, count in sorted(days.nth)]
    parts += [f"on the last {_DAYS[day]} of the month" for day in sorted(days.last)]
    return _and(parts)


def _bare(by_week: str) -> str:
    return by_week.replace("every weekday", "a weekday").replace("every ", "a ").replace(" and ", " or ")


def _months(cron: Cron) -> str:
    return (
        ""
        if len(cron.months) == len(_MONTHS)
        else f" in {_and(_MONTHS[one - 1] for one in sorted(cron.months))}"
    )


def _years(cron: Cron) -> str:
    if cron.years is None:
        return ""
    years = sorted(cron.years)
    if len(years) > 2 and years == list(range(years[0], years[-1] + 1)):  # noqa: PLR2004 (two are listed)
        return f", {years[0]} to {years[-1]}"
    return f", {_and(map(str, years))}"


def _every(number: str, unit: str) -> str:
    name = unit.lower().removesuffix("s")
    return f"every {name}" if int(number) == 1 else f"every {int(number)} {name}s"


def _and(parts: Iterable[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _ordinal(day: int) -> str:
    ending = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")  # noqa: PLR2004
    return f"{day}{ending}"


def _moment(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"
