"""A slow, obviously right reading of cron: look at each minute, and ask of each field whether it matches.

It shares nothing with the code under test but the meaning of the fields, which it reads on its own.
"""

import calendar
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from duebell_shared.schedules.zones import zone_of

MINUTE = timedelta(minutes=1)
_NAMES = {
    "month": "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(),  # noqa: SIM905
    "day-of-week": "SUN MON TUE WED THU FRI SAT".split(),  # noqa: SIM905
}


def fires(expression: str, zone: str, after: datetime, until: datetime) -> list[datetime]:
    """Every instant strictly after the one and up to the other at which the expression fires."""
    fields = expression.removeprefix("cron(").removesuffix(")").upper().split()
    hour = fields[1]
    by_the_minute = "*" in hour or "/" in hour
    found = _shown(fields, zone, after, until) if by_the_minute else _once_a_day(fields, zone, after, until)
    return sorted({instant for instant in found if after < instant <= until})


def _shown(fields: list[str], zone: str, after: datetime, until: datetime) -> Iterator[datetime]:
    """Each minute that passes, if what the clock shows then matches."""
    instant = after.replace(second=0, microsecond=0)
    while instant <= until:
        if _matches(fields, instant.astimezone(zone_of(zone)).replace(tzinfo=None)):
            yield instant
        instant += MINUTE


def _once_a_day(fields: list[str], zone: str, after: datetime, until: datetime) -> Iterator[datetime]:
    """Each minute that a clock could show, if it matches, at the first instant that is not before it."""
    shown = after.astimezone(zone_of(zone)).replace(tzinfo=None, second=0, microsecond=0) - timedelta(days=2)
    last = until.astimezone(zone_of(zone)).replace(tzinfo=None) + timedelta(days=2)
    while shown <= last:
        if _matches(fields, shown):
            yield _first_instant_showing_at_least(shown, zone)
        shown += MINUTE


def _first_instant_showing_at_least(shown: datetime, zone: str) -> datetime:
    """Look hour by hour, and at last minute by minute, for a clock that has got there."""
    instant = shown.replace(tzinfo=UTC) - timedelta(hours=15)
    for step in (timedelta(hours=1), MINUTE):
        while (instant + step).astimezone(zone_of(zone)).replace(tzinfo=None) < shown:
            instant += step
    return instant + MINUTE


def _matches(fields: list[str], shown: datetime) -> bool:
    minute, hour, month_day, month, week_day = fields[:5]
    is_aws = len(fields) == 6
    if not (_in(minute, shown.minute, 0, 59) and _in(hour, shown.hour, 0, 23)):
        return False
    if not _in(month, shown.month, 1, 12, "month"):
        return False
    if is_aws:
        if not _in(fields[5], shown.year, 1970, 2199):
            return False
        return _aws_day(month_day, shown.date()) if week_day == "?" else _aws_weekday(week_day, shown.date())
    sunday_is_0 = shown.isoweekday() % 7
    by_month = _in(month_day, shown.day, 1, 31)
    by_week = _in(week_day, sunday_is_0, 0, 7, "day-of-week") or (
        sunday_is_0 == 0 and _in(week_day, 7, 0, 7, "day-of-week")
    )
    if month_day.startswith("*") or week_day.startswith("*"):
        return by_month and by_week
    return by_month or by_week


def _aws_day(text: str, day: date) -> bool:
    return any(_aws_day_part(part, day) for part in text.split(","))


def _aws_day_part(part: str, day: date) -> bool:
    last = calendar.monthrange(day.year, day.month)[1]
    if part == "L":
        return day.day == last
    if part == "LW":
        return day == max(one for one in _workdays(day))
    if part.startswith("L-"):
        return day.day == last - int(part[2:])
    if part.endswith("W"):
        number = int(part[:-1])
        if number > last:
            return False
        wanted = day.replace(day=number)
        return day == min(_workdays(day), key=lambda one: (abs((one - wanted).days), one))
    return _in(part, day.day, 1, 31)


def _workdays(month: date) -> list[date]:
    days = (
        month.replace(day=number) for number in range(1, calendar.monthrange(month.year, month.month)[1] + 1)
    )
    return [day for day in days if day.isoweekday() <= 5]


def _aws_weekday(text: str, day: date) -> bool:
    return any(_aws_weekday_part(part, day) for part in text.split(","))


def _aws_weekday_part(part: str, day: date) -> bool:
    sunday_is_1 = day.isoweekday() % 7 + 1
    if part == "L":
        return sunday_is_1 == 7
    if "#" in part:
        wanted, count = part.split("#")
        return _number(wanted, "day-of-week", 1) == sunday_is_1 and (day.day - 1) // 7 + 1 == int(count)
    if part.endswith("L"):
        in_a_week = day + timedelta(days=7)
        return _number(part[:-1], "day-of-week", 1) == sunday_is_1 and in_a_week.month != day.month
    return _in(part, sunday_is_1, 1, 7, "day-of-week", first_name=1)


def _in(
    text: str, value: int, least: int, most: int, names: str = "", *, first_name: int | None = None
) -> bool:
    """Whether a field of lists, ranges and steps holds the value."""
    first = (1 if names == "month" else 0) if first_name is None else first_name
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span in {"*", "?"}:
            begin, end = least, most
        elif "-" in span:
            begin, end = (_number(one, names, first) for one in span.split("-"))
        else:
            begin = _number(span, names, first)
            end = most if step else begin
        if begin <= value <= end and (value - begin) % int(step or 1) == 0:
            return True
    return False


def _number(text: str, names: str, first: int) -> int:
    return int(text) if text.isdecimal() else _NAMES[names].index(text) + first
