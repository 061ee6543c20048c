"""Time-outs and stops in a history: some actions have a time-out, and what comes later must not count."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from duebell import Retry, Status, Task, stopping

from .world import Process

__all__ = ["TimingOut"]

#: Seconds of the time-outs that these actions may have.
_TIMEOUTS = {"hangs": (30, 200, 400), "slow": (15, 60, 150), "flaky": (1, 60), "chains": (30,)}

#: Actions that are stoppable, and the seconds for which they look whether they are told to stop.
_STOPPABLE, _LOOKS = {"slow", "flaky"}, 20

_Attempt = tuple[str, datetime, int]


class TimingOut:
    """Gives actions of a history time-outs, and tells which of their outcomes were recorded too late.

    late     the attempts that returned after their time-outs
    stopped  how many attempts were told to stop
    """

    def __init__(self, seed: int) -> None:
        """Its chances are of its own, so that histories without it stay as they were."""
        chance = Random(seed + 13)
        self._timeouts = {
            name: timedelta(seconds=chance.choice(seconds)) for name, seconds in _TIMEOUTS.items()
        }
        self.late: set[_Attempt] = set()
        self.stopped = 0
        self._in_time: set[_Attempt] = set()

    def options(self, name: str) -> dict[str, Any]:
        """The options of this action."""
        if name not in self._timeouts:
            return {}
        return {"timeout": self._timeouts[name], "stoppable": name in _STOPPABLE}

    def watched(
        self, name: str, process: Process, act: Callable[[Any, Task], None]
    ) -> Callable[[Any, Task], None]:
        """The function of this action in this process, whose time is noted when it returns."""
        if name not in self._timeouts:
            return act

        def watched(payload: Any, task: Task) -> None:
            began = process.clock()
            act(payload, task)
            is_late = process.clock() >= began + self._timeouts[name]
            (self.late if is_late else self._in_time).add((task.id, task.due, task.attempt))

        return watched

    def look(self, name: str, process: Process) -> None:
        """Have this action look for a while whether it is told to stop. Raises Retry if so."""
        for _ in range(_LOOKS if name in _STOPPABLE and name in self._timeouts else 0):
            process.sleep(1)
            if stopping().is_set():
                self.stopped += 1
                raise Retry(after=30)

    def problems(self, tasks: Sequence[Task]) -> list[str]:
        """The tasks that are done by an attempt that returned after its time-out, and by no other."""
        wrong = self.late - self._in_time
        return [
            f"{task.id} is done by attempt {task.attempt}, which returned after its time-out"
            for task in tasks
            if task.status is Status.DONE and (task.id, task.due, task.attempt) in wrong
        ]
