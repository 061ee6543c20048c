"""A schedule: an expression of when something recurs, in a time zone, between a start and an end."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from .cron import Cron, parse_aws, parse_classic
from .errors import InvalidSchedule
from .instants import LATEST, MILLISECOND, Instant, floor, to_utc
from .quoting import quoted, shortened
from .wall_clock import instant_of, next_match

__all__ = ["MAX_EXPRESSION", "Schedule", "make_schedule", "zone_of"]

_RATE = re.compile(r"rate\(\s*([0-9]{1,9})\s+(minutes?|hours?|days?)\s*\)", re.IGNORECASE)
_AT = re.compile(r"at\((.*)\)", re.IGNORECASE)
_CRON = re.compile(r"cron\((.*)\)", re.IGNORECASE)

_UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}

#: From the first year of a rule to its last.
_LONGEST = timedelta(days=230 * 366)

#: Before every occurrence in any time zone: years begin with 1970.
_BEFORE_ALL = datetime(1969, 12, 30, tzinfo=UTC)

#: What a system's folder of time zones holds beside IANA's: its own setting, and copies, of which those with
#: leap seconds are off by half a minute. The Lambda has none of them, or others.
_NOT_IANA = re.compile(r"localtime|posixrules|(posix|right)/.*")

_MINUTE = timedelta(minutes=1)

#: The longest expression, in characters: it is read each time that the task is.
MAX_EXPRESSION = 1_024


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """When something recurs. Made and checked by `make_schedule`. Times are UTC, in whole milliseconds.

    expression  `rate(5 minutes)`, `cron(0 9 ? * MON-FRI *)` as AWS has it, five fields, or `at(…)`
    timezone    where the expression is read: an IANA name
    start, end  no occurrence is before the one or after the other; a rate counts from its start
    """

    expression: str
    timezone: str = "UTC"
    start: Instant | None = None
    end: Instant | None = None

    def check(self) -> None:
        """Raise InvalidSchedule if this version cannot read the expression, or has no such time zone."""
        _parse(self.expression)
        zone_of(self.timezone)

    def first(self, now: datetime) -> datetime | None:
        """The first occurrence after `now`, which may be the start itself; None if there is none."""
        return self.next_after(now)

    def next_after(self, instant: datetime) -> datetime | None:
        """The first occurrence strictly after this instant, in UTC; None when there is none any more."""
        last = min(self.end or LATEST, LATEST)
        if self.start is not None and self.start > instant:
            instant = self.start - MILLISECOND
        if instant >= last:
            return None
        found = self._next_after(max(instant, _BEFORE_ALL))
        return found if found is not None and found <= last else None

    def latest(self, after: datetime, until: datetime, n: int) -> list[datetime]:
        """The last n occurrences after the one instant and up to the other, in order."""
        found: list[datetime] = []
        while len(found) < n and (last := self._last(after, until)) is not None:
            found.append(last)
            until = last - MILLISECOND
        return found[::-1]

    def count(self, after: datetime, until: datetime, most: int) -> int:
        """How many occurrences there are after the one instant and up to the other, counted up to `most`."""
        count = 0
        while count < most and (instant := self.next_after(after)) is not None and instant <= until:
            after = instant
            count += 1
        return count

    def preview(self, n: int, now: datetime) -> list[datetime]:
        """The next n occurrences."""
        occurrences: list[datetime] = []
        while len(occurrences) < n and (instant := self.next_after(now)) is not None:
            occurrences.append(instant)
            now = instant
        return occurrences

    def describe(self) -> str:
        """The schedule in words: `every weekday at 09:00, Europe/Berlin`."""
        from .wording import words_for  # noqa: PLC0415 (for people: the worker never needs it)

        return words_for(self)

    def _next_after(self, instant: datetime) -> datetime | None:
        meaning = _parse(self.expression)
        if isinstance(meaning, Cron):
            return next_match(meaning, ZoneInfo(self.timezone), instant)
        if isinstance(meaning, datetime):
            at = to_utc(instant_of(meaning, ZoneInfo(self.timezone)))
            return at if at > instant else None
        anchor = self.start or instant
        return anchor + max(0, (instant - anchor) // meaning + 1) * meaning

    def _last(self, after: datetime, until: datetime) -> datetime | None:
        """The last occurrence after the one instant and up to the other, by halving the time between."""
        last = self.next_after(after)
        if last is None or last > until:
            return None
        none_after = until
        while none_after - last >= _MINUTE:  # no two are nearer to each other than that
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
    now: datetime,
) -> Schedule:
    """The schedule that a user asks for, checked. `now` is what a rate without a start counts from: it comes
    first when one interval has passed.

    Raises InvalidSchedule with the field and the reason: it cannot be read, or never comes.
    """
    if not isinstance(expression, str):
        raise InvalidSchedule("schedule", f"must be text, not {type(expression).__name__}")
    if len(expression) > MAX_EXPRESSION:
        raise InvalidSchedule(
            "schedule", f"must be at most {MAX_EXPRESSION:,} characters, not {len(expression):,}"
        )
    expression = " ".join(expression.split())
    meaning = _parse(expression)
    schedule = Schedule(
        expression=expression,
        timezone=zone_of("UTC" if timezone is None else timezone).key,
        start=_counted_from(now)
        if start is None and isinstance(meaning, timedelta)
        else _instant("start", start),
        end=_instant("end", end),
    )
    if schedule.first(now) is None:
        raise _never(schedule, meaning, now)
    return schedule


def _counted_from(now: datetime) -> datetime:
    """Not after now, whatever its microseconds: else that would be the first occurrence already."""
    return floor(now.astimezone(UTC))


@lru_cache(maxsize=1024)
def _parse(expression: str) -> Cron | timedelta | datetime:
    """What an expression means: fields, an interval, or a naive time. Raises InvalidSchedule."""
    if rate := _RATE.fullmatch(expression):
        return _interval(int(rate[1]), rate[2].lower())
    if at := _AT.fullmatch(expression):
        return _naive(at[1].strip())
    if cron := _CRON.fullmatch(expression):
        return parse_aws(cron[1])
    if expression.lower().startswith("rate"):
        raise InvalidSchedule(
            "schedule",
            f"{quoted(expression)}: write rate(5 minutes): a whole number of minutes, hours or days",
        )
    return parse_classic(expression)


def _interval(number: int, unit: str) -> timedelta:
    name = unit.removesuffix("s")
    if number == 0:
        raise InvalidSchedule("schedule", f"rate(0 {unit}) never gets on: give 1 {name} or more")
    right = name if number == 1 else f"{name}s"
    if unit != right:
        raise InvalidSchedule("schedule", f"rate({number} {unit}): write rate({number} {right})")
    if number * _UNITS[name] > _LONGEST:
        raise InvalidSchedule(
            "schedule", f"rate({number} {unit}) never comes before the year {LATEST.year + 1}"
        )
    return number * _UNITS[name]


def _naive(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSchedule(
            "schedule", f"at(…): {quoted(text)} is no date and time such as 2026-12-31T09:00:00"
        ) from None
    if at.tzinfo is not None:
        raise InvalidSchedule(
            "schedule", f"at({shortened(text)}): leave the offset out, and give the time zone beside it"
        )
    if at.year > LATEST.year:
        raise InvalidSchedule(
            "schedule", f"at({shortened(text)}) is after {LATEST:%Y}, the last year a rule can ring in"
        )
    return at


def zone_of(name: str) -> ZoneInfo:
    """The time zone of this IANA name. Raises InvalidSchedule, with names that are like it."""
    try:
        if _NOT_IANA.fullmatch(name):
            raise KeyError(name)  # noqa: TRY301 (as if it were not there)
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        import difflib  # noqa: PLC0415 (only to be kind)
        import zoneinfo  # noqa: PLC0415

        known = sorted(zone for zone in zoneinfo.available_timezones() if not _NOT_IANA.fullmatch(zone))
        near = difflib.get_close_matches(shortened(name), known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else ", such as Europe/Berlin"
        raise InvalidSchedule("timezone", f"{quoted(name)} is no IANA time zone{hint}") from None


def _instant(field: str, given: datetime | None) -> datetime | None:
    if given is None:
        return None
    if not isinstance(given, datetime) or given.utcoffset() is None:  # type: ignore[redundant-expr]
        raise InvalidSchedule(field, f"must be a datetime with a time zone, not {quoted(given)}")
    try:
        return to_utc(given)
    except OverflowError:
        raise InvalidSchedule(field, f"{given} is beyond the end of the calendar") from None


def _never(schedule: Schedule, meaning: Cron | timedelta | datetime, now: datetime) -> InvalidSchedule:
    """Why a schedule has no occurrence after now."""
    without_end = msgspec.structs.replace(schedule, end=None)
    if schedule.end is not None and (first := without_end.first(now)) is not None:
        return InvalidSchedule("end", f"{schedule.end} is before the first time, {first}")
    if schedule.start is not None and schedule.start > LATEST:
        return InvalidSchedule("start", f"is after {LATEST:%Y}, the last year a rule can ring in")
    if isinstance(meaning, datetime):
        return InvalidSchedule(
            "schedule", f"{shortened(schedule.expression)} is over: give a time to come, or use `due`"
        )
    if isinstance(meaning, Cron) and not _has_days(meaning):
        day, month = meaning.fields[2], meaning.fields[3]
        return InvalidSchedule("schedule", f"day-of-month {quoted(day)} never comes in month {quoted(month)}")
    if isinstance(meaning, Cron) and meaning.years is not None:
        return InvalidSchedule(
            "schedule", f"year {quoted(meaning.fields[-1])}: such a time does not come any more"
        )
    expression = shortened(schedule.expression)
    return InvalidSchedule("schedule", f"{expression} never comes before the year {LATEST.year + 1}")


def _has_days(cron: Cron) -> bool:
    """Whether there is such a day at all: within 28 years every weekday falls on every date."""
    cron = msgspec.structs.replace(cron, years=None)
    return any(cron.days_of(year, month) for year in range(2000, 2028) for month in range(1, 13))
