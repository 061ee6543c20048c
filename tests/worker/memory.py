"""A queue and a rule in memory, by the clock of a test, and ids by the lanes of their tasks."""

from typing import Any

from duebell_infra.testing import Bell, MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.queue.places import lane_of
from duebell_shared.settings import Settings
from tests.support import Clock


def memory_backend(
    clock: Clock, store: MemoryStore | None = None, *, bell: Bell | None = None, **settings: Any
) -> Backend:
    """A backend over this store and rule, with four lanes unless `settings` say otherwise."""
    rule = Rule("duebell", (bell or Bell()).client, clock=clock, sleep=clock.sleep)
    chosen = Settings(**{"lanes": 4, **settings})
    return Backend(chosen, store or MemoryStore(), rule, clock=clock, sleep=clock.sleep)


def ids_in(lane: int, count: int, *, lanes: int = 4, name: str = "task") -> list[str]:
    """So many ids of this lane, if there are so many lanes."""
    ids = (f"{name}-{number}" for number in range(count * lanes * 10))
    return [id for id in ids if lane_of(id, lanes) == lane][:count]


def in_lane(lane: int, *, lanes: int = 4, name: str = "task") -> str:
    """An id of this lane."""
    return ids_in(lane, 1, lanes=lanes, name=name)[0]
