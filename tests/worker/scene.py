"""A queue and a rule in memory for the runs of a worker, with their calls counted and hooks in them."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from duebell import Editor, RunReport, Task, Worker
from duebell_infra.testing import Bell, InlinePool
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.expression import next_ring
from duebell_worker.run.context import Pool
from tests.support import NOON, Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import memory_backend

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

#: When the task is due that a run comes for.
DUE = NOON + HOUR


class HookedBell(Bell):
    """The rule; something can happen just before it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0
        self.before: Callable[[], object] = lambda: None

    def _put_rule(self, **arguments: Any) -> dict[str, Any]:
        self.puts += 1
        self.before()
        return super()._put_rule(**arguments)


class Scene:
    """An editor, and a worker that runs each action at once, unless it has another pool.

    done    the tasks of its action `act`
    starts  when they were started
    """

    def __init__(
        self,
        clock: Clock,
        *,
        pool: Callable[[int], Pool] = lambda _: InlinePool(),
        places: int = 16,
        calls: bool = False,
        **settings: Any,
    ) -> None:
        self.clock = clock
        self.store, self.bell, self.called = HookedStore(), HookedBell(), Called()
        backend = memory_backend(clock, self.store, bell=self.bell, **settings)
        self.backend = self.called.by(backend) if calls else backend
        self.editor = Editor(backend=self.backend)
        self.done: list[str] = []
        self.starts: list[datetime] = []
        self.worker = Worker(backend=self.backend, pool=pool, concurrency=places)
        self.worker.action("act")(self._act)

    def _act(self, _: object, task: Task) -> None:
        self.done.append(task.id)
        self.starts.append(self.clock.now)

    def run(self, *, at: datetime = DUE, pool: Callable[[int], Pool] | None = None) -> RunReport:
        """Have the run come at that time; its calls are counted."""
        worker = self.worker.over(self.backend, pool=pool) if pool else self.worker
        self.clock.now = at
        self.store.calls.clear()
        self.bell.puts = 0
        return worker.run()

    def costs(self, *names: str) -> dict[str, int]:
        """So many calls of each of these kinds since the run began; without names, all."""
        made = Counter[str]()
        for (verb, _), count in self.store.calls.items():
            made[verb] += count
        counted = {
            "reads": made["read ArmingRecord"],
            "swaps": made["swap ArmingRecord"],
            "puts": self.bell.puts,
            "queries": made["queued"],
            "heads": made["head"],
        }
        return {name: counted[name] for name in names or counted}

    def ring(self, *, after: timedelta = 10 * SECOND) -> None:
        """Let time pass to so long after the beginning of the next minute that the rule rings in."""
        minute = next_ring(self.bell.expression, self.clock.now)
        assert minute, "the rule rings no more"
        self.clock.now = minute + after

    def at_release(self, change: Callable[[ArmingRecord], object]) -> None:
        """Make this change once, when a run is about to write that it gives its lanes back."""

        def hook(new: ArmingRecord) -> None:
            is_held = self.store.record and any(lane.owner for lane in self.store.record.lanes)
            if is_held and not any(lane.owner for lane in new.lanes):
                self.store.on_write = lambda _: None
                change(new)

        self.store.on_write = hook

    def is_rung_for(self) -> bool:
        """Tell whether the rule rings in time for every task that waits."""
        record = self.backend.armer.read()
        waiting = min(self.store.head(lane) for lane in range(len(record.lanes)))
        return record.is_settled(self.clock.now) and record.target <= waiting
