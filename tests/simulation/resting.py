"""Calendars in a history: recurring tasks that rest on a holiday, which ends or begins within the history."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from duebell import Editor, Task
from duebell_shared.backend import Backend
from duebell_shared.schedules.calendars import Calendar

from .notes import Start
from .world import Process, World

__all__ = ["Resting"]

#: Where a day begins an hour after a history does; its first day there, and the second.
_ZONE, _DAYS = "Etc/GMT-11", (date(2026, 11, 21), date(2026, 11, 22))

_ACTIONS = ("quick", "flaky", "bad", "asks")


class Resting:
    """Adds some recurring tasks with calendars, and tells what went wrong with them.

    skipped  how many tasks passed over the holiday
    """

    def __init__(
        self,
        seed: int,
        world: World,
        connect: Callable[[Process], Backend],
        insist: Callable[[Process, Callable[[], object]], bool],
    ) -> None:
        """Its chances are of its own. `insist` makes a call of a process again until it is answered."""
        self.skipped = 0
        self._random = Random(seed + 19)
        self._off = self._random.choice(_DAYS)
        self._world = world
        self._connect = connect
        self._insist = insist

    def start(self) -> None:
        """Have recurring tasks added at some time, each by a process that comes again when it dies."""
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
            self._world.after(self._random.uniform(0, 600), partial(self._live, given, 0))

    def _live(self, given: Mapping[str, Any], life: int) -> None:
        process = Process(self._world, f"{given['id']}.{life}", skew=0)
        calendar = Calendar(days={self._off: "off"}, ends=date(2030, 12, 31))

        def main() -> None:
            editor = Editor(backend=self._connect(process))
            while not self._insist(process, partial(editor.import_calendar, "days-off", calendar)):
                process.sleep(1)  # another process imports it
            self._insist(process, partial(editor.add, **given, if_exists="keep"))

        process.start(
            main,
            on_death=lambda: self._world.after(
                self._random.uniform(1, 30), partial(self._live, given, life + 1)
            ),
        )

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> Iterator[str]:
        """The starts for a skipped day, and the tasks that did not go on after it."""
        for task in tasks:
            if not task.id.startswith("resting-"):
                continue
            for due in (task.due, *(one.due for one in task.occurrences)):
                if _day(due) == self._off:
                    yield f"{task.id} has an occurrence on the skipped day, at {due}"
            if self._off == _DAYS[0]:
                yield from (
                    f"{task.id} was started on the skipped day, at {start.clock}"
                    for start in starts
                    if start.id == task.id and _day(start.clock) == self._off
                )
                if not task.status.is_finished:
                    yield f"{task.id} is {task.status} after the skipped day, due at {task.due}"
            elif _day(task.due) != self._off + timedelta(days=1):
                yield f"{task.id} is due at {task.due}, not after the skipped day"
            self.skipped += 1


def _day(at: datetime) -> date:
    return at.astimezone(ZoneInfo(_ZONE)).date()
