"""Schedules in words, for people: `every weekday at 09:00, Europe/Berlin`."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from .cron import LAST_YEAR, Cron, Days, parse_aws, parse_classic

if TYPE_CHECKING:
    from .schedule import Schedule


def words_for(schedule: "Schedule") -> str:
    text = schedule.expression
    if text.lower().startswith("rate"):
        number, unit = text[5:-1].split()
        words = _every(int(number), unit.lower().removesuffix("s"))
        if schedule.start:
            words += f", counted from {_moment(schedule.start)}"
    elif text.lower().startswith("at"):
        at = datetime.fromisoformat(text[3:-1].strip())
        words = f"once, on {at.date()} at {_clock(at)}, {schedule.timezone}"
    else:
        is_aws = text.lower().startswith("cron(")
        cron = parse_aws(text[5:-1]) if is_aws else parse_classic(text)
        words = f"{_cron_words(cron)}, {schedule.timezone}"
        if schedule.start:
            words += f", from {_moment(schedule.start)}"
    return f"{words}, until {_moment(schedule.end)}" if schedule.end else words


def _cron_words(cron: Cron) -> str:
    days, time = _day_words(cron), _time_words(cron)
    if time.startswith("at"):
        words = f"{days.before} {time}"
    else:
        words = f"{time}, {days.after}" if days.after else time
    return words + days.months + _year_words(cron)


def _moment(instant: datetime) -> str:
    return f"{instant.date()} {_clock(instant)} UTC"


def _clock(at: datetime) -> str:
    return at.time().isoformat("seconds" if at.second else "minutes")


#: Times of day, or minutes of the hour, beyond these are not listed one by one.
_MOST_TIMES = 6

_HOURS, _MINUTES = 24, 60


def _time_words(cron: Cron) -> str:
    """The times of a day in words. Begins with `at` for single times, else with `every`."""
    times = cron.minutes
    hours = sorted({one // _MINUTES for one in times})
    minutes = sorted({one % _MINUTES for one in times})
    if len(times) <= _MOST_TIMES:
        return f"at {_listed(map(_time, times))}"
    if len(hours) == _HOURS:
        return _of_every_hour(minutes)
    if len(hours) == 1 and not _step_of(times):
        return f"at {_listed(_spans(times, _time))}"
    if len(_runs(hours)) > 1 and not (len(minutes) == 1 and _step_of(hours)):
        return f"{_minutes_of_an_hour(minutes)} {_hours(hours)}"
    return f"{_without_a_break(hours, minutes)} from {_time(times[0])} to {_time(times[-1])}"


def _without_a_break(hours: list[int], minutes: list[int]) -> str:
    """The interval of its runs from the first time of the day to the last, in words."""
    if len(minutes) == 1:
        return _every(_step_of(hours) or 1, "hour")
    if step := _step_of(minutes) if len(hours) == 1 else _even_step(minutes):
        return _every(step, "minute")
    return f"{_of_every_hour(minutes)},"


def _every(number: int, unit: str) -> str:
    return f"every {unit}" if number == 1 else f"every {number} {unit}s"


def _minutes_of_an_hour(minutes: list[int]) -> str:
    """`every 15 minutes`, `every 2 minutes from :01 to :59`, `at :05 and :35`."""
    if minutes[0] == 0 and (step := _even_step(minutes)):
        return _every(step, "minute")
    if len(minutes) > _MOST_TIMES and (step := _step_of(minutes)):
        return f"{_every(step, 'minute')} from {_minute(minutes[0])} to {_minute(minutes[-1])}"
    return f"at {_listed(_spans(minutes, _minute))}"


def _of_every_hour(minutes: list[int]) -> str:
    within = _minutes_of_an_hour(minutes)
    if minutes[0] == 0 and _even_step(minutes):
        return within
    return f"every hour {within}" if within.startswith("at") else f"{within} of every hour"


def _hours(hours: list[int]) -> str:
    """`in the hours 09, 11 and 14 to 17`, `in every 2nd hour from 00 to 22`."""
    if len(hours) > _MOST_TIMES and (step := _step_of(hours)):
        return f"in every {_ordinal(step)} hour from {hours[0]:02} to {hours[-1]:02}"
    return f"in the hours {_listed(_spans(hours, '{:02}'.format))}"


def _even_step(minutes: list[int]) -> int | None:
    """The step of minutes that go on evenly from one hour to the next; :00 and :45 do not."""
    following = [*minutes[1:], minutes[0] + _MINUTES]
    steps = {after - before for before, after in zip(minutes, following, strict=True)}
    return steps.pop() if len(steps) == 1 and len(minutes) > 1 else None


def _time(minute: int) -> str:
    return f"{minute // _MINUTES:02}:{minute % _MINUTES:02}"


def _minute(minute: int) -> str:
    return f":{minute:02}"


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
_NTH = ("", "first", "second", "third", "fourth", "fifth")
_WEEKDAYS = frozenset(range(5))
_MONTH_DAYS = frozenset(range(1, 32))

#: Days and years beyond these are not listed one by one.
_MOST = 6


class _DayWords(NamedTuple):
    """The days as they stand before and after times of the day, and what is left to say of months."""

    before: str
    after: str
    months: str = ""


def _day_words(cron: Cron) -> _DayWords:
    """On which days of which months: `every Monday`, and `on Mondays`."""
    month_days, week_days = _restricting(cron)
    if month_days is None and week_days is None:
        months = _in_months(cron)
        return _DayWords(f"every day{months}", months.strip())
    if week_days is None or (month_days is None and not week_days.weekdays):
        parts = _listed(_of_month(month_days or week_days or Days()))
        words = f"{parts} {_of_months(cron)}"
        return _DayWords(words, words)
    if month_days is None and not week_days.nth and not week_days.last:
        months = _in_months(cron)
        return _DayWords(f"{_every_week(week_days)}{months}", f"{_on_week_days(week_days)}{months}")
    return _mixed(month_days, week_days, cron)


def _year_words(cron: Cron) -> str:
    if cron.years is None:
        return ""
    years = sorted(cron.years)
    if (first := years[0]) != years[-1] and _runs(years) == [(first, LAST_YEAR)]:
        return f", from {first} on"
    step = _step_of(years)
    if step and step > 1 and len(years) > _MOST:
        return f", every {step} years from {first} to {years[-1]}"
    if len(_runs(years)) == 1 and len(years) > 2:  # noqa: PLR2004 (two are _listed)
        return f", from {first} to {years[-1]}"
    return f", in {_listed(_spans(years, str))}"


def _restricting(cron: Cron) -> tuple[Days | None, Days | None]:
    """Both day fields; None for one that leaves out no day."""
    month_days, week_days = cron.month_days, cron.week_days
    if month_days and month_days.numbers == _MONTH_DAYS:
        month_days = None
    if week_days and len(week_days.weekdays) == len(_DAYS):
        week_days = None
    is_either = cron.either and cron.month_days and cron.week_days
    return (None, None) if is_either and not (month_days and week_days) else (month_days, week_days)


def _mixed(month_days: Days | None, week_days: Days, cron: Cron) -> _DayWords:
    """By two ways of naming a day: either is enough, or, in the classic fields, both may be needed."""
    if month_days is None or cron.either:
        of_month = [*(_of_month(month_days) if month_days else ()), *_of_month(week_days)]
        others = (
            f"{', and' if ' except ' in _every_week(week_days) else ' and'} {_listed(of_month)} of the month"
        )
        months = _in_months(cron)
        return _DayWords(
            _every_week(week_days) + others,
            _on_week_days(week_days) + others,
            f", only{months}" if months else "",
        )
    numbers = sorted(month_days.numbers)
    if len(week_days.weekdays) == len(_DAYS) - 1:
        words = f"{_on_numbers(numbers)} {_of_months(cron)}, except on {_left_out(week_days)}s,"
    else:
        words = f"{_on_week_days(week_days)} that fall {_on_numbers(numbers, 'or')} {_of_months(cron)}"
    return _DayWords(words, words.removesuffix(","))


def _of_month(days: Days) -> list[str]:
    """The days that are named by where in a month they are: `on the 1st and 15th`, `on the last Friday`."""
    parts = []
    if days.numbers:
        parts.append(_on_numbers(sorted(days.numbers)))
    parts += [_before_the_last(back) for back in sorted(days.from_end)]
    parts += [f"on the weekday nearest to the {_ordinal(day)}" for day in sorted(days.nearest)]
    if days.last_workday:
        parts.append("on the last weekday")
    parts += [f"on the {_NTH[count]} {_DAYS[day]}" for day, count in sorted(days.nth)]
    parts += [f"on the last {_DAYS[day]}" for day in sorted(days.last)]
    return parts


def _on_numbers(numbers: list[int], word: str = "and") -> str:
    step = _step_of(numbers)
    if step and step > 1 and len(numbers) > _MOST:
        return f"on every {_ordinal(step)} day from the {_ordinal(numbers[0])} to the {_ordinal(numbers[-1])}"
    return f"on the {_listed(_spans(numbers, _ordinal), word)}"


def _before_the_last(back: int) -> str:
    if back == 0:
        return "on the last day"
    return "on the day before the last day" if back == 1 else f"{back} days before the last day"


def _every_week(days: Days) -> str:
    if days.weekdays == _WEEKDAYS:
        return "every weekday"
    if len(days.weekdays) == len(_DAYS) - 1:
        return f"every day except {_left_out(days)}"
    names = _listed(_spans(days.weekdays, _DAYS.__getitem__, len(_DAYS)))
    return names if len(_runs(days.weekdays, len(_DAYS))) == 1 and " to " in names else f"every {names}"


def _on_week_days(days: Days) -> str:
    if days.weekdays == _WEEKDAYS:
        return "on weekdays"
    if len(days.weekdays) == len(_DAYS) - 1:
        return f"on all days except {_left_out(days)}s"
    return f"on {_listed(_spans(days.weekdays, lambda day: f'{_DAYS[day]}s', len(_DAYS)))}"


def _left_out(days: Days) -> str:
    [day] = set(range(len(_DAYS))) - days.weekdays
    return _DAYS[day]


def _in_months(cron: Cron) -> str:
    if len(cron.months) == len(_MONTHS):
        return ""
    if len(cron.months) == len(_MONTHS) - 1:
        [month] = set(range(1, len(_MONTHS) + 1)) - cron.months
        return f" in all months except {_MONTHS[month - 1]}"
    parts = _spans(cron.months, lambda month: _MONTHS[month - 1], len(_MONTHS))
    return f" from {parts[0]}" if len(parts) == 1 and " to " in parts[0] else f" in {_listed(parts)}"


def _of_months(cron: Cron) -> str:
    """`of the month`, `of May`, `of each month from May to July`."""
    months = _in_months(cron)
    if not months:
        return "of the month"
    is_list = months.startswith(" in ") and " to " not in months and " except " not in months
    return (
        f"of{months.removeprefix(' in')}"
        if is_list
        else f"of each month{months.replace(' in all months', '')}"
    )


#: A run or a progression of fewer numbers is listed one by one.
_FEW = 3


def _listed(parts: Iterable[str], word: str = "and") -> str:
    *others, last = parts
    return f"{', '.join(others)} {word} {last}" if others else last


def _runs(numbers: Iterable[int], period: int = 0) -> list[tuple[int, int]]:
    """The first and last of each run of numbers that follow on each other.

    period  the number after which they begin again: a long run may go around the end, from 11 to 2
    """
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    goes_around = len(found) > 1 and found[0][0] + period == found[-1][1] + 1
    if goes_around and found[0][1] + period - found[-1][0] >= _FEW - 1:
        found = [*found[1:-1], (found[-1][0], found[0][1])]
    return found


def _spans(numbers: Iterable[int], name: Callable[[int], str], period: int = 0) -> list[str]:
    """Each long run by its ends, `5 to 9`; the other numbers one by one."""
    parts = []
    for first, last in _runs(numbers, period):
        if last < first or last - first >= _FEW - 1:
            parts.append(f"{name(first)} to {name(last)}")
        else:
            parts += [name(number) for number in range(first, last + 1)]
    return parts


def _step_of(numbers: Sequence[int]) -> int | None:
    """The step between these numbers, more than three in order; None if it varies."""
    steps = {after - before for before, after in pairwise(numbers)}
    return steps.pop() if len(numbers) > _FEW and len(steps) == 1 else None


def _ordinal(number: int) -> str:
    ending = "th" if 11 <= number % 100 <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")  # noqa: PLR2004
    return f"{number}{ending}"
