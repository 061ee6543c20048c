"""Histories whose actions have limits: what was under way at a time, and started in any window."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from duebell_editor import Task
from duebell_worker import Worker

from .history import History
from .notes import LIMITS
from .processes import context_of
from .world import Process, SimulatedPool

__all__ = ["AT_MOST", "PER_SECOND", "Limited"]

#: The limits, by action.
PER_SECOND = {"quick": 0.2, "flaky": 0.05}
AT_MOST = {"slow": 3, "killer": 1}

#: As History's.
_LIMIT = 300.0


class Limited(History):
    """A history whose actions have limits.

    most    the most attempts that were under way at a time in processes that lived, by action
    waited  how many attempts had waited for a limit
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
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

    def _run_worker(self, process: Process, event: object, request: str) -> None:
        context = context_of(process, request, limit=_LIMIT)
        worker = Worker(backend=self._backend(process), concurrency=4, pool=lambda _: SimulatedPool(process))
        for name, attempts in LIMITS.items():
            worker.action(
                name, attempts=attempts, at_most=AT_MOST.get(name), per_second=PER_SECOND.get(name)
            )(self._action(name, process))
        worker.handler(event, context)
        process.has_ended = True  # type: ignore[attr-defined]

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
