"""A cron expression in a time zone: the next instant that it means, also when clocks are changed.

A schedule with fixed hours means a time of each matching day. If clocks skip that time, it is the first
instant after the gap. If clocks show it twice, it is the first of the two. A schedule by the minute has a
wildcard or a step as its hour. It means every instant at which the clock shows a match.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from .cron import FIRST_YEAR, LAST_YEAR, Cron

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_HOUR, _MINUTE = timedelta(hours=1), timedelta(minutes=1)
_TICK = timedelta(microseconds=1)

#: Clocks are not changed twice within this time, and never by as much.
_STEADY = timedelta(days=3)

#: Since 1970 no clock has been put back this far. The most was seven hours, in Antarctica in 1994.
_MOST_BACK = timedelta(hours=8)


def next_match(cron: Cron, zone: "ZoneInfo", after: datetime) -> datetime | None:
    """The first instant strictly after this one, in UTC; None when there is none up to the last year."""
    return _next_by_the_minute(cron, zone, after) if cron.by_the_minute else _next_of_days(cron, zone, after)


def count_matches(cron: Cron, zone: "ZoneInfo", after: datetime, until: datetime) -> int:
    """Count the instants that `next_match` finds after `after`, up to and with `until`.

    In three days without a change of clocks, each matching time of day is one instant, so the number is
    computed. In an hour near a change, the instants are counted one by one.
    """
    count = 0
    while after < until:
        near = min(after + _STEADY, until)
        if not _is_steady(zone, after, near):
            near = min(after + _HOUR, until)
        if _is_steady(zone, after, near):
            offset = _offset(zone, after)
            count += _count_shown(cron, after + offset + _TICK, near + offset + _TICK)
        else:
            at = next_match(cron, zone, after)
            while at is not None and at <= near:
                count += 1
                at = next_match(cron, zone, at)
        after = near
    return count


def _is_steady(zone: "ZoneInfo", after: datetime, until: datetime) -> bool:
    """Tell whether each time that the clock shows between these instants is shown only once."""
    return _offset(zone, after - _MOST_BACK) == _offset(zone, after) == _offset(zone, until)


def instant_of(shown: datetime, zone: "ZoneInfo") -> datetime:
    """The first instant, in UTC, at which the clock shows this (naive); if never, the end of the gap."""
    instant = shown.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if _shown(instant, zone) == shown:
        return instant
    before = shown.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _change(zone, before, instant)


def _next_of_days(cron: Cron, zone: "ZoneInfo", after: datetime) -> datetime | None:
    for shown in _matches(cron, _shown(after, zone)):
        instant = instant_of(shown, zone)
        if instant > after:  # False for a time that a repeated hour shows again
            return instant
    return None


def _next_by_the_minute(cron: Cron, zone: "ZoneInfo", after: datetime) -> datetime | None:
    while True:
        offset = _offset(zone, after)
        shown = next(_matches(cron, _shown(after, zone)), None)
        if shown is None:
            return None
        instant = (shown - offset).replace(tzinfo=UTC)
        near = min(instant, after + _STEADY)
        if (changed := _change_between(zone, after, near)) is not None:
            if _fits(cron, _shown(changed, zone)):
                return changed
            after = changed
        elif near == instant:
            return instant
        else:  # no match comes before `instant - _STEADY`, even if clocks are changed
            after = max(near, instant - _STEADY)


def _matches(cron: Cron, after: datetime) -> Iterator[datetime]:
    """The times of day that match, strictly after a naive one, in order."""
    year, month = max(after.year, FIRST_YEAR), after.month if after.year >= FIRST_YEAR else 1
    while year <= LAST_YEAR:
        for day in cron.days_of(year, month):
            midnight = datetime(year, month, day)  # noqa: DTZ001 (what a clock on the wall shows)
            if midnight.date() < after.date():
                continue
            first = 0
            if midnight.date() == after.date():
                first = bisect_right(cron.minutes, (after - midnight) // _MINUTE)
            for minute in cron.minutes[first:]:
                yield midnight + minute * _MINUTE
        year, month = _next_month(cron, year, month)


def _count_shown(cron: Cron, first: datetime, stop: datetime) -> int:
    """Count the matching times of day from `first` on and before `stop`, whatever their time zone."""
    count = 0
    year, month = first.year, first.month
    while (year, month) <= (stop.year, stop.month) and year <= LAST_YEAR:
        for day in cron.days_of(year, month) if year >= FIRST_YEAR else ():
            midnight = datetime(year, month, day, tzinfo=UTC)
            begin = bisect_left(cron.minutes, -((midnight - first) // _MINUTE))
            count += max(0, bisect_left(cron.minutes, -((midnight - stop) // _MINUTE)) - begin)
        year, month = _next_month(cron, year, month)
    return count


def _next_month(cron: Cron, year: int, month: int) -> tuple[int, int]:
    for later in range(month + 1, 13):
        if later in cron.months:
            return year, later
    return year + 1, min(cron.months)


def _fits(cron: Cron, shown: datetime) -> bool:
    day: date = shown.date()
    minute = shown.hour * 60 + shown.minute
    is_whole = shown.second == 0 and shown.microsecond == 0
    return is_whole and minute in cron.minutes and day.day in cron.days_of(day.year, day.month)


def _shown(instant: datetime, zone: "ZoneInfo") -> datetime:
    """The time that the clock shows then, naive."""
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _offset(zone: "ZoneInfo", instant: datetime) -> timedelta:
    return zone.utcoffset(instant.astimezone(zone)) or timedelta(0)


def _change_between(zone: "ZoneInfo", after: datetime, until: datetime) -> datetime | None:
    """The change of clocks after `after` and up to `until`, at most _STEADY later; None if there is none."""
    if _offset(zone, after) == _offset(zone, until):
        return None
    return _change(zone, after, until)


def _change(zone: "ZoneInfo", before: datetime, until: datetime) -> datetime:
    """The instant of the change of clocks after `before` and up to `until`, to the second."""
    before = before.replace(microsecond=0)
    offset = _offset(zone, before)
    least, most = 0, int((until - before).total_seconds())
    while most - least > 1:
        middle = (least + most) // 2
        instant = before + timedelta(seconds=middle)
        if _offset(zone, instant) == offset:
            least = middle
        else:
            most = middle
    return before + timedelta(seconds=most)
