"""Schedules in words, for people: `every weekday at 09:00, Europe/Berlin`.

Common shapes have words. Any other schedule shows its expression, which cannot be wrong.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from .cron import Cron, Days, parse_aws, parse_classic


class _NoWords(Exception):
    """The schedule has no common shape."""


def words_for(
    text: str,
    timezone: str,
    *,
    start: datetime | None,
    end: datetime | None,
    calendar: str | None,
    holidays: str,
) -> str:
    """The schedule with this expression in words; the arguments are the fields of `Schedule`."""
    if text.lower().startswith("rate"):
        number, unit = text[5:-1].split()
        words = _every(int(number), unit.lower().removesuffix("s"))
        if start:
            words += f", counted from {_moment(start)}"
    elif text.lower().startswith("at"):
        at = datetime.fromisoformat(text[3:-1].strip())
        words = f"once, on {at.date()} at {_clock(at)}, {timezone}"
    else:
        is_aws = text.lower().startswith("cron(")
        cron = parse_aws(text[5:-1]) if is_aws else parse_classic(text)
        try:
            words = f"{_cron_words(cron)}, {timezone}"
        except _NoWords:
            words = f"by {text}, {timezone}"
        if start:
            words += f", from {_moment(start)}"
    if calendar:
        said = "not on holidays" if holidays == "skip" else f"on holidays the {holidays} working day"
        words += f", {said} ({calendar})"
    return f"{words}, until {_moment(end)}" if end else words


def _cron_words(cron: Cron) -> str:
    """The times and the days: `every day at 09:00`, `every 5 minutes, on weekdays`."""
    time = _times(cron)
    month_days, week_days = cron.month_days, cron.week_days
    if (month_days and week_days) or cron.years is not None:
        raise _NoWords
    months = _months(cron)
    if week_days and week_days.weekdays and not week_days.nth and not week_days.last:
        every, on = _week(week_days)
        before, after = f"{every}{months}", f"{on}{months}"
    elif days := month_days or week_days:
        if " to " in months and " from " not in months:
            raise _NoWords
        of = f" of the month{months}" if " from " in months or not months else months.replace(" in ", " of ")
        before = after = f"{_listed(_of_month(days))}{of}"
    else:
        before, after = f"every day{months}", months.strip()
    return f"{before} {time}" if time.startswith("at") else ", ".join(filter(None, [time, after]))


def _moment(instant: datetime) -> str:
    return f"{instant.date()} {_clock(instant)} UTC"


def _clock(at: datetime) -> str:
    return at.time().isoformat("seconds" if at.second else "minutes")


#: The most times of a day, minutes of the hour, days or months that are listed.
_MOST = 6

_HOURS, _MINUTES = 24, 60


def _times(cron: Cron) -> str:
    """The times of a day. Begins with `at` for single times, else with `every`."""
    times = cron.minutes
    hours, minutes = sorted({one // _MINUTES for one in times}), sorted({one % _MINUTES for one in times})
    if len(times) <= _MOST:
        return f"at {_listed(map(_time, times))}"
    step = _even_step(minutes)
    span = "" if len(hours) == _HOURS else f" from {_time(times[0])} to {_time(times[-1])}"
    if len(minutes) == 1 and (hour_step := _step(hours)):
        if len(hours) == _HOURS:
            return f"every hour at :{minutes[0]:02}"
        return f"{_every(hour_step, 'hour')} from {_time(times[0])} to {_time(times[-1])}"
    if step and _step(hours) == 1 and (span or minutes[0] == 0):
        return f"{_every(step, 'minute')}{span}"
    if len(hours) == _HOURS and len(minutes) <= _MOST:
        return f"every hour at {_listed(f':{minute:02}' for minute in minutes)}"
    raise _NoWords


def _every(number: int, unit: str) -> str:
    return f"every {unit}" if number == 1 else f"every {number} {unit}s"


def _even_step(minutes: list[int]) -> int | None:
    """The step of these minutes, if it stays the same into the next hour; not so for :00 and :45."""
    steps = {after - before for before, after in pairwise([*minutes, minutes[0] + _MINUTES])}
    return steps.pop() if len(steps) == 1 and len(minutes) > 1 else None


def _step(numbers: Sequence[int]) -> int | None:
    """The step between these numbers; 1 for a single one, None if it varies."""
    steps = {after - before for before, after in pairwise(numbers)} or {1}
    return steps.pop() if len(steps) == 1 else None


def _time(minute: int) -> str:
    return f"{minute // _MINUTES:02}:{minute % _MINUTES:02}"


#: Not from `calendar`, whose names are in the process's language. Months count from 1.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("", "January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_NTH = ("", "first", "second", "third", "fourth", "fifth")
_WEEKDAYS = frozenset(range(5))


def _of_month(days: Days) -> list[str]:
    """The days by their place in the month: `on the 1st and 15th`, `on the last Friday`."""
    parts = []
    if days.weekdays or days.nearest or days.last_workday or days.from_end - {0}:
        raise _NoWords
    if days.numbers:
        parts.append(f"on the {_listed(_spans(days.numbers, _ordinal))}")
    if days.from_end:
        parts.append("on the last day")
    parts += [f"on the {_NTH[count]} {_DAYS[day]}" for day, count in sorted(days.nth)]
    parts += [f"on the last {_DAYS[day]}" for day in sorted(days.last)]
    return parts


def _week(days: Days) -> tuple[str, str]:
    """Days of the week before and after times: `every Monday`, `on Mondays`."""
    if days.weekdays == _WEEKDAYS:
        return "every weekday", "on weekdays"
    names = _spans(days.weekdays, _DAYS.__getitem__)
    plural = _spans(days.weekdays, lambda day: f"{_DAYS[day]}s")
    every = _listed(names)
    return every if len(names) == 1 and " to " in every else f"every {every}", f"on {_listed(plural)}"


def _months(cron: Cron) -> str:
    if len(cron.months) == len(_MONTHS) - 1:
        return ""
    parts = _spans(cron.months, _MONTHS.__getitem__)
    return f" from {parts[0]}" if len(parts) == 1 and " to " in parts[0] else f" in {_listed(parts)}"


#: A row of fewer consecutive numbers is listed one by one.
_FEW = 3


def _listed(parts: Iterable[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _spans(numbers: Iterable[int], name: Callable[[int], str]) -> list[str]:
    """Each long row of numbers by its ends, `5 to 9`; others one by one. Raises _NoWords above six parts."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts: list[str] = []
    for run in runs:
        is_long = len(run) >= _FEW
        parts += [f"{name(run[0])} to {name(run[-1])}"] if is_long else map(name, run)
    if len(parts) > _MOST:
        raise _NoWords
    return parts


def _ordinal(number: int) -> str:
    ending = "th" if 11 <= number % 100 <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")  # noqa: PLR2004
    return f"{number}{ending}"
