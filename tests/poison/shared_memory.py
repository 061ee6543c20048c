"""A scheduler in memory for real threads: the simulation's twin behind a lock, and a rule that counts."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.expression import SENTINEL, next_ring
from duebell_shared.errors import DuebellError
from duebell_shared.instants import NEVER, utc_now
from duebell_shared.limits.limits import Limits
from duebell_shared.limits.semaphore import Semaphore
from duebell_shared.queue.past_index import Past, PastKey
from duebell_shared.queue.transactions import Other, TaskWrite, Transacted
from duebell_shared.settings import Settings
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from duebell_shared.tasks.worker_record import WorkerRecord

__all__ = ["FakeRule", "LockedStore", "backend_of", "ring_till_parked"]

_T = TypeVar("_T")

#: More rings than any of these tests needs.
_MOST_RINGS = 40


class LockedStore:
    """The twin, each of its verbs one atomic step for threads too."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.inner = store or MemoryStore()
        self._lock = threading.RLock()

    def read_record(self) -> ArmingRecord | None:
        return self._step(self.inner.read_record)

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        return self._step(lambda: self.inner.swap_record(old, new))

    def read_worker(self, *, consistent: bool) -> WorkerRecord | None:
        return self._step(lambda: self.inner.read_worker(consistent=consistent))

    def swap_worker(self, old: WorkerRecord | None, new: WorkerRecord) -> WorkerRecord | None:
        return self._step(lambda: self.inner.swap_worker(old, new))

    def read_limits(self) -> Limits | None:
        return self._step(self.inner.read_limits)

    def swap_limits(self, old: Limits | None, new: Limits) -> Limits | None:
        return self._step(lambda: self.inner.swap_limits(old, new))

    def read_semaphore(self, action: str) -> Semaphore | None:
        return self._step(lambda: self.inner.read_semaphore(action))

    def swap_semaphore(self, action: str, old: Semaphore | None, new: Semaphore) -> Semaphore | None:
        return self._step(lambda: self.inner.swap_semaphore(action, old, new))

    def insert(self, task: Task) -> bool:
        return self._step(lambda: self.inner.insert(task))

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        return [self.insert(task) for task in tasks]

    def save(self, old: Task, new: Task | None) -> bool:
        return self._step(lambda: self.inner.save(old, new))

    def delete(self, task: Task) -> bool:
        return self._step(lambda: self.inner.delete(task))

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        return self._step(lambda: self.inner.save_many(changes))

    def relocate(
        self, keys: Sequence[QueueKey], *, lanes: int, now: datetime, only_new: bool = False
    ) -> list[bool | DuebellError]:
        return self._step(lambda: self.inner.relocate(keys, lanes=lanes, now=now, only_new=only_new))

    def get(self, lane: int, id: str) -> Task | None:
        return self._step(lambda: self.inner.get(lane, id))

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        return self._step(lambda: self.inner.get_many(keys))

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        return self._step(lambda: self.inner.claim(key, run=run, now=now, status=status))

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        return self._step(lambda: self.inner.claim_many(keys, run=run, now=now, status=status))

    def queued(self, lane: int, **bounds: Any) -> Iterator[QueueKey]:
        yield from self._step(lambda: list(self.inner.queued(lane, **bounds)))

    def past(self, lane: int, kind: Past, **bounds: Any) -> Iterator[PastKey]:
        yield from self._step(lambda: list(self.inner.past(lane, kind, **bounds)))

    def named(
        self, lane: int, prefix: str, *, after: str | None = None, most: int
    ) -> tuple[list[Task], str | None]:
        return self._step(lambda: self.inner.named(lane, prefix, after=after, most=most))

    def recurring(self, lane: int, *, page_size: int = 200) -> Iterator[PastKey]:
        yield from self._step(lambda: list(self.inner.recurring(lane, page_size=page_size)))

    def count_past(self, lane: int, kind: Past, **bounds: Any) -> int:
        return self._step(lambda: self.inner.count_past(lane, kind, **bounds))

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return self._step(lambda: self.inner.count(lane, after=after, before=before, most=most))

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        return self._step(lambda: self.inner.head(lane, skipping=skipping))

    def transact(self, writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        return self._step(lambda: self.inner.transact(writes, token=token))

    def lane_sizes(self) -> dict[int, int]:
        return self.inner.lane_sizes()

    def _step(self, verb: Callable[[], _T]) -> _T:
        with self._lock:
            result = verb()
            self.after_step()
            return result

    def after_step(self) -> None:
        """Called within the lock; for whoever keeps the store elsewhere, too."""


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
