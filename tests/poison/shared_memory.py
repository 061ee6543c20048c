"""A scheduler in memory for real threads: the store in memory behind a lock, and a rule that counts."""

import inspect
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.expression import SENTINEL, next_ring
from duebell_shared.instants import utc_now
from duebell_shared.settings import Settings

#: More rings than any of these tests needs.
_MOST_RINGS = 40


class LockedStore(MemoryStore):
    """The queue in memory, each of its verbs one atomic step for threads too."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()

    def after_step(self) -> None:
        """Called within the lock; for whoever keeps the store elsewhere, too."""


def _atomic(verb: Callable[..., Any]) -> Callable[..., Any]:
    def step(store: LockedStore, *arguments: Any, **options: Any) -> Any:
        with store.lock:
            result = verb(store, *arguments, **options)
            result = iter(list(result)) if isinstance(result, Iterator) else result
            store.after_step()
            return result

    return step


for _name, _verb in inspect.getmembers(MemoryStore, inspect.isfunction):
    if not _name.startswith("_"):
        setattr(LockedStore, _name, _atomic(_verb))


class FakeRule:
    """What `Rule` uses of the EventBridge client. No two settings may ever be under way at once."""

    def __init__(self, expression: str = SENTINEL) -> None:
        self.expression = expression
        self.overlapped = False
        self.put_rules = 0
        self.meta = SimpleNamespace(region_name="memory")
        self._busy = threading.Lock()

    def describe_rule(self, **_: Any) -> dict[str, Any]:
        return {"ScheduleExpression": self.expression, "State": "ENABLED"}

    def put_rule(self, **arguments: Any) -> dict[str, Any]:
        if self._busy.locked():
            self.overlapped = True
        with self._busy:
            self.put_rules += 1
            time.sleep(0.002)  # the call's way there and back, for others to get in between
            self.expression = arguments["ScheduleExpression"]
        return {}

    def list_targets_by_rule(self, **_: Any) -> dict[str, Any]:
        return {"Targets": [{}]}


def backend_of(
    store: LockedStore,
    rule: FakeRule,
    *,
    clock: Callable[[], datetime] = utc_now,
    sleep: Callable[[float], None] = lambda seconds: time.sleep(seconds / 50),
) -> Backend:
    """A backend over these. Its pauses are short: there is no network to be kind to."""
    client = cast("Any", rule)
    return Backend(
        Settings(), store, Rule("duebell", client, clock=clock, sleep=sleep), clock=clock, sleep=sleep
    )


def ring_till_parked(rule: FakeRule, run: Callable[[datetime], object], *, now: datetime) -> None:
    """Run at each minute, from now on, that the rule rings in, until it is parked."""
    for _ in range(_MOST_RINGS):
        ring = next_ring(rule.expression, now)
        if ring is None:
            return
        run(ring)
        now = ring
    raise AssertionError("the rule rings and rings")
