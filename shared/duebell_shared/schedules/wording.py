"""Schedules in words, for people."""

from datetime import datetime
from typing import TYPE_CHECKING

from .cron import Cron, parse_aws, parse_classic
from .day_words import day_words, year_words
from .time_words import every, time_words

if TYPE_CHECKING:
    from .schedule import Schedule

__all__ = ["words_for"]


def words_for(schedule: "Schedule") -> str:
    """The schedule in words: `every weekday at 09:00, Europe/Berlin`."""
    text = schedule.expression
    if text.lower().startswith("rate"):
        number, unit = text[5:-1].split()
        words = every(int(number), unit.lower().removesuffix("s"))
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
    days, time = day_words(cron), time_words(cron)
    if time.startswith("at"):
        words = f"{days.before} {time}"
    else:
        words = f"{time}, {days.after}" if days.after else time
    return words + days.months + year_words(cron)


def _moment(instant: datetime) -> str:
    return f"{instant.date()} {_clock(instant)} UTC"


def _clock(at: datetime) -> str:
    """`09:00`; with seconds if there are any."""
    return at.time().isoformat("seconds" if at.second else "minutes")
