"""Histories in which someone pauses actions, limits and closes them, until all are as declared."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from duebell import Editor, Task

from .faults import Faults
from .history import Over
from .limited import Limited
from .notes import LIMITS, Start
from .world import Process

__all__ = ["Pausing", "everything"]

#: Seconds in which actions are limited, for how long each, and when all of them are as declared again.
_BUSY, _FOR, _OVER = 2400, (5, 60, 600, 1800, 3600), 6600

_CHANGES: tuple[dict[str, Any], ...] = (
    {"at_most": 0},
    {"per_second": 0},
    {"at_most": 1},
    {"per_second": 0.01},
)

_DECLARED: dict[str, Any] = {"at_most": None, "per_second": None, "closed": None}

#: Closed hours: the minutes until they begin, and for how many an action is closed then.
_CLOSES_IN, _CLOSED_FOR = (0, 1, 7, 20), (1, 3, 15, 45)

#: Runs that are under way follow another limit so soon, by true time.
_FOLLOWS = timedelta(seconds=75)

#: The time from the look whether an action is closed to its start, where nothing goes wrong.
_STARTS_IN = timedelta(seconds=5)


class Closure(msgspec.Struct):
    """A time in which nothing of an action may start, by the clock of its process."""

    action: str
    begins: datetime
    ends: datetime

    def has(self, at: datetime) -> bool:
        return self.begins <= at < self.ends


class Pausing(Limited):
    """A history in which actions are limited anew, and none is late from when it goes on as declared.

    parked    how many starts were of tasks that had been parked
    reopened  how many starts were of tasks that had come due while their action was closed
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.parked = self.reopened = 0
        self._closures: list[Closure] = []
        self._begun: list[tuple[Start, str]] = []
        self._held: set[str] = set()
        # When an action was limited the last time
        self._limited_at: dict[str, datetime] = {}

    def run(self) -> "Pausing":
        """Play it to the end."""
        chance = Random(self.seed + 11)
        closing = Random(self.seed + 13)
        if closing.random() < 0.5:
            for action in closing.sample(self.actions, 4):
                self._close_by_code(action, closing)
        for number in range(chance.randint(1, 4)):
            action, at = chance.choice(self.actions), chance.uniform(0, _BUSY)
            change = chance.choice(_CHANGES)
            if closing.random() < 0.4 and action not in self.closed:
                change = {"closed": None}
            self._limit(f"limits-{number}", at, change, action)
            self._limit(f"lets-go-{number}", at + chance.choice(_FOR), _DECLARED, action)
        self._limit("ends", _OVER, _DECLARED, *LIMITS)
        super().run()
        return self

    def problems(self) -> list[str]:
        """The promises that this history broke, starts in closed hours among them."""
        slack = timedelta(days=1) if self.faults.any else _STARTS_IN
        wrong = [
            f"{start.id} was started at {start.clock}, in the closed hours from {one.begins} to {one.ends}"
            for start, action in self._begun
            for one in self._closures
            if one.action == action
            and one.has(start.clock)
            and (one.has(start.claimed_at) or start.clock > one.begins + slack)
        ]
        return [*super().problems(), *wrong]

    def _close_by_code(self, action: str, chance: Random) -> None:
        """Have the code declare closed hours, after which tasks must be started in time."""
        begins, ends, hours = self._hours(chance)
        self.closed[action] = hours
        self._closures.append(Closure(action, begins, ends))
        self.held_until[action] = ends

    def _hours(self, chance: Random) -> tuple[datetime, datetime, str]:
        """A window that begins soon, and how it is written."""
        begins = self.world.now.replace(second=0, microsecond=0)
        begins += timedelta(minutes=chance.choice(_CLOSES_IN))
        ends = begins + timedelta(minutes=chance.choice(_CLOSED_FOR))
        return begins, ends, f"{begins:%H:%M}-{ends:%H:%M}"

    def _close(self, process: Process, editor: Editor, action: str) -> None:
        """Close the action by a limit; from when runs know of it, nothing may start."""
        begins, ends, hours = self._hours(Random(self.seed + 17 + len(self._closures)))
        is_set = self._insist(process, partial(editor.limit, action, closed=hours))
        if is_set and not self.faults.any:  # else a run whose calls fail may not know of it for minutes
            self._closures.append(Closure(action, max(begins, self.world.now + _FOLLOWS), ends))

    def _limit(self, name: str, seconds: float, limit: dict[str, Any], *actions: str) -> None:
        """Have a process change the limits of these actions in so many seconds; another one if that dies."""

        def start(life: int) -> None:
            process = Process(self.world, f"{name}.{life}", skew=0)
            process.start(
                partial(change, process),
                on_death=lambda: self.world.after(10, partial(start, life + 1)),
            )

        def change(process: Process) -> None:
            editor = Editor(backend=self._backend(process))
            for action in actions:
                set_limit = partial(editor.limit, action, **limit)
                for one in self._closures:  # another override takes the place of this one
                    if action == one.action and action not in self.closed:
                        one.ends = min(one.ends, self.world.now)
                if limit == {"closed": None}:
                    self._close(process, editor, action)
                    self._held.add(action)
                    self._limited_at[action] = self.world.now
                elif limit is not _DECLARED:
                    self._insist(process, set_limit)
                    self._held.add(action)
                    self._limited_at[action] = self.world.now
                else:
                    self._let_go(process, action, set_limit)

        self.world.after(seconds, partial(start, 0))

    def _let_go(self, process: Process, action: str, lift: Callable[[], object]) -> None:
        """Lift the limit; again if another call has limited the action meanwhile, perhaps after the lift."""
        begun = self.world.now
        self._insist(process, lift)
        while self._limited_at.get(action, begun) > begun:
            begun = self.world.now
            self._insist(process, lift)
        if action in self._held:
            self._held.remove(action)
            self.held_until[action] = max(self.world.now, self.held_until.get(action, self.world.now))

    def _note_start(self, process: Process, task: Task) -> None:
        if task.limited_since and task.queued and task.queued > process.clock():
            # It was parked until a time ahead, and its action goes on.
            self.parked += 1
            task = replace(task, queued=task.limited_since)
        super()._note_start(process, task)
        self._begun.append((self.starts[-1], task.action))
        since = task.limited_since
        self.reopened += any(one.action == task.action and one.has(since) for one in self._closures if since)


def everything(seed: int, faults: Faults, *, over: Over = Over.TWIN) -> Pausing:
    """A history with limits, pauses and most else: all of it with all, over many seeds."""
    return Pausing(
        seed,
        faults,
        over=over,
        follows=seed % 5 != 0,
        puts_off=seed % 2 == 0,
        relanes=seed % 3 == 0,
        transactions=seed % 4 == 0,
        times_out=seed % 3 != 1,
        batches=seed % 4 != 1,
        rests=seed % 7 < 4,
    )
