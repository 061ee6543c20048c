"""The days, months and years of a cron expression in words: `every weekday in May`, `on the 1st of June`."""

from typing import NamedTuple

from .cron import LAST_YEAR, Cron, Days
from .enumerations import listed, ordinal, runs, spans, step_of

__all__ = ["day_words", "year_words"]

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


class DayWords(NamedTuple):
    """The days of an expression in words.

    before  as they stand before times of the day: `every weekday`
    after   as they stand after them: `on weekdays`; empty for every day
    months  what is left to say of months, with a comma before
    """

    before: str
    after: str
    months: str = ""


def day_words(cron: Cron) -> DayWords:
    """On which days of which months: `every Monday`, and `on Mondays`."""
    month_days, week_days = _restricting(cron)
    if month_days is None and week_days is None:
        months = _in_months(cron)
        return DayWords(f"every day{months}", months.strip())
    if week_days is None or (month_days is None and not week_days.weekdays):
        parts = listed(_of_month(month_days or week_days or Days()))
        words = f"{parts} {_of_months(cron)}"
        return DayWords(words, words)
    if month_days is None and not week_days.nth and not week_days.last:
        months = _in_months(cron)
        return DayWords(f"{_every_week(week_days)}{months}", f"{_on_week_days(week_days)}{months}")
    return _mixed(month_days, week_days, cron)


def year_words(cron: Cron) -> str:
    """In which years, with a comma before; nothing if in all."""
    if cron.years is None:
        return ""
    years = sorted(cron.years)
    if (first := years[0]) != years[-1] and runs(years) == [(first, LAST_YEAR)]:
        return f", from {first} on"
    step = step_of(years)
    if step and step > 1 and len(years) > _MOST:
        return f", every {step} years from {first} to {years[-1]}"
    if len(runs(years)) == 1 and len(years) > 2:  # noqa: PLR2004 (two are listed)
        return f", from {first} to {years[-1]}"
    return f", in {listed(spans(years, str))}"


def _restricting(cron: Cron) -> tuple[Days | None, Days | None]:
    """Both day fields; None for one that leaves out no day."""
    month_days, week_days = cron.month_days, cron.week_days
    if month_days and month_days.numbers == _MONTH_DAYS:
        month_days = None
    if week_days and len(week_days.weekdays) == len(_DAYS):
        week_days = None
    is_either = cron.either and cron.month_days and cron.week_days
    return (None, None) if is_either and not (month_days and week_days) else (month_days, week_days)


def _mixed(month_days: Days | None, week_days: Days, cron: Cron) -> DayWords:
    """By two ways of naming a day: either is enough, or, in the classic fields, both may be needed."""
    if month_days is None or cron.either:
        of_month = [*(_of_month(month_days) if month_days else ()), *_of_month(week_days)]
        others = (
            f"{', and' if ' except ' in _every_week(week_days) else ' and'} {listed(of_month)} of the month"
        )
        months = _in_months(cron)
        return DayWords(
            _every_week(week_days) + others,
            _on_week_days(week_days) + others,
            f", only{months}" if months else "",
        )
    numbers = sorted(month_days.numbers)
    if len(week_days.weekdays) == len(_DAYS) - 1:
        words = f"{_on_numbers(numbers)} {_of_months(cron)}, except on {_left_out(week_days)}s,"
    else:
        words = f"{_on_week_days(week_days)} that fall {_on_numbers(numbers, 'or')} {_of_months(cron)}"
    return DayWords(words, words.removesuffix(","))


def _of_month(days: Days) -> list[str]:
    """The days that are named by where in a month they are: `on the 1st and 15th`, `on the last Friday`."""
    parts = []
    if days.numbers:
        parts.append(_on_numbers(sorted(days.numbers)))
    parts += [_before_the_last(back) for back in sorted(days.from_end)]
    parts += [f"on the weekday nearest to the {ordinal(day)}" for day in sorted(days.nearest)]
    if days.last_workday:
        parts.append("on the last weekday")
    parts += [f"on the {_NTH[count]} {_DAYS[day]}" for day, count in sorted(days.nth)]
    parts += [f"on the last {_DAYS[day]}" for day in sorted(days.last)]
    return parts


def _on_numbers(numbers: list[int], word: str = "and") -> str:
    step = step_of(numbers)
    if step and step > 1 and len(numbers) > _MOST:
        return f"on every {ordinal(step)} day from the {ordinal(numbers[0])} to the {ordinal(numbers[-1])}"
    return f"on the {listed(spans(numbers, ordinal), word)}"


def _before_the_last(back: int) -> str:
    if back == 0:
        return "on the last day"
    return "on the day before the last day" if back == 1 else f"{back} days before the last day"


def _every_week(days: Days) -> str:
    if days.weekdays == _WEEKDAYS:
        return "every weekday"
    if len(days.weekdays) == len(_DAYS) - 1:
        return f"every day except {_left_out(days)}"
    names = listed(spans(days.weekdays, _DAYS.__getitem__, len(_DAYS)))
    return names if len(runs(days.weekdays, len(_DAYS))) == 1 and " to " in names else f"every {names}"


def _on_week_days(days: Days) -> str:
    if days.weekdays == _WEEKDAYS:
        return "on weekdays"
    if len(days.weekdays) == len(_DAYS) - 1:
        return f"on all days except {_left_out(days)}s"
    return f"on {listed(spans(days.weekdays, lambda day: f'{_DAYS[day]}s', len(_DAYS)))}"


def _left_out(days: Days) -> str:
    [day] = set(range(len(_DAYS))) - days.weekdays
    return _DAYS[day]


def _in_months(cron: Cron) -> str:
    """` in May`, ` from May to July`; nothing for all months."""
    if len(cron.months) == len(_MONTHS):
        return ""
    if len(cron.months) == len(_MONTHS) - 1:
        [month] = set(range(1, len(_MONTHS) + 1)) - cron.months
        return f" in all months except {_MONTHS[month - 1]}"
    parts = spans(cron.months, lambda month: _MONTHS[month - 1], len(_MONTHS))
    return f" from {parts[0]}" if len(parts) == 1 and " to " in parts[0] else f" in {listed(parts)}"


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
