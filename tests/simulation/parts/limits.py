"""Limits of actions in a history: they hold, or someone pauses, limits and closes actions anew."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from duebell import Task
from duebell_shared.instants import NEVER
from tests.simulation.world import Process

from .hosting import Hosting
from .part import LIMITS, Act, Part, Start

#: The limits that the code declares, by action.
_PER_SECOND = {"quick": 0.2, "flaky": 0.05}
_AT_MOST = {"slow": 3, "killer": 1}

#: The time from the start that the semaphore counts to that of the action: a last attempt is recorded.
_SLACK = timedelta(seconds=5)

#: Seconds in which actions are limited, for how long each, and when all of them are as declared again.
_BUSY, _FOR, _OVER = 2400, (5, 60, 600, 1800, 3600), 6600

_CHANGES: tuple[dict[str, Any], ...] = (
    {"at_most": 0},
    {"per_second": 0},
    {"at_most": 1},
    {"per_second": 0.01},
)

#: Further limits of an action, if there are processes.
_RAISES: tuple[dict[str, Any], ...] = ({"at_most": 5}, {"per_second": 10.0})

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


class Limits(Part):
    """Declares limits, which hold where clocks agree and no process stands still past its lease.

    are_changed  users limit, close and pause actions; none is late from when it goes on as declared
    held_until   when an action that was limited or closed went on as declared
    """

    salt = 11
    are_changed = False

    def start(self) -> None:
        self.held_until: dict[str, datetime] = {}
        self._closed: dict[str, str] = {}
        self._closures: list[Closure] = []
        self._pauses: list[Closure] = []
        self._held: set[str] = set()
        self._limited_at: dict[str, datetime] = {}
        self._started: dict[str, list[datetime]] = {}
        self._under_way: dict[str, list[Process]] = {}
        self._most: dict[str, int] = {}
        if self.are_changed:
            self._change_limits()

    def _change_limits(self) -> None:
        actions, chance = self._played.actions, self._random
        closing = Random(self._played.seed + 13)
        changes = (*_CHANGES, *_RAISES) if self._played.part(Hosting) else _CHANGES
        if closing.random() < 0.5:
            for action in closing.sample(actions, 4):
                begins, ends, self._closed[action] = self._hours(closing)
                self._closures.append(Closure(action, begins, ends))
                self.held_until[action] = ends
        for number in range(chance.randint(1, 4)):
            action, at = chance.choice(actions), chance.uniform(0, _BUSY)
            change = chance.choice(changes)
            if closing.random() < 0.4 and action not in self._closed:
                change = {"closed": None}
            self._limit(f"limits-{number}", at, change, action)
            self._limit(f"lets-go-{number}", at + chance.choice(_FOR), _DECLARED, action)
        self._limit("ends", _OVER, _DECLARED, *LIMITS)

    def declared(self, name: str) -> dict[str, Any]:
        return {
            "at_most": _AT_MOST.get(name),
            "per_second": _PER_SECOND.get(name),
            "closed": self._closed.get(name),
        }

    def around(self, name: str, process: Process, act: Act) -> Act:
        def counted(payload: Any, task: Task) -> None:
            since = task.limited_since
            self._count["waited"] += since is not None
            self._count["reopened"] += any(c.action == name and c.has(since) for c in self._closures if since)
            if since and task.queued and task.queued > process.clock() and self.are_changed:
                # It was parked until a time ahead, and its action goes on.
                self._count["parked"] += 1
                task = replace(task, queued=since)
            self._started.setdefault(name, []).append(self._world.now)
            under_way = self._under_way.setdefault(name, [])
            # Lambda freezes a process whose handler has returned, with what runs in it
            under_way[:] = [each for each in under_way if each.is_alive and not each.has_ended]
            under_way.append(process)
            self._most[name] = max(self._most.get(name, 0), len(under_way))
            try:
                act(payload, task)
            finally:
                if process in under_way:
                    under_way.remove(process)

        return counted

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> Iterator[str]:
        faults = self._played.faults
        if not (self.are_changed or faults.skew or faults.pause):
            yield from self._beyond()
        slack = timedelta(days=1) if faults.any else _STARTS_IN
        for start in starts:
            for one in self._closures:
                is_late = one.has(start.claimed_at) or start.clock > one.begins + slack
                if one.action == start.action and one.has(start.clock) and is_late:
                    yield f"{start.id} was started at {start.clock}, in closed hours from {one.begins}"
            for one in self._pauses:
                if one.action == start.action and one.has(start.clock):
                    yield f"{start.id} was started at {start.clock}, paused from {one.begins}"

    def _beyond(self) -> Iterator[str]:
        """The windows with more starts than the rate allows, and the actions with too many at a time."""
        for name, rate in _PER_SECOND.items():
            times = self._started.get(name, [])
            for first in range(len(times)):
                for last in range(first, len(times)):
                    seconds = (times[last] - times[first] + _SLACK).total_seconds()
                    if last - first + 1 > rate * seconds + max(rate, 1):
                        yield f"{name}: {last - first + 1} starts in {seconds} seconds from {times[first]}"
        for name, most in _AT_MOST.items():
            if self._most.get(name, 0) > most:
                yield f"{name}: {self._most[name]} at a time"

    def _hours(self, chance: Random) -> tuple[datetime, datetime, str]:
        begins = self._world.now.replace(second=0, microsecond=0)
        begins += timedelta(minutes=chance.choice(_CLOSES_IN))
        ends = begins + timedelta(minutes=chance.choice(_CLOSED_FOR))
        return begins, ends, f"{begins:%H:%M}-{ends:%H:%M}"

    def _limit(self, name: str, seconds: float, limit: dict[str, Any], *actions: str) -> None:
        """Have a process change the limits of these actions in so many seconds; another one if that dies."""

        def change(process: Process) -> None:
            editor = self._editor(process)
            for action in actions:
                set_limit = partial(editor.limit, action)
                for one in (*self._pauses, *(self._closures if action not in self._closed else ())):
                    if one.action == action:  # another override takes the place of this one
                        one.ends = min(one.ends, self._world.now)
                if limit is _DECLARED:
                    self._let_go(process, action, partial(set_limit, **limit))
                else:
                    self._set(process, action, set_limit, limit)
                    self._held.add(action)
                    self._limited_at[action] = self._world.now

        self._world.after(seconds, partial(self._live, name, change, rest=(10, 10)))

    def _set(self, process: Process, action: str, set_limit: "partial[Any]", limit: dict[str, Any]) -> None:
        """Limit, pause or close the action; from when runs know of it, nothing may start."""
        begins, ends = self._world.now, NEVER
        if limit == {"closed": None}:
            begins, ends, hours = self._hours(Random(self._played.seed + 17 + len(self._closures)))
            limit = {"closed": hours}
        is_set = self._played.insist(process, partial(set_limit, **limit))
        if not is_set or self._played.faults.any:  # a run whose calls fail may not know of it for minutes
            return
        closure = Closure(action, max(begins, self._world.now + _FOLLOWS), ends)
        if "closed" in limit:
            self._closures.append(closure)
        elif 0 in limit.values():
            self._pauses.append(closure)

    def _let_go(self, process: Process, action: str, lift: "partial[Any]") -> None:
        """Lift the limit; again if another call has limited the action meanwhile, perhaps after the lift."""
        begun = self._world.now
        self._played.insist(process, lift)
        while self._limited_at.get(action, begun) > begun:
            begun = self._world.now
            self._played.insist(process, lift)
        if action in self._held:
            self._held.remove(action)
            self.held_until[action] = max(self._world.now, self.held_until.get(action, self._world.now))
