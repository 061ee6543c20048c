"""A scheduler in memory for real threads: a locked store, and a rule that notes overlapping settings."""

import inspect
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from duebell_infra.testing import MemoryStore
from duebell_infra.testing.rehearsal import Bell
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.expression import next_ring
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


class SharedBell(Bell):
    """A rule that processes share. No two settings may ever be under way at once."""

    def __init__(self) -> None:
        super().__init__()
        self.overlapped = False
        self._busy = threading.Lock()

    def _put_rule(self, **arguments: Any) -> dict[str, Any]:
        self.overlapped |= self._busy.locked()
        with self._busy:
            time.sleep(0.002)  # the call's way there and back, for others to get in between
            return super()._put_rule(**arguments)


def backend_of(
    store: LockedStore, bell: Bell, clock: Callable[[], datetime], sleep: Callable[[float], None]
) -> Backend:
    rule = Rule("duebell", bell.client, clock=clock, sleep=sleep)
    return Backend(Settings(), store, rule, clock=clock, sleep=sleep)


def ring_till_parked(bell: Bell, run: Callable[[datetime], object], *, now: datetime) -> None:
    """Run at each minute, from now on, that the rule rings in, until it is parked."""
    for _ in range(_MOST_RINGS):
        ring = next_ring(bell.expression, now)
        if ring is None:
            return
        run(ring)
        now = ring
    raise AssertionError("the rule rings and rings")
