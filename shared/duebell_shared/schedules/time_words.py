"""The times of day of a cron expression in words: `at 09:00 and 18:00`, `every hour from 09:00 to 17:00`."""

from .cron import Cron
from .enumerations import listed, ordinal, runs, spans, step_of

__all__ = ["every", "time_words"]

#: Times of day, or minutes of the hour, beyond these are not listed one by one.
_MOST_TIMES = 6

_HOURS, _MINUTES = 24, 60


def time_words(cron: Cron) -> str:
    """The times of a day in words. Begins with `at` for single times, else with `every`."""
    times = cron.minutes
    hours = sorted({one // _MINUTES for one in times})
    minutes = sorted({one % _MINUTES for one in times})
    if len(times) <= _MOST_TIMES:
        return f"at {listed(map(_time, times))}"
    if len(hours) == _HOURS:
        return _of_every_hour(minutes)
    if len(hours) == 1 and not step_of(times):
        return f"at {listed(spans(times, _time))}"
    if len(runs(hours)) > 1 and not (len(minutes) == 1 and step_of(hours)):
        return f"{_minutes_of_an_hour(minutes)} {_hours(hours)}"
    return f"{_without_a_break(hours, minutes)} from {_time(times[0])} to {_time(times[-1])}"


def _without_a_break(hours: list[int], minutes: list[int]) -> str:
    """The interval of its runs from the first time of the day to the last, in words."""
    if len(minutes) == 1:
        return every(step_of(hours) or 1, "hour")
    if step := step_of(minutes) if len(hours) == 1 else _even_step(minutes):
        return every(step, "minute")
    return f"{_of_every_hour(minutes)},"


def every(number: int, unit: str) -> str:
    """`every hour`, `every 2 hours`."""
    return f"every {unit}" if number == 1 else f"every {number} {unit}s"


def _minutes_of_an_hour(minutes: list[int]) -> str:
    """`every 15 minutes`, `every 2 minutes from :01 to :59`, `at :05 and :35`."""
    if minutes[0] == 0 and (step := _even_step(minutes)):
        return every(step, "minute")
    if len(minutes) > _MOST_TIMES and (step := step_of(minutes)):
        return f"{every(step, 'minute')} from {_minute(minutes[0])} to {_minute(minutes[-1])}"
    return f"at {listed(spans(minutes, _minute))}"


def _of_every_hour(minutes: list[int]) -> str:
    within = _minutes_of_an_hour(minutes)
    if minutes[0] == 0 and _even_step(minutes):
        return within
    return f"every hour {within}" if within.startswith("at") else f"{within} of every hour"


def _hours(hours: list[int]) -> str:
    """`in the hours 09, 11 and 14 to 17`, `in every 2nd hour from 00 to 22`."""
    if len(hours) > _MOST_TIMES and (step := step_of(hours)):
        return f"in every {ordinal(step)} hour from {hours[0]:02} to {hours[-1]:02}"
    return f"in the hours {listed(spans(hours, '{:02}'.format))}"


def _even_step(minutes: list[int]) -> int | None:
    """The step of minutes that go on evenly from one hour to the next; :00 and :45 do not."""
    following = [*minutes[1:], minutes[0] + _MINUTES]
    steps = {after - before for before, after in zip(minutes, following, strict=True)}
    return steps.pop() if len(steps) == 1 and len(minutes) > 1 else None


def _time(minute: int) -> str:
    return f"{minute // _MINUTES:02}:{minute % _MINUTES:02}"


def _minute(minute: int) -> str:
    return f":{minute:02}"
