"""Many tasks due at once: DynamoDB as fast as it promises to be, and Lambdas that take a moment to start.

Each call takes five milliseconds, and each lane takes so many write units a second, and no more.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import msgspec

from duebell import Worker
from duebell_infra.testing import Bell, MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Function
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Rule
from duebell_shared.errors import DuebellError
from duebell_shared.instants import NEVER
from duebell_shared.parallel import Parallel
from duebell_shared.queue.changes import Other, TaskWrite, Transacted
from duebell_shared.queue.places import Past, PastKey, lane_of
from duebell_shared.queue.records import Record
from duebell_shared.settings import Settings
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

from .processes import context_of
from .world import Process, SimulatedPool, World

__all__ = ["Crowd"]

_T = TypeVar("_T")

#: Seconds that a call takes, and write units a second for each value of the partition key, index included.
_CALL, _WRITES = 0.005, 1_000

#: Write units of a claim (the item) and of an outcome (the item, and its place in the index deleted).
_CLAIM, _OUTCOME = 1, 2

_PAGE = 200

#: Seconds until an invocation runs, and for how long it may.
_START, _LIMIT = 0.5, 300.0


class Crowd:
    """So many tasks due now, in so many lanes, and at most so many runs that share them."""

    def __init__(self, tasks: int, *, lanes: int, runs: int) -> None:
        self.world = World(1)
        self.settings = Settings(lanes=lanes, parallel_runs=runs, function="worker")
        self.store = MemoryStore()
        self.bell = Bell()
        self.starts: list[tuple[datetime, str]] = []
        self.reports: list[dict[str, Any]] = []
        self.free_at = [self.world.now] * lanes
        self.most_at_once = self._at_once = self._invocations = 0
        for number in range(tasks):
            task = new_task(
                id=f"task-{number}", action="act", due=self.world.now, payload=None, now=self.world.now
            )
            self.store.insert(msgspec.structs.replace(task, lane=lane_of(task.id, lanes)))

    def run(self) -> None:
        """The rule rings once, and what comes of it comes to its end."""
        self.invoke(None)
        self.world.run_until(self.world.now + timedelta(seconds=2 * _LIMIT))

    def invoke(self, event: object) -> None:
        self._invocations += 1
        process = Process(self.world, f"run-{self._invocations}")
        self.world.after(_START, lambda: process.start(lambda: self._work(process, event)))

    def _work(self, process: Process, event: object) -> None:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        context = context_of(process, process.name, limit=_LIMIT)
        clock = process.clock
        backend = Backend(
            self.settings,
            _SteadyStore(self, process),
            Rule("duebell", self.bell.client, clock=clock, sleep=process.sleep),
            clock=clock,
            sleep=process.sleep,
            parallel=Parallel(1),
            function=Function("worker", lambda: cast("Any", self._lambda())),
        )
        worker = Worker(backend=backend, pool=lambda _: SimulatedPool(process))
        worker.action("act")(lambda _, task: self.starts.append((self.world.now, task.id)))
        self.reports.append(worker.handler(event, context))
        self._at_once -= 1

    def _lambda(self) -> SimpleNamespace:
        return SimpleNamespace(invoke=lambda **given: self.invoke(json.loads(given["Payload"])))


class _SteadyStore:
    """The store as one process has it: every call takes its time, and waits for its lane's capacity."""

    def __init__(self, crowd: Crowd, process: Process) -> None:
        self._crowd = crowd
        self._store = crowd.store
        self._process = process

    def read_record(self) -> ArmingRecord | None:
        return self._call(self._store.read_record)

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        return self._call(lambda: self._store.swap_record(old, new))

    def read(self, kind: type[Record], name: str = "", *, consistent: bool = True) -> Record | None:
        return self._call(lambda: self._store.read(kind, name, consistent=consistent))

    def swap(self, old: Record | None, new: Record, name: str = "") -> Record | None:
        return self._call(lambda: self._store.swap(old, new, name))

    def transact(self, writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        return self._call(lambda: self._store.transact(writes, token=token))

    def insert(self, task: Task) -> bool:
        return self._call(lambda: self._store.insert(task))

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        return self._call(lambda: self._store.insert_many(tasks))

    def save(self, old: Task, new: Task | None) -> bool:
        return self._call(lambda: self._store.save(old, new), {old.lane: _OUTCOME})

    def delete(self, task: Task) -> bool:
        return self._call(lambda: self._store.delete(task), {task.lane: _OUTCOME})

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        tasks_of = Counter(old.lane for old, _ in changes)
        units = {lane: tasks * _OUTCOME for lane, tasks in tasks_of.items()}
        return self._call(lambda: self._store.save_many(changes), units)

    def relocate(
        self, keys: Sequence[QueueKey], *, lanes: int, now: datetime, only_new: bool = False
    ) -> list[bool | DuebellError]:
        return self._call(lambda: self._store.relocate(keys, lanes=lanes, now=now, only_new=only_new))

    def get(self, lane: int, id: str) -> Task | None:
        return self._call(lambda: self._store.get(lane, id))

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        return self._call(lambda: self._store.get_many(keys))

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        return self._call(lambda: self._store.claim(key, run=run, now=now, status=status), {key.lane: _CLAIM})

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        tasks_of = Counter(key.lane for key in keys)
        return self._call(
            lambda: self._store.claim_many(keys, run=run, now=now, status=status),
            {lane: tasks * _CLAIM for lane, tasks in tasks_of.items()},
        )

    def queued(self, lane: int, **bounds: Any) -> Iterator[QueueKey]:
        keys = self._store.queued(lane, **bounds)
        while page := self._call(lambda: list(islice(keys, _PAGE))):
            yield from page

    def past(self, lane: int, kind: Past, **bounds: Any) -> Iterator[PastKey]:
        yield from self._call(lambda: list(self._store.past(lane, kind, **bounds)))

    def named(
        self, lane: int, prefix: str, *, after: str | None = None, most: int
    ) -> tuple[list[Task], str | None]:
        return self._call(lambda: self._store.named(lane, prefix, after=after, most=most))

    def recurring(self, lane: int, *, page_size: int = 200) -> Iterator[PastKey]:
        yield from self._call(lambda: list(self._store.recurring(lane, page_size=page_size)))

    def count_past(self, lane: int, kind: Past, **bounds: Any) -> int:
        return self._call(lambda: self._store.count_past(lane, kind, **bounds))

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return self._call(lambda: self._store.count(lane, after=after, before=before, most=most))

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        return self._call(lambda: self._store.head(lane, skipping=skipping))

    def note(self, changes: Sequence[tuple[str, bytes]], *, expires_at: datetime) -> None:
        self._store.note(changes, expires_at=expires_at)

    def noted(self, key: str, *, behind: str | None = None) -> Iterator[tuple[str, bytes]]:
        return self._store.noted(key, behind=behind)

    def lane_sizes(self) -> dict[int, int]:
        return self._store.lane_sizes()

    def _call(self, effect: Callable[[], _T], units: Mapping[int, int] | None = None) -> _T:
        """The effect comes at the end; before that, the capacity of each lane is waited for."""
        now = self._crowd.world.now
        free_at = self._crowd.free_at
        for lane, wanted in (units or {}).items():
            free_at[lane] = max(free_at[lane], now) + timedelta(seconds=wanted / _WRITES)
        waits = max((free_at[lane] - now for lane in units or ()), default=timedelta(0))
        self._process.sleep(max(_CALL, waits.total_seconds()))
        return effect()
