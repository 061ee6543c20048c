"""The cron expression that the bell rings by: a minute, and its echoes. Pure.

EventBridge rings once for each minute that an expression matches. A ring can be lost: the change of the rule
took too long to take effect, or nothing could run at that time. So the expression goes on after its minute,
at no cost: it rings again 4, 12 and 27 minutes later within the hour, in each later hour of the day, and on
the later days of the month from that hour on. These are the *echoes*. A run that comes sets the rule anew at
once, so an echo rings only where something went wrong.

An expression is a product of lists, so the last hours of a day and of a month need a choice:

* A ring in the last hour of a day, whose echoes are all lost, comes again at its hour of the next day.
* A ring on the last day of a month has its next day in the next month. With both months listed the rule would
  ring on the first of this month too, so this waits until that has passed: a rule that is set in an earlier
  month rings for nothing once, a day before its minute, and that run sets it with both months.
* The last day of 2199 has no next day.

Only comma-separated lists, or one range, in a field: both are documented, and their mixtures are not.
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
"""

import itertools
import re
from calendar import monthrange
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from duebell_shared.instants import LATEST
from duebell_shared.schedules.cron import parse_aws
from duebell_shared.schedules.wall_clock import next_match
from duebell_shared.schedules.zones import zone_of

from .ring_times import echoes_of

__all__ = ["FAR_SENTINEL", "SENTINEL", "expression_at", "is_set_for", "minute_of", "next_ring"]

#: A past year is valid in a cron expression and never comes: the rule is parked.
SENTINEL = "cron(0 0 1 1 ? 1970)"

#: The sentinel of a schedule of EventBridge Scheduler. That a past year is valid there is documented nowhere;
#: this one is, and rings for nothing in the last year there is.
FAR_SENTINEL = "cron(0 0 1 1 ? 2199)"

_LAST_HOUR = 23

_DAY = timedelta(days=1)

_FIELDS = re.compile(r"cron\(([\d,]+) (\d+)(?:-23)? ([\d,-]+) ([\d,]+) \? ([\d,]+)\)")


def expression_at(
    minute: datetime | None, *, early: datetime | None = None, now: datetime | None = None
) -> str:
    """The cron expression that rings first in this UTC minute, then in its echoes; the sentinel for None.

    early  a minute of the same hour, before it, to ring in as well
    now    when the rule is set; not given, in the month of `minute`
    """
    if minute is None:
        return SENTINEL
    after = [echo.minute for echo in echoes_of(minute)]
    minutes = _list([*([early.minute] if early else []), minute.minute, *after])
    hours = f"{minute.hour}-{_LAST_HOUR}" if minute.hour < _LAST_HOUR else f"{minute.hour}"
    return f"cron({minutes} {hours} {_days_on(minute, now or minute)})"


def minute_of(expression: str) -> datetime | None:
    """The minute that our `expression` is set for; None for the sentinel, and for what is not ours."""
    fields = _FIELDS.fullmatch(expression)
    if expression == SENTINEL or not fields:
        return None
    minutes, _, days, months, years = (
        [int(number) for number in re.split("[,-]", field)] for field in fields.groups()
    )
    hour = int(fields[2])
    for year, month, day, minute in itertools.product(years, months, days, minutes):
        try:
            candidate = datetime(year, month, day, hour, minute, tzinfo=UTC)
        except ValueError:
            continue
        if is_set_for(expression, candidate):
            return candidate
    return None


def next_ring(expression: str, now: datetime) -> datetime | None:
    """The first minute after `now` that our `expression` rings in; None if there is none."""
    cron = parse_aws(expression.removeprefix("cron(").removesuffix(")"))
    return next_match(cron, zone_of("UTC"), now)


def is_set_for(expression: str, minute: datetime | None) -> bool:
    """Tell whether this is an expression for this minute, with or without an early one, set at any time."""
    if minute is None:
        return expression in {SENTINEL, FAR_SENTINEL}
    return expression in _forms(minute)


def _forms(minute: datetime) -> Iterator[str]:
    before = minute - timedelta(minutes=1)
    early = before if before.hour == minute.hour else None
    for now, ring in itertools.product((minute, minute - 32 * _DAY), (None, early)):
        yield expression_at(minute, early=ring, now=now)


def _days_on(minute: datetime, now: datetime) -> str:
    """The fields of the days from that of `minute` on: day of month, month, day of week, year."""
    day, month, year = minute.day, minute.month, minute.year
    last = monthrange(year, month)[1]
    if day < last:
        return f"{day}-{last} {month} ? {year}"
    tomorrow = minute + _DAY
    if tomorrow > LATEST:
        return f"{day} {month} ? {year}"
    if (now.year, now.month) == (year, month) and now.day > 1:
        return f"1,{day} {_list([month, tomorrow.month])} ? {_list([year, tomorrow.year])}"
    return f"{day - 1},{day} {month} ? {year}"


def _list(numbers: Iterable[int]) -> str:
    return ",".join(str(number) for number in sorted(set(numbers)))
