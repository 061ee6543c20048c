"""The calendars of a queue, read when a schedule has one."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from duebell_shared.errors import InvalidSchedule
from duebell_shared.instants import FIRST
from duebell_shared.quoting import nearest, quoted
from duebell_shared.schedules.calendars import Calendar, Calendars
from duebell_shared.tasks.task import Task

from .store import Store

_EVERY = timedelta(minutes=1)


class KnownCalendars:
    """The calendars of a queue, as they were at most a minute ago."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store, self._clock = store, clock
        self._read_at = FIRST
        self._calendars: Mapping[str, Calendar] = {}

    def named(self, name: str) -> Calendar:
        """The calendar of this name. Raises InvalidSchedule, and errors of the store."""
        self._refresh(at_once=True)
        if found := self._calendars.get(name):
            return found
        near = nearest(name, sorted(self._calendars))
        hint = f"did you mean {near}?" if near else f"`duebell calendar import {name}` makes it"
        raise InvalidSchedule("calendar", f"{quoted(name)} does not exist: {hint}")

    def attach(self, task: Task) -> bool:
        """Give the task's schedule its calendar; false if there is none. Raises errors of the store."""
        schedule = task.recurrence.schedule if task.recurrence else None
        if schedule is None or not schedule.calendar:
            return True
        self._refresh()
        schedule.know(self._calendars.get(schedule.calendar))
        return schedule.days is not None

    def _refresh(self, *, at_once: bool = False) -> None:
        now = self._clock()
        if at_once or not self._read_at <= now < self._read_at + _EVERY:
            self._calendars = (self._store.read(Calendars) or Calendars()).calendars
            self._read_at = now
