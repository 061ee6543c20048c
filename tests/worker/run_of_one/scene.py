"""A queue and a rule in memory for runs of few tasks, with their calls counted and hooks in them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from duebell_infra.testing import Bell
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Bell as AnyBell
from duebell_shared.bell.expression import next_ring
from tests.support import NOON, Clock
from tests.worker.hooked_store import HookedStore

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

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


def ring(clock: Clock, bell: HookedBell, *, after: timedelta = 10 * SECOND) -> None:
    """Let time pass to so long after the beginning of the next minute that the rule rings in."""
    minute = next_ring(bell.expression, clock.now)
    assert minute, "the rule rings no more"
    clock.now = minute + after


def at_release(store: CountingStore, change: Callable[[], object]) -> None:
    """Make this change once, when the run is about to write that it gives its lanes back."""

    def hook(new: ArmingRecord) -> None:
        if store.is_release(new):
            store.on_write = lambda _: None
            change()

    store.on_write = hook
