"""Time-outs and stops in a history: some actions have a time-out, and what comes later must not count."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from duebell import Retry, Status, Task, stopping
from tests.simulation.world import Process

from .part import Act, Part, Start

#: Seconds of the time-outs that these actions may have.
_TIMEOUTS = {"hangs": (30, 200, 400), "slow": (15, 60, 150), "flaky": (1, 60), "chains": (30,)}

#: Actions that are stoppable, and the seconds for which they look whether they are told to stop.
_STOPPABLE, _LOOKS = {"slow", "flaky"}, 20


class TimingOut(Part):
    """Gives actions of a history time-outs, and tells which of their outcomes were recorded too late."""

    salt = 13

    def start(self) -> None:
        self._timeouts = {
            name: timedelta(seconds=self._random.choice(seconds)) for name, seconds in _TIMEOUTS.items()
        }
        self._late: set[tuple[str, datetime, int]] = set()
        self._in_time: set[tuple[str, datetime, int]] = set()

    def declared(self, name: str) -> dict[str, Any]:
        if name not in self._timeouts:
            return {}
        return {"timeout": self._timeouts[name], "stoppable": name in _STOPPABLE}

    def around(self, name: str, process: Process, act: Act) -> Act:
        if name not in self._timeouts:
            return act

        def watched(payload: Any, task: Task) -> None:
            began = process.clock()
            act(payload, task)
            is_late = process.clock() >= began + self._timeouts[name]
            self._count["returned late"] += is_late
            (self._late if is_late else self._in_time).add((task.id, task.due, task.attempt))

        return watched

    def look(self, name: str, process: Process) -> None:
        """Have this action look for a while whether it is told to stop. Raises Retry if so."""
        for _ in range(_LOOKS if name in _STOPPABLE else 0):
            process.sleep(1)
            if stopping().is_set():
                self._count["stopped"] += 1
                raise Retry(after=30)

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> Iterator[str]:
        wrong = self._late - self._in_time
        for task in tasks:
            if task.status is Status.DONE and (task.id, task.due, task.attempt) in wrong:
                yield f"{task.id} is done by attempt {task.attempt}, which returned after its time-out"
