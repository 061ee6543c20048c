"""Closed hours of an action: weekly windows, in a time zone, in which none of its tasks is started.

`22:00-06:00 Europe/Berlin`, `sat,sun`, `mon-fri 12:00-13:00; sun`. A window goes from the first time that the
clock shows its beginning to the last time that it shows its end. Pure; time is an argument.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from duebell_shared.errors import InvalidSchedule, InvalidTask
from duebell_shared.quoting import quoted
from duebell_shared.schedules.wall_clock import instant_of
from duebell_shared.schedules.zones import zone_of

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = timedelta(days=1)
_WINDOW = re.compile(
    r"(?:(?P<first>[a-z]{3})(?:-(?P<last>[a-z]{3}))?)?\s*"
    r"(?:(?P<begins>[0-9]{1,2}:[0-9]{2})-(?P<ends>[0-9]{1,2}:[0-9]{2}))?"
)
_ZONE = re.compile(r"(?P<windows>.*\S)\s+(?P<zone>[A-Z]\S*)", re.DOTALL)

#: The longest that an action may be closed.
_LONGEST = timedelta(days=8)

#: The beginnings of a week in winter and of one in summer: each week must have an open hour.
_WEEKS = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 7, 6, tzinfo=UTC)


class _Window(NamedTuple):
    """A window that begins on these days (Monday is 0), `begins` after midnight."""

    days: frozenset[int]
    begins: timedelta
    ends: timedelta
    zone: ZoneInfo

    def end_at(self, at: datetime) -> datetime:
        """The end of the window that this time is in; the time itself if it is in none."""
        today = at.astimezone(self.zone).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
        for midnight in (today - _DAY, today):  # a window of yesterday may end today
            if midnight.weekday() in self.days and instant_of(midnight + self.begins, self.zone) <= at:
                shown = midnight + self.ends
                again = shown.replace(tzinfo=self.zone, fold=1).astimezone(UTC)
                if (end := max(instant_of(shown, self.zone), again)) > at:
                    return end
        return at


class ClosedHours(NamedTuple):
    """The windows, and the text that gives them."""

    text: str
    windows: tuple[_Window, ...]

    def closed_until(self, at: datetime) -> datetime | None:
        """When the action opens, if it is closed at this time; None if it is open."""
        opens = at
        while opens - at < _LONGEST:
            later = max((window.end_at(opens) for window in self.windows), default=opens)
            if later == opens:
                break
            opens = later
        return None if opens == at else opens


@lru_cache(maxsize=256)
def closed_hours(text: str) -> ClosedHours:
    """The windows that a text gives; `never` for none. Raises InvalidTask."""
    if text.strip().lower() == "never":
        return ClosedHours("never", ())
    groups = [_group(group) for group in text.split(";") if group.strip()]
    windows = tuple(window for _, those in groups for window in those)
    hours = ClosedHours("; ".join(said for said, _ in groups), windows)
    if not windows:
        raise _invalid("is empty: give windows such as 22:00-06:00 Europe/Berlin, or never")
    if any((hours.closed_until(week) or week) - week >= _LONGEST for week in _WEEKS):
        raise _invalid(
            f"{quoted(text)} never opens: leave an hour in which tasks may start, or pause the action"
        )
    return hours


def _group(group: str) -> tuple[str, list[_Window]]:
    """Windows that share a time zone, and their text."""
    split = _ZONE.fullmatch(group.strip())
    windows, name = (split["windows"], split["zone"]) if split else (group, "UTC")
    try:
        zone = zone_of(name)
    except InvalidSchedule as error:
        raise _invalid(error.reason) from None
    parts = [" ".join(part.lower().split()) for part in windows.split(",")]
    return f"{', '.join(parts)} {name}", [_window(part, zone) for part in parts]


def _window(part: str, zone: ZoneInfo) -> _Window:
    found = _WINDOW.fullmatch(part)
    first, last, begins, ends = found.groups() if found else (None,) * 4
    if not part or {first, last} - {None, *_DAYS} or not (first or begins):
        raise _invalid(
            f"{quoted(part)} is no window such as 22:00-06:00, sat, mon-fri or mon-fri 12:00-13:00"
        )
    days = range(7)
    if first:
        start = _DAYS.index(first)
        days = range(start, start + (_DAYS.index(last or first) - start) % 7 + 1)
    opens, closes = (_time(begins), _time(ends)) if begins and ends else (timedelta(0), _DAY)
    if opens in {closes, _DAY}:
        raise _invalid(f"{quoted(part)} has no length: give another end, or days without hours")
    return _Window(
        frozenset(day % 7 for day in days), opens, closes if closes > opens else closes + _DAY, zone
    )


def _time(text: str) -> timedelta:
    hours, minutes = map(int, text.split(":"))
    time = timedelta(hours=hours, minutes=minutes)
    if text[-2] > "5" or time > _DAY:
        raise _invalid(f"{text} is no time of day, from 00:00 to 24:00")
    return time


def _invalid(reason: str) -> InvalidTask:
    return InvalidTask("closed", reason)
