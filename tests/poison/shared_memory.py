"""A scheduler in memory for real threads: its rule notes settings that overlap."""

import threading
import time
from collections.abc import Callable
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
    store: MemoryStore, bell: Bell, clock: Callable[[], datetime], sleep: Callable[[float], None]
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
