"""Cron expressions: AWS's six fields and the classic five, checked strictly, as sets of matching values.

No library does all of it right. croniter 7.0 knows neither LW nor L-n, numbers weekdays differently, and
fires twice in a repeated hour. cronsim 2.8 knows no years, 15W or L-n. aws-croniter 2.1 takes 31 February.
The tests compare this module with all three, and with a search minute by minute.

AWS: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
LW and L-n are not AWS's, but Quartz's:
https://www.quartz-scheduler.org/documentation/quartz-2.3.0/tutorials/crontrigger.html
"""

import calendar
import re
import string
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec

from duebell_shared.errors import InvalidSchedule
from duebell_shared.quoting import quoted, shortened

FIRST_YEAR, LAST_YEAR = 1970, 2199

#: Not from `calendar`, whose names are in the process's language.
_MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

#: Not `str.upper`: it turns some other letters, such as the Turkish dotless i, into ASCII letters.
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)

_invalid = partial(InvalidSchedule, "schedule")


class Days(msgspec.Struct, frozen=True, kw_only=True):
    """The days of a month that one of the two day fields matches. Weekdays are 0 (Monday) to 6.

    numbers    days of the month
    from_end   days counted back from the last day, which is 0
    nearest    the weekday (Monday to Friday) nearest to these days, within the month
    last_workday   the last Monday to Friday of the month
    weekdays   every day of the month with one of these weekdays
    nth        the n-th such weekday of the month: (weekday, n)
    last       the last such weekday of the month
    """

    numbers: frozenset[int] = frozenset()
    from_end: frozenset[int] = frozenset()
    nearest: frozenset[int] = frozenset()
    last_workday: bool = False
    weekdays: frozenset[int] = frozenset()
    nth: frozenset[tuple[int, int]] = frozenset()
    last: frozenset[int] = frozenset()

    def of(self, year: int, month: int) -> set[int]:
        first, length = calendar.monthrange(year, month)
        days = {day for day in self.numbers if day <= length}
        days.update(length - back for back in self.from_end if back < length)
        days.update(_nearest_workday(day, first, length) for day in self.nearest if day <= length)
        if self.last_workday:
            days.add(_nearest_workday(length, first, length))
        for weekday in self.weekdays:
            days.update(range(1 + (weekday - first) % 7, length + 1, 7))
        for weekday, count in self.nth:
            day = 1 + (weekday - first) % 7 + 7 * (count - 1)
            if day <= length:
                days.add(day)
        days.update(length - (first + length - 1 - weekday) % 7 for weekday in self.last)
        return days


class Cron(msgspec.Struct, frozen=True, kw_only=True):
    """The times that an expression matches, in local time.

    minutes         of the day, in order: 0 to 1439
    month_days, week_days  the days that each of the two day fields matches; None if the field allows any day
    either          whether a match of one of the two is enough, if both restrict the day
    months, years   the months and years that match; None for all years
    by_the_minute   whether the hour is a wildcard or a step: then it follows elapsed time, not the day
    """

    minutes: tuple[int, ...]
    month_days: Days | None
    week_days: Days | None
    either: bool
    months: frozenset[int]
    years: frozenset[int] | None
    by_the_minute: bool

    def days_of(self, year: int, month: int) -> list[int]:
        """The days of this month that match, in order; none if the month or the year does not."""
        if month not in self.months or (self.years is not None and year not in self.years):
            return []
        given = [days.of(year, month) for days in (self.month_days, self.week_days) if days is not None]
        if not given:
            return list(range(1, calendar.monthrange(year, month)[1] + 1))
        return sorted(set.union(*given) if self.either else set.intersection(*given))


@lru_cache(maxsize=1024)
def parse_aws(text: str) -> Cron:
    """Parse the six fields inside AWS's `cron(…)`. Raises InvalidSchedule, naming the field."""
    fields = text.translate(_UPPER).split()
    if len(fields) != len(_AWS):
        raise _invalid(
            f"cron(…) needs six fields, minute hour day-of-month month day-of-week year, not {len(fields)}"
        )
    _, _, month_day, _, week_day, year = fields
    if (month_day == "?") == (week_day == "?"):
        raise _invalid(
            f"exactly one of day-of-month ({shortened(month_day)}) and day-of-week ({shortened(week_day)}) "
            "must be ?: AWS's cron takes the day from the other"
        )
    return _cron(
        fields,
        month_days=None if month_day in {"?", "*"} else _month_days(month_day),
        week_days=None if week_day in {"?", "*"} else _aws_week_days(week_day),
        years=None if year == "*" else _YEAR.set_of(year),
    )


@lru_cache(maxsize=1024)
def parse_classic(text: str) -> Cron:
    """Five fields in their classic meaning. Raises InvalidSchedule, naming the field."""
    fields = text.translate(_UPPER).split()
    if len(fields) != len(_CLASSIC):
        raise _invalid(
            f"{quoted(text)} is no schedule: give rate(5 minutes), AWS's cron(0 9 ? * MON-FRI *), five "
            "fields such as 0 9 * * 1-5, or at(2026-12-31T09:00:00)"
        )
    for name, field in zip(_CLASSIC, fields, strict=True):
        if odd := re.search(r"[?LW#]", re.sub(r"[A-Z]{3}", "", field)):
            raise _invalid(f"{name} {quoted(field)}: {odd.group()} is AWS's: write cron(…) with six fields")
    _, _, month_day, _, week_day = fields
    # If a day field begins with a star, both day fields must match. Else a match of one is enough.
    either = not month_day.startswith("*") and not week_day.startswith("*")
    weekdays = frozenset((number - 1) % 7 for number in _CLASSIC_WEEK_DAY.set_of(week_day))
    return _cron(
        fields,
        month_days=None if month_day == "*" else Days(numbers=_MONTH_DAY.set_of(month_day)),
        week_days=None if week_day == "*" else Days(weekdays=weekdays),
        either=either,
    )


