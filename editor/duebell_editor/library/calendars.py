"""Calendars of holidays: from the library `holidays` or an iCalendar file, and stored."""

import importlib
import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from functools import partial
from typing import Any

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.errors import InvalidInput, TaskConflict
from duebell_shared.queue.task_queue import TRIES
from duebell_shared.quoting import quoted
from duebell_shared.schedules.calendars import Calendar, Calendars

#: The most years at a time.
_MOST_YEARS = 50

#: Parameters of a property of an iCalendar file; a colon in quotes does not end them.
_PARAMETERS = r'(?:;(?:"[^"]*"|[^":])*)?'

#: Each line is a property, and its name may have any case.
_BY_LINE = re.MULTILINE | re.IGNORECASE

_ICS_DAY = re.compile(rf"^(DTSTART|DTEND){_PARAMETERS}:(\d{{4}})(\d\d)(\d\d)\s*$", _BY_LINE)


def country_calendar(country: str, subdivision: str | None, years: Iterable[int]) -> Calendar:
    """The public holidays of a country or a part of it, by the library `holidays`. Raises InvalidInput."""
    try:
        library: Any = importlib.import_module("holidays")
    except ImportError:
        raise InvalidInput(
            "country", "needs the package holidays: pip install 'duebell[calendars]'"
        ) from None
    wanted = sorted(set(years))
    if not wanted or len(wanted) > _MOST_YEARS:
        raise InvalidInput("years", f"must be 1 to {_MOST_YEARS} years, such as 2026-2030, not {len(wanted)}")
    try:
        found = library.country_holidays(country, subdiv=subdivision, years=wanted)
    except NotImplementedError as error:
        raise InvalidInput("country", str(error)) from None
    days = {day: name for day, name in sorted(found.items()) if day.year in wanted}
    source = f"{country}-{subdivision}" if subdivision else country
    weekend = tuple(sorted(found.weekend))
    return Calendar(days=days, ends=date(wanted[-1], 12, 31), weekend=weekend, source=source)


def ics_calendar(text: str, *, source: str = "") -> Calendar:
    """The all-day events of an iCalendar file. Raises InvalidInput, also for events that recur.

    https://www.rfc-editor.org/rfc/rfc5545#section-3.6.1
    """
    days: dict[date, str] = {}
    unfolded = re.sub(r"\r?\n[ \t]", "", text).replace("\r\n", "\n")
    unfolded = re.sub(r"^BEGIN:VALARM\s*\n.*?^END:VALARM\s*\n", "", unfolded, flags=_BY_LINE | re.DOTALL)
    for event in re.findall(r"^BEGIN:VEVENT\s*\n(.*?)^END:VEVENT\s*$", unfolded, _BY_LINE | re.DOTALL):
        if re.search(r"^STATUS:CANCELLED\s*$", event, _BY_LINE):
            continue
        summary = re.search(rf"^SUMMARY{_PARAMETERS}:(.*)$", event, _BY_LINE)
        said = summary[1].strip() if summary else "holiday"
        name = re.sub(r"\\(.)", lambda found: " " if found[1] in "nN" else found[1], said)
        if re.search(r"^(RRULE|RDATE)", event, _BY_LINE):
            raise InvalidInput("file", f"its event {quoted(name)} recurs: export it with single events")
        try:
            at = {key.upper(): date(*map(int, rest)) for key, *rest in _ICS_DAY.findall(event)}
            if first := at.get("DTSTART"):
                days |= {first + timedelta(days=day): name for day in range(_length(name, event, at))}
        except (OverflowError, ValueError) as error:
            raise InvalidInput("file", f"its event {quoted(name)} has no such day: {error}") from None
    if not days:
        raise InvalidInput("file", "has no all-day events: it must be an iCalendar file (.ics)")
    return Calendar(days=days, ends=date(max(days).year, 12, 31), source=source)


def _length(name: str, event: str, at: Mapping[str, date]) -> int:
    """The days that an event lasts, at most a year. Raises InvalidInput for a duration of hours."""
    lasts = re.search(rf"^DURATION{_PARAMETERS}:(.*)$", event, _BY_LINE)
    units = re.fullmatch(r"P(\d{1,9})([DW])", lasts[1].strip()) if lasts else None
    if lasts and not units:
        raise InvalidInput("file", f"its event {quoted(name)} does not last whole days: {lasts[1].strip()}")
    days = int(units[1]) * (7 if units[2] == "W" else 1) if units else 1
    days = (at["DTEND"] - at["DTSTART"]).days if "DTEND" in at else days
    return min(max(days, 1), 366)


def import_calendar(backend: Backend, name: str, calendar: Calendar, *, by: str | None) -> None:
    """Store the calendar under this name, in place of an earlier one. Raises InvalidInput, TaskConflict."""
    for _ in range(TRIES):
        known = backend.store.read(Calendars)
        changed = (known or Calendars()).changed(name, calendar)
        if backend.store.swap(known, changed):
            backend.audit.note("import_calendar", by, detail=name)
            backend.armer.change(partial(msgspec.structs.replace, calendars=len(changed.calendars)))
            return
    raise TaskConflict("the calendars keep changing: try again")
