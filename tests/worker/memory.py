"""A queue and a rule in memory, by the clock of a test."""

from typing import Any

from duebell_infra.testing import Bell, MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.settings import Settings
from tests.support import Clock


def memory_backend(
    clock: Clock, store: MemoryStore | None = None, *, bell: Bell | None = None, **settings: Any
) -> Backend:
    """A backend over this store and rule, with four lanes unless `settings` say otherwise."""
    rule = Rule("duebell", (bell or Bell()).client, clock=clock, sleep=clock.sleep)
    chosen = Settings(**{"lanes": 4, **settings})
    return Backend(chosen, store or MemoryStore(), rule, clock=clock, sleep=clock.sleep)
