"""Calendars in a history: recurring tasks that rest on a holiday, which ends or begins within the history."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from duebell import Task
from duebell_shared.schedules.calendars import Calendar
from tests.simulation.world import Process

from .part import Part, Start

#: A time zone whose day begins an hour after a history; its first day there, and the second.
_ZONE, _DAYS = "Etc/GMT-11", (date(2026, 11, 21), date(2026, 11, 22))

_ACTIONS = ("quick", "flaky", "bad", "asks")


class Resting(Part):
    """Adds some recurring tasks with calendars, and tells what went wrong with them."""

    salt = 19

    def start(self) -> None:
        self._off = self._random.choice(_DAYS)
        for number in range(self._random.randint(1, 2)):
            given = {
                "action": self._random.choice(_ACTIONS),
                "schedule": f"*/{self._random.choice([1, 2, 10])} * * * *",
                "timezone": _ZONE,
                "calendar": "days-off",
                "max_runs": 4 if self._off == _DAYS[0] else None,
                "missed": self._random.choice(["once", "all", "skip"]),
                "id": f"resting-{number}",
            }
            live = partial(self._live, f"resting-{number}", partial(self._add, given))
            self._world.after(self._random.uniform(0, 600), live)

    def _add(self, given: Mapping[str, Any], process: Process) -> None:
        editor, insist = self._editor(process), self._played.insist
        calendar = Calendar(days={self._off: "off"}, ends=date(2030, 12, 31))
        while not insist(process, partial(editor.import_calendar, "days-off", calendar)):
            process.sleep(1)  # another process imports it
        insist(process, partial(editor.add, **given, if_exists="keep"))

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> Iterator[str]:
        for task in tasks:
            if not task.id.startswith("resting-"):
                continue
            self._count["days off"] += 1
            for due in (task.due, *(one.due for one in task.occurrences)):
                if _day(due) == self._off:
                    yield f"{task.id} has an occurrence on the skipped day, at {due}"
            if self._off == _DAYS[0]:
                for start in starts:
                    if start.id == task.id and _day(start.clock) == self._off:
                        yield f"{task.id} was started on the skipped day, at {start.clock}"
                if not task.status.is_finished:
                    yield f"{task.id} is {task.status} after the skipped day, due at {task.due}"
            elif _day(task.due) != self._off + timedelta(days=1):
                yield f"{task.id} is due at {task.due}, not after the skipped day"


def _day(at: datetime) -> date:
    return at.astimezone(ZoneInfo(_ZONE)).date()
