"""A schedule: an expression of when something recurs, in a time zone, between a start and an end."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import Protocol

import msgspec
from msgspec import UNSET, UnsetType

from duebell_shared.errors import InvalidSchedule
from duebell_shared.instants import LATEST, MILLISECOND, Instant, floor, to_utc
from duebell_shared.quoting import quoted, shortened

from .cron import FIRST_YEAR, Cron, parse_aws, parse_classic
from .wall_clock import count_matches, instant_of, next_match
from .zones import zone_of

_RATE = re.compile(r"rate\(\s*([0-9]{1,9})\s+(minute|hour|day)(s?)\s*\)", re.IGNORECASE | re.ASCII)
_AT = re.compile(r"at\((.*)\)", re.IGNORECASE)
_CRON = re.compile(r"cron\((.*)\)", re.IGNORECASE)

_UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}

#: From the first year of a rule to its last.
_LONGEST = timedelta(days=230 * 366)

#: Before every occurrence in any time zone: years begin with 1970.
_BEFORE_ALL = datetime(1969, 12, 30, tzinfo=UTC)

_MINUTE = timedelta(minutes=1)

#: The longest expression, in characters: it is read with each read of the task.
MAX_EXPRESSION = 1_024

_invalid = partial(InvalidSchedule, "schedule")


class Holidays(StrEnum):
    """The policy on occurrences that fall on holidays of the schedule's calendar.

    SKIP      they are left out
    NEXT      they come at the same time of the next working day (PREVIOUS: of the one before), which is no
              holiday and no weekend
    """

    SKIP = "skip"
    NEXT = "next"
    PREVIOUS = "previous"


class OnHoliday(msgspec.Struct, frozen=True, kw_only=True):
    """An occurrence that falls on a holiday: its time, the holiday, and when it runs instead, if at all."""

    due: Instant
    holiday: str
    moved_to: Instant | None = None


class HolidayCalendar(Protocol):
    """The methods of a calendar that a schedule calls. `Calendar` has them; few schedules have a calendar."""

    def next_after(self, schedule: "Schedule", after: datetime) -> datetime | None: ...
    def count(self, schedule: "Schedule", after: datetime, until: datetime) -> int: ...
    def on_holidays(self, schedule: "Schedule", after: datetime, until: datetime) -> Iterator[OnHoliday]: ...


class Schedule(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The times of something that recurs; made and checked by `make_schedule`. UTC, in whole milliseconds.

    expression  `rate(5 minutes)`, `cron(0 9 ? * MON-FRI *)` as AWS has it, five fields, or `at(…)`
    timezone    the time zone of the expression: an IANA name
    start, end  no occurrence is before the start or after the end; a rate counts from its start
    calendar    the name of the calendar whose holidays count; unset for none
    holidays    the policy on them; skip if unset

    A task is stored with the name of its calendar. Code that reads the task must give the calendar to its
    schedule, by `know`. Until then, the schedule has no holidays.
    """

    expression: str
    timezone: str = "UTC"
    start: Instant | None = None
    end: Instant | None = None
    calendar: str | UnsetType = UNSET
    holidays: Holidays | UnsetType = UNSET

    def set_calendar(self, calendar: HolidayCalendar | None) -> None:
        """Give the schedule the calendar that it names; None if that does not exist."""
        self.__dict__["days"] = calendar

    @property
    def days(self) -> HolidayCalendar | None:
        """The calendar that `set_calendar` has given it."""
        return self.__dict__.get("days")

    @cached_property
    def plain(self) -> "Schedule":
        """The schedule without its calendar."""
        return msgspec.structs.replace(self, calendar=UNSET, holidays=UNSET)

    def check(self) -> None:
        """Raise InvalidSchedule if this version cannot read the expression, or has no such time zone."""
        _parse(self.expression)
        zone_of(self.timezone)

    def next_after(self, instant: datetime) -> datetime | None:
        """The first occurrence strictly after this instant, in UTC; None when there is none any more."""
        instant, last = self._bounded(instant, LATEST)
        if instant >= last:
            return None
        if days := self.days:
            return days.next_after(self, instant)
        found = self._next_after(instant)
        return found if found is not None and found <= last else None

    def latest(self, after: datetime, until: datetime, n: int) -> list[datetime]:
        """The last n occurrences after `after`, up to and with `until`, in order."""
        found: list[datetime] = []
        while len(found) < n and (last := self._last(after, until)) is not None:
            found.append(last)
            until = last - MILLISECOND
        return found[::-1]

    def count(self, after: datetime, until: datetime) -> int:
        """Count the occurrences after `after`, up to and with `until`, by arithmetic."""
        after, until = self._bounded(after, until)
        if after >= until:
            return 0
        if days := self.days:
            return days.count(self, after, until)
        meaning = _parse(self.expression)
        if isinstance(meaning, Cron):
            return count_matches(meaning, zone_of(self.timezone), after, until)
        if isinstance(meaning, datetime):
            return len(self.latest(after, until, 1))
        anchor = self.start or after
        return (until - anchor) // meaning - (after - anchor) // meaning

    def occurrences(self, after: datetime) -> Iterator[datetime]:
        """The occurrences after this instant, in order."""
        at = self.next_after(after)
        while at is not None:
            yield at
            at = self.next_after(at)

    def preview(self, n: int, now: datetime) -> list[datetime]:
        """The next n occurrences."""
        return list(islice(self.occurrences(now), n))

    def on_holidays(self, after: datetime, until: datetime, most: int) -> tuple[OnHoliday, ...]:
        """The first occurrences between these times that fall on holidays, and when they run instead."""
        if not (days := self.days):
            return ()
        return tuple(islice(days.on_holidays(self, *self._bounded(after, until)), most))

    def describe(self) -> str:
        """The schedule in words: `every weekday at 09:00, Europe/Berlin`."""
        from .wording import words_for  # noqa: PLC0415 (for people: the worker never needs it)

        return words_for(
            self.expression,
            self.timezone,
            start=self.start,
            end=self.end,
            calendar=self.calendar or None,
            holidays=self.holidays or Holidays.SKIP,
        )

    def _next_after(self, instant: datetime) -> datetime | None:
        meaning = _parse(self.expression)
        if isinstance(meaning, Cron):
            return next_match(meaning, zone_of(self.timezone), instant)
        if isinstance(meaning, datetime):
            at = to_utc(instant_of(meaning, zone_of(self.timezone)))
            return at if at > instant else None
        anchor = self.start or instant
        return anchor + max(0, (instant - anchor) // meaning + 1) * meaning

    def _bounded(self, after: datetime, until: datetime) -> tuple[datetime, datetime]:
        """Both instants in UTC, within the schedule's bounds and the years that a rule can ring in."""
        after = min(max(after, _BEFORE_ALL), LATEST).astimezone(UTC)
        if self.start is not None and self.start > after:
            after = self.start - MILLISECOND
        until = max(min(until, self.end or LATEST, LATEST), _BEFORE_ALL).astimezone(UTC)
        return after, until

    def _last(self, after: datetime, until: datetime) -> datetime | None:
        """The last occurrence after `after`, up to and with `until`, by halving the time between them."""
        last = self.next_after(after)
        if last is None or last > until:
            return None
        none_after = until
        while none_after - last >= _MINUTE:  # no two occurrences are nearer than that
            middle = last + (none_after - last) / 2
            found = self.next_after(middle)
            if found is None or found > until:
                none_after = middle
            else:
                last = found
        return last


def make_schedule(
    expression: str,
    *,
    timezone: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    calendar: str | UnsetType | None = None,
    holidays: Holidays | UnsetType | None = None,
    calendars: Callable[[str], HolidayCalendar] | None = None,
    now: datetime,
) -> Schedule:
    """The schedule that a user asks for, checked. A rate without a start counts from `now`.

    calendars  returns the calendar of a name; if not given, it is not checked that the calendar exists

    Raises InvalidSchedule with the field and the reason, if it cannot be read or has no occurrence.
    """
    if not isinstance(expression, str):
        raise _invalid(f"must be text, not {type(expression).__name__}")
    if len(expression) > MAX_EXPRESSION:
        raise _invalid(f"must be at most {MAX_EXPRESSION:,} characters, not {len(expression):,}")
    expression = " ".join(expression.split())
    meaning = _parse(expression)
    if holidays and holidays not in set(Holidays):
        raise InvalidSchedule("holidays", f"must be skip, next or previous, not {quoted(holidays)}")
    schedule = Schedule(
        expression=expression,
        timezone=zone_of("UTC" if timezone is None else timezone).key,
        # Rounded down: if the start were after `now`, it would be the first occurrence itself.
        start=floor(now.astimezone(UTC))
        if start is None and isinstance(meaning, timedelta)
        else _instant("start", start),
        end=_instant("end", end),
        calendar=calendar or UNSET,
        holidays=Holidays(holidays) if holidays else UNSET,
    )
    if holidays and not calendar:
        raise InvalidSchedule("holidays", "needs a calendar, and none is given")
    if calendar and calendars:
        schedule.set_calendar(calendars(calendar))
    if schedule.next_after(now) is None:
        first = msgspec.structs.replace(schedule, end=None).next_after(now)
        if schedule.end and first and first > schedule.end:
            raise InvalidSchedule("end", f"{end} is before the first time, {first}")
        until = schedule.end or f"the year {LATEST.year + 1}"
        since = max(now, schedule.start or now)
        what = f"{shortened(expression)} in {schedule.timezone}"
        raise _invalid(f"{what} never comes before {until}, counted from {since}")
    return schedule


@lru_cache(maxsize=1024)
def _parse(expression: str) -> Cron | timedelta | datetime:
    """The meaning of an expression: fields, an interval, or a naive time. Raises InvalidSchedule."""
    if rate := _RATE.fullmatch(expression):
        number, plural = int(rate[1]), rate[3]
        interval = number * _UNITS[rate[2].lower()]
        if number and bool(plural) == (number > 1) and interval <= _LONGEST:
            return interval
    if at := _AT.fullmatch(expression):
        return _naive(at[1].strip())
    if cron := _CRON.fullmatch(expression):
        return parse_aws(cron[1])
    if expression.lower().startswith("rate"):
        raise _invalid(
            f"{quoted(expression)}: write rate(1 hour) or rate(5 minutes): some minutes, hours or days, "
            "up to 230 years"
        )
    return parse_classic(expression)


def _naive(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise _invalid(f"at(…): {quoted(text)} is no date and time such as 2026-12-31T09:00:00") from None
    if at.tzinfo is not None:
        raise _invalid(f"at({shortened(text)}): leave the offset out, and give the time zone beside it")
    if not FIRST_YEAR <= at.year <= LATEST.year:
        raise _invalid(f"at({shortened(text)}) is not within {FIRST_YEAR} to {LATEST.year}")
    return at


def _instant(field: str, given: datetime | None) -> datetime | None:
    if given is None:
        return None
    if not isinstance(given, datetime) or given.utcoffset() is None:  # type: ignore[redundant-expr]
        raise InvalidSchedule(field, f"must be a datetime with a time zone, not {quoted(given)}")
    try:
        return to_utc(given)
    except OverflowError:
        raise InvalidSchedule(field, f"{given} is beyond the end of the calendar") from None
