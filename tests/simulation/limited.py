"""Histories whose actions have limits: what was under way at a time, and started in any window."""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

from duebell import Editor, Task

from .history import History
from .long_running import ACTIONS, LongRunning
from .world import Process

__all__ = ["ACTIONS", "AT_MOST", "PER_SECOND", "Changed", "Limited", "LimitedProcesses"]

#: The limits, by action.
PER_SECOND = {"quick": 0.2, "flaky": 0.05}
AT_MOST = {"slow": 3, "killer": 1}

#: What a user sets instead while the history goes on.
_RATES, _AT_A_TIME = (0.02, 0.2, 1.0, 10.0, 0, None), (0, 1, 2, 5, None)


class Limited(History):
    """A history whose actions have limits.

    closed  the closed hours of actions, by their code
    most    the most attempts that were under way at a time in processes that lived, by action
    waited  how many attempts had waited for a limit
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.closed: dict[str, str] = {}
        self.started: dict[str, list[datetime]] = {}
        self.most: dict[str, int] = {}
        self.waited = 0
        self._under_way: dict[str, list[Process]] = {}

    def beyond_rate(self, *, slack: timedelta) -> list[str]:
        """The windows with more starts than the rate allows, each start being late by as much as `slack`."""
        return [
            f"{name}: {last - first + 1} starts from {times[first]:%H:%M:%S} to {times[last]:%H:%M:%S}"
            for name, rate in PER_SECOND.items()
            for times in [self.started.get(name, [])]
            for first in range(len(times))
            for last in range(first, len(times))
            if last - first + 1 > rate * (times[last] - times[first] + slack).total_seconds() + max(rate, 1)
        ]

    def _declared(self, name: str) -> dict[str, Any]:
        limits = {
            "at_most": AT_MOST.get(name),
            "per_second": PER_SECOND.get(name),
            "closed": self.closed.get(name),
        }
        return {**super()._declared(name), **limits}

    def _action(self, name: str, process: Process) -> Callable[[Any, Task], None]:
        act = super()._action(name, process)

        def counted(payload: Any, task: Task) -> None:
            self.waited += task.limited_since is not None
            self.started.setdefault(name, []).append(self.world.now)
            under_way = self._under_way.setdefault(name, [])
            # Lambda freezes a process whose handler has returned, with what runs in it
            under_way[:] = [each for each in under_way if each.is_alive and not hasattr(each, "has_ended")]
            under_way.append(process)
            self.most[name] = max(self.most.get(name, 0), len(under_way))
            try:
                act(payload, task)
            finally:
                if process in under_way:
                    under_way.remove(process)

        return counted


class LimitedProcesses(Limited, LongRunning):
    """A history with long-running processes whose actions have the limits of the Lambda's."""


class Changed(LimitedProcesses):
    """One in which a user sets other limits, raises, lowers and pauses, and takes all away in the end.

    while_paused  the starts of actions that had been paused for longer than runs take to follow
    """

    #: A run that is under way follows when it renews its lease, and the start itself takes a moment.
    _FOLLOWS = timedelta(seconds=75)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._user = Random(self.seed + 12)
        self._paused: dict[str, datetime] = {}
        self.while_paused: list[str] = []

    def run(self) -> "Changed":
        """Play it to the end."""
        self.world.after(self._user.uniform(0, 60), self._have_changed)
        super().run()
        return self

    def _have_changed(self) -> None:
        process = Process(self.world, "limiter", skew=self._skew_of(self._user))
        process.start(lambda: self._change_limits(process), on_death=self._come_again)

    def _come_again(self) -> None:
        self.world.after(self._user.uniform(1, 30), self._have_changed)

    def _change_limits(self, process: Process) -> None:
        editor = Editor(backend=self._backend(process))
        for _ in range(self._user.randint(3, 8)):
            process.sleep(self._user.choice([1.0, 30.0, self._user.uniform(0, 900)]))
            name = self._user.choice([*PER_SECOND, *AT_MOST])
            kind, values = ("per_second", _RATES) if name in PER_SECOND else ("at_most", _AT_A_TIME)
            self._limit(editor, process, name, **{kind: self._user.choice(values)})
        for name in (*PER_SECOND, *AT_MOST):
            self._limit(editor, process, name, per_second=None, at_most=None)

    def _limit(self, editor: Editor, process: Process, name: str, **limit: Any) -> None:
        self._paused.pop(name, None)  # from the call on it may go on
        if self._insist(process, lambda: editor.limit(name, **limit)) and 0 in limit.values():
            self._paused[name] = self.world.now

    def _action(self, name: str, process: Process) -> Callable[[Any, Task], None]:
        act = super()._action(name, process)

        def watched(payload: Any, task: Task) -> None:
            paused = self._paused.get(name)
            if paused and self.world.now > paused + self._FOLLOWS:
                self.while_paused.append(f"{task.id} of {name} at {self.world.now}, paused at {paused}")
            act(payload, task)

        return watched