def _cron(
    fields: list[str],
    *,
    month_days: Days | None,
    week_days: Days | None,
    either: bool = False,
    years: frozenset[int] | None = None,
) -> Cron:
    """The expression of these fields, whose days and years are parsed already."""
    minute, hour, _, month, *_ = fields
    minutes, hours = sorted(_MINUTE.set_of(minute)), sorted(_HOUR.set_of(hour))
    return Cron(
        minutes=tuple(60 * hour + minute for hour in hours for minute in minutes),
        month_days=month_days,
        week_days=week_days,
        either=either,
        months=_MONTH.set_of(month),
        years=years,
        by_the_minute="*" in hour or "/" in hour,
    )


class _Field(NamedTuple):
    """A field of numbers: lists of values, ranges and steps."""

    name: str
    least: int
    most: int
    names: dict[str, int]

    def set_of(self, text: str) -> frozenset[int]:
        """The numbers that the text means. Raises InvalidSchedule."""
        return frozenset(number for part in self.parts(text) for number in self.numbers(part))

    def parts(self, text: str) -> list[str]:
        parts = text.split(",")
        if not all(parts):
            raise self.wrong(text, "a list has values between its commas")
        return parts

    def numbers(self, part: str) -> range:
        span, slash, step = part.partition("/")
        if slash and not re.fullmatch(r"[0-9]{1,4}", step):
            raise self.wrong(part, "after / comes how many to go on by, a number")
        by = int(step) if slash else 1
        if by == 0:
            raise self.wrong(part, "a step of 0 never gets on: give 1 or more")
        if span == "*":
            return range(self.least, self.most + 1, by)
        first, dash, last = span.partition("-")
        begin = self.number(first, part)
        end = self.number(last, part) if dash else self.most if slash else begin
        if begin > end:
            upwards = f"write {first}-{self.most},{self.least}-{last}"
            raise self.wrong(part, f"a range goes upwards: {'list the values' if slash else upwards}")
        return range(begin, end + 1, by)

    def number(self, text: str, part: str) -> int:
        if text in self.names:
            return self.names[text]
        if not re.fullmatch(r"[0-9]{1,4}", text):
            named = f" or {'/'.join(self.names)}" if self.names else ""
            raise self.wrong(part, f"{quoted(text)} is not a number from {self.least} to {self.most}{named}")
        if not self.least <= int(text) <= self.most:
            raise self.wrong(part, f"{text} is not within {self.least} to {self.most}")
        return int(text)

    def wrong(self, part: str, why: str) -> InvalidSchedule:
        return _invalid(f"{self.name} {quoted(part)}: {why}")


_MINUTE = _Field("minute", 0, 59, {})
_HOUR = _Field("hour", 0, 23, {})
_MONTH_DAY = _Field("day-of-month", 1, 31, {})
_MONTH = _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTH_NAMES, 1)})
_AWS_WEEK_DAY = _Field("day-of-week", 1, 7, {name: number for number, name in enumerate(_DAY_NAMES, 1)})
_CLASSIC_WEEK_DAY = _Field("day-of-week", 0, 7, {name: number for number, name in enumerate(_DAY_NAMES)})
_YEAR = _Field("year", FIRST_YEAR, LAST_YEAR, {})

_CLASSIC = ("minute", "hour", "day-of-month", "month", "day-of-week")
_AWS = (*_CLASSIC, "year")


def _month_days(text: str) -> Days:
    numbers: set[int] = set()
    from_end: set[int] = set()
    nearest: set[int] = set()
    last_workday = False
    for part in _MONTH_DAY.parts(text):
        if part == "LW":
            last_workday = True
        elif part == "L":
            from_end.add(0)
        elif part.startswith("L-"):
            back = part.removeprefix("L-")
            if not re.fullmatch(r"[0-9]{1,2}", back) or not 1 <= int(back) <= 30:  # noqa: PLR2004
                raise _MONTH_DAY.wrong(part, "after L- comes a number of days, 1 to 30")
            from_end.add(int(back))
        elif part.endswith("W"):
            nearest.add(_MONTH_DAY.number(part.removesuffix("W"), part))
        else:
            numbers.update(_MONTH_DAY.numbers(part))
    return Days(
        numbers=frozenset(numbers),
        from_end=frozenset(from_end),
        nearest=frozenset(nearest),
        last_workday=last_workday,
    )


def _aws_week_days(text: str) -> Days:
    weekdays: set[int] = set()
    nth: set[tuple[int, int]] = set()
    last: set[int] = set()
    for part in _AWS_WEEK_DAY.parts(text):
        day, mark, count = part.partition("#")
        if mark:
            if count not in {"1", "2", "3", "4", "5"}:
                raise _AWS_WEEK_DAY.wrong(part, "after # comes which one of the month, 1 to 5")
            nth.add((_monday_is_0(_AWS_WEEK_DAY.number(day, part)), int(count)))
        elif part == "L":
            weekdays.add(_monday_is_0(7))
        elif part.endswith("L"):
            last.add(_monday_is_0(_AWS_WEEK_DAY.number(part.removesuffix("L"), part)))
        else:
            weekdays.update(map(_monday_is_0, _AWS_WEEK_DAY.numbers(part)))
    return Days(weekdays=frozenset(weekdays), nth=frozenset(nth), last=frozenset(last))


def _monday_is_0(aws: int) -> int:
    return (aws - 2) % 7


def _nearest_workday(day: int, first: int, length: int) -> int:
    weekday = (first + day - 1) % 7
    if weekday == calendar.SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == calendar.SUNDAY:
        return day + 1 if day < length else day - 2
    return day
