"""Calendars of holidays, and the occurrences of schedules that have one. Reads and time are arguments.

A queue stores its calendars in one item. Only for schedules with a calendar do editors and runs import this
module, and read that item at most once a minute.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Self

import msgspec
from msgspec.structs import replace

from duebell_shared.errors import InvalidInput, InvalidSchedule
from duebell_shared.instants import FIRST, LATEST, MILLISECOND, to_json
from duebell_shared.quoting import as_argument, nearest, quoted
from duebell_shared.tasks.checks import check_name

from .schedule import Holidays, OnHoliday, Schedule
from .wall_clock import instant_of
from .zones import zone_of

_DAY = timedelta(days=1)

#: Bytes of all calendars of a queue: a run reads them in one item.
MOST_BYTES = 200_000

#: The longest time for which a run uses the calendars that it has read.
_EVERY = timedelta(minutes=1)


class Calendar(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A calendar of holidays. Raises InvalidInput.

    days     the holidays and their names
    ends     the last day that it covers; no later day is a holiday
    weekend  the days of the week that no occurrence is moved to, Monday being 0
    source   its origin, such as `DE-BE` or the name of a file
    """

    days: Mapping[date, str]
    ends: date
    weekend: tuple[int, ...] = (5, 6)
    source: str = ""

    def __post_init__(self) -> None:
        if not self.days:
            raise InvalidInput("calendar", "has no holidays")
        if not set(self.weekend) < set(range(7)):
            raise InvalidInput(
                "weekend", f"must be days from 0 to 6, and not all, not {quoted(self.weekend)}"
            )

    @cached_property
    def holidays(self) -> tuple[date, ...]:
        """The holidays in order."""
        return tuple(sorted(self.days))

    def between(self, first: date, last: date) -> tuple[date, ...]:
        """The holidays from `first` to `last`, both included."""
        return self.holidays[bisect_left(self.holidays, first) : bisect_right(self.holidays, last)]

    def moved(self, day: date, how: Holidays) -> date:
        """The next or the previous working day: no holiday and no weekend."""
        step = _DAY if how is Holidays.NEXT else -_DAY
        while day in self.days or day.weekday() in self.weekend:
            day += step
        return day

    def next_after(self, schedule: Schedule, after: datetime) -> datetime | None:
        """The first occurrence strictly after this instant; None when there is none any more."""
        days, found = _Days(schedule), schedule.plain.next_after(after)
        while found and (day := days.of(found)) in self.days:
            found = schedule.plain.next_after(days.begin(day + _DAY) - MILLISECOND)
        last = found or schedule.end or LATEST
        moved = days.moved(self, days.of(after), days.of(last))
        return min((at for at in moved if after < at <= last), default=found)

    def count(self, schedule: Schedule, after: datetime, until: datetime) -> int:
        """Count the occurrences after `after`, up to and with `until`."""
        days, plain = _Days(schedule), schedule.plain
        total = plain.count(after, until)
        for day in self.between(days.of(after), days.of(until)):
            begin, end = days.begin(day) - MILLISECOND, days.begin(day + _DAY) - MILLISECOND
            total -= plain.count(max(after, begin), min(until, end))
        moved = {at for at in days.moved(self, days.of(after), days.of(until)) if after < at <= until}
        return total + sum(plain.next_after(at - MILLISECOND) != at for at in moved)

    def on_holidays(self, schedule: Schedule, after: datetime, until: datetime) -> Iterator[OnHoliday]:
        """The occurrences after `after`, up to and with `until`, that fall on holidays, in order."""
        days, how = _Days(schedule), schedule.holidays or Holidays.SKIP
        for day in self.between(days.of(after), days.of(until)):
            for due in days.occurrences(day):
                if after < due <= until:
                    moved = None if how is Holidays.SKIP else days.at(self.moved(day, how), due)
                    if moved and schedule.next_after(moved - MILLISECOND) != moved:
                        moved = None  # it is before the schedule's start, or after its end
                    yield OnHoliday(due=due, holiday=self.days[day], moved_to=moved)


class Calendars(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The calendars of a queue by name, and the number of their changes, which is an attribute of its own."""

    calendars: Mapping[str, Calendar] = {}
    rev: int = 0

    def changed(self, name: str, calendar: object) -> Self:
        """With this calendar. Raises InvalidInput."""
        if not isinstance(calendar, Calendar):
            raise InvalidInput("calendar", f"must be a Calendar, not {quoted(calendar)}")
        check_name("calendar", name)
        new = replace(self, calendars={**self.calendars, name: calendar})
        try:
            new = msgspec.json.decode(stored := to_json(new), type=type(self))
        except (TypeError, ValueError) as error:  # if it were stored, no calendar could be read
            raise InvalidInput("calendar", f"must have dates and their names: {error}") from None
        if (last := calendar.holidays[-1]) > calendar.ends:
            raise InvalidInput("ends", f"is before the last holiday, {last}")
        if (size := len(stored)) > MOST_BYTES:
            raise InvalidInput("calendar", f"makes all calendars {size:,} bytes: {MOST_BYTES:,} is the most")
        return new


class KnownCalendars:
    """The calendars of a queue, read when a schedule has one. Its methods raise the errors of `read`."""

    def __init__(self, read: Callable[[], Calendars | None], clock: Callable[[], datetime]) -> None:
        self._read, self._clock = read, clock
        self._read_at = FIRST
        self._calendars: Mapping[str, Calendar] = {}

    def named(self, name: str) -> Calendar:
        """The calendar of this name, read anew. Raises InvalidSchedule."""
        self._read_at = FIRST
        if found := self.recent(name):
            return found
        near = nearest(name, sorted(self._calendars))
        command = f"make it with `duebell calendar import --file FILE {as_argument(name)}`"
        hint = f"did you mean {near}?" if near else command
        raise InvalidSchedule("calendar", f"{quoted(name)} does not exist: {hint}")

    def recent(self, name: str) -> Calendar | None:
        """The calendar of this name as it was at most a minute ago; None if it does not exist."""
        now = self._clock()
        if not self._read_at <= now < self._read_at + _EVERY:
            self._calendars = (self._read() or Calendars()).calendars
            self._read_at = now
        return self._calendars.get(name)


class _Days:
    """The days of a schedule in its time zone."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule, self._zone = schedule, zone_of(schedule.timezone)

    def of(self, instant: datetime) -> date:
        return instant.astimezone(self._zone).date()

    def begin(self, day: date) -> datetime:
        return instant_of(datetime.combine(day, time()), self._zone)

    def at(self, day: date, instant: datetime) -> datetime:
        """The time of day of the instant, on this day."""
        return instant_of(datetime.combine(day, instant.astimezone(self._zone).time()), self._zone)

    def occurrences(self, day: date) -> Iterator[datetime]:
        """The occurrences of the day by the schedule without its calendar."""
        at, end = self._schedule.plain.next_after(self.begin(day) - MILLISECOND), self.begin(day + _DAY)
        while at and at < end:
            yield at
            at = self._schedule.plain.next_after(at)

    def moved(self, calendar: Calendar, first: date, last: date) -> Iterator[datetime]:
        """The times of the occurrences that are moved from holidays to these days, in no order."""
        how = self._schedule.holidays or Holidays.SKIP
        if how is Holidays.SKIP:
            return
        begin, end = (
            calendar.moved(first - _DAY, Holidays.PREVIOUS),
            calendar.moved(last + _DAY, Holidays.NEXT),
        )
        for day in calendar.between(begin, end):
            if first <= (to := calendar.moved(day, how)) <= last:
                yield from (self.at(to, due) for due in self.occurrences(day))
