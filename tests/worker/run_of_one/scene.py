"""A queue and a rule in memory for runs of few tasks, with their calls counted and hooks in them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from duebell import Editor, RunReport, Worker
from duebell_infra.testing import Bell, InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Bell as AnyBell
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.expression import next_ring
from duebell_shared.settings import Settings
from duebell_worker.run.context import Pool
from tests.support import NOON, Clock
from tests.worker.hooked_store import HookedStore

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

#: When the task is due that a run comes for.
DUE = NOON + HOUR

#: A time for which a queue's rule is set, and at which a task can be added that is not the new head.
NEXT = DUE + 2 * HOUR


class CountingStore(HookedStore):
    """Counts the reads and writes of the record.

    The first write for which `loses_answer` takes effect, and is refused when the SDK tries it again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.swaps = 0
        self.loses_answer: Callable[[ArmingRecord], bool] = lambda _: False

    def read_record(self) -> ArmingRecord | None:
        self.reads += 1
        return super().read_record()

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        is_lost = self.loses_answer(new)
        self.swaps += 1
        swapped = super().swap_record(old, new)
        if not is_lost:
            return swapped
        self.loses_answer = lambda _: False
        return None

    def is_release(self, new: ArmingRecord) -> bool:
        """Tell whether this write frees lanes, so that none is held any more."""
        is_held = self.record is not None and any(lane.owner for lane in self.record.lanes)
        return is_held and not any(lane.owner for lane in new.lanes)


class HookedBell(Bell):
    """The rule; something can happen just before it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], object] = lambda: None

    def _put_rule(self, **arguments: Any) -> dict[str, Any]:
        self.before()
        return super()._put_rule(**arguments)


class Costs:
    """The calls since the last `clear`, as `reads`, `swaps`, `puts`, `queries` and `heads`."""

    def __init__(self, store: CountingStore, rule: AnyBell) -> None:
        self._store = store
        self._rule = rule
        self._puts = 0

    def clear(self) -> None:
        self._store.reads = self._store.swaps = 0
        self._store.calls.clear()
        self._puts = self._rule.puts

    def of(self, *names: str) -> dict[str, int]:
        """So many calls of each of these kinds; without names, all."""
        counted = {
            "reads": self._store.reads,
            "swaps": self._store.swaps,
            "puts": self._rule.puts - self._puts,
            "queries": self._calls("queued"),
            "heads": self._calls("head"),
        }
        return {name: counted[name] for name in names or counted}

    def _calls(self, wanted: str) -> int:
        return sum(count for (verb, _), count in self._store.calls.items() if verb == wanted)


class Scene:
    """An editor, and a worker that runs each action at once; the tasks of its action `act` are in `done`."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.store = CountingStore()
        self.bell = HookedBell()
        rule = Rule("duebell", self.bell.client, clock=clock, sleep=clock.sleep)
        self.backend = Backend(Settings(lanes=4), self.store, rule, clock=clock, sleep=clock.sleep)
        self.editor = Editor(backend=self.backend)
        self.costs = Costs(self.store, rule)
        self.done: list[str] = []
        self.worker = Worker(backend=self.backend, pool=lambda _: InlinePool())
        self.worker.action("act")(lambda _, task: self.done.append(task.id))

    def run(self, *, at: datetime = DUE, pool: Callable[[int], Pool] | None = None) -> RunReport:
        """Have the run come at that time; its calls are counted."""
        worker = self.worker.over(self.backend, pool=pool) if pool else self.worker
        self.clock.now = at
        self.costs.clear()
        return worker.run()

    def ring(self, *, after: timedelta = 10 * SECOND) -> None:
        """Let time pass to so long after the beginning of the next minute that the rule rings in."""
        minute = next_ring(self.bell.expression, self.clock.now)
        assert minute, "the rule rings no more"
        self.clock.now = minute + after

    def at_release(self, change: Callable[[], object]) -> None:
        """Make this change once, when the run is about to write that it gives its lanes back."""

        def hook(new: ArmingRecord) -> None:
            if self.store.is_release(new):
                self.store.on_write = lambda _: None
                change()

        self.store.on_write = hook

    def is_rung_for(self) -> bool:
        """Tell whether the rule rings in time for every task that waits."""
        return is_rung_for(self.backend)


def is_rung_for(backend: Backend) -> bool:
    record, store = backend.armer.read(), backend.store
    waiting = min(store.head(lane) for lane in range(len(record.lanes)))
    return record.is_settled(backend.clock()) and record.target <= waiting
