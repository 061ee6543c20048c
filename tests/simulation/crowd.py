"""Queues in a simulated AWS that does not fail: many tasks at once, one after the other, and what a run does.

The editors and the worker are the real code.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast

import msgspec

from duebell import Editor, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.queue.places import lane_of
from duebell_shared.queue.store import Store
from duebell_shared.settings import Precision, Settings
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import QueueKey

from .aws import Aws
from .processes import backend_of, context_of
from .weather import CALM
from .world import Process, SimulatedPool, World

_T = TypeVar("_T")

#: Seconds until an invocation runs, and for how long it may.
_START, LIMIT = 0.5, 300.0

#: Seconds that a call takes, and write units a second for each value of the partition key, index included.
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
_CALL, _WRITES = 0.005, 1_000

#: Write units of a claim (the item) and of an outcome (the item, and its place in the index deleted).
_CLAIM, _OUTCOME = 1, 2

_PAGE = 200

#: The time from the add of a burst to its due date, and the seconds that each of its tasks takes.
_ADDED, _BURST_TASK = timedelta(minutes=5), 2.0

#: The time from the add of a task of the trickle to its due date.
_AHEAD = (0.0, 30.0, 100.0, 400.0)


class CalmQueue:
    """A queue that editors fill and runs drain.

    starts  when each attempt was started, and the id of its task
    alive   when each run began and ended
    """

    #: Seconds after which Lambda tries again what has failed.
    again: Sequence[float] = ()

    def __init__(self, seed: int, settings: Settings) -> None:
        self.world = World(seed)
        random.seed(seed)  # the jitter of the code under test
        self.aws = Aws(self.world, CALM, self._invoked)
        self.settings = settings
        self.began = self.world.now
        self.starts: list[tuple[datetime, str]] = []
        self.alive: list[tuple[datetime, datetime]] = []
        self.most_at_once = self._at_once = 0

    def does(self, name: str, what: Callable[[Editor, Process], None]) -> None:
        process = Process(self.world, name)
        process.start(lambda: what(Editor(backend=self._backend(process)), process))

    def act(self, process: Process, task: Task) -> None:
        """The function of every action. Each kind of queue has its own."""

    def died(self) -> None:
        """A run has died."""

    def _backend(self, process: Process) -> Backend:
        return backend_of(process, self.aws, self.settings)

    def _invoked(self, event: object, request: str) -> None:
        self.world.after(_START, lambda: self._invoke(event, request, 0))

    def _invoke(self, event: object, request: str, tries: int) -> None:
        process = Process(self.world, "run")

        def again() -> None:
            self.died()
            if tries < len(self.again):
                self.world.after(self.again[tries], lambda: self._invoke(event, request, tries + 1))

        process.start(lambda: self._work(process, event, request), on_death=again)

    def _work(self, process: Process, event: object, request: str) -> None:
        began = self.world.now
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        worker = Worker(backend=self._backend(process), pool=lambda _: SimulatedPool(process))

        def act(_: object, task: Task) -> None:
            self.starts.append((self.world.now, task.id))
            self.act(process, task)

        for name in ("act", "burst", "kill"):
            worker.action(name, attempts=5)(act)
        worker.handler(event, context_of(process, request, limit=LIMIT))
        self._at_once -= 1
        self.alive.append((began, self.world.now))


class Trickle(CalmQueue):
    """So many tasks due at once, then one every so many seconds on average, for so long.

    added  when each task of the trickle was
    late   when each of them was due, and by how many seconds it was started later
    """

    def __init__(self, seed: int, *, burst: int, every: float, hours: float, takes: float = 0.1) -> None:
        """`takes` is how many seconds a task of the trickle takes."""
        super().__init__(
            seed, Settings(precision=Precision.SECOND, lanes=4, parallel_runs=4, function="worker")
        )
        self.late: list[tuple[datetime, float]] = []
        self.added: dict[str, datetime] = {}
        self._burst, self._every, self._takes = burst, every, takes
        self._end = self.began + timedelta(hours=hours)
        self.burst_again_after(_ADDED)

    def burst_again_after(self, moment: timedelta) -> None:
        due = self.began + moment
        self.world.at(due - _ADDED, lambda: self.does("burst", partial(self._add_burst, due)))

    def run(self) -> "Trickle":
        self.does("trickle", self._add_trickle)
        self.world.run_until(self._end + timedelta(minutes=20))
        return self

    def runs_at_a_time(self, begin: timedelta, end: timedelta) -> float:
        """The average number of runs between these times after the beginning."""
        first, last = self.began + begin, self.began + end
        spans = (min(ended, last) - max(started, first) for started, ended in self.alive)
        return sum((max(span, timedelta(0)) for span in spans), timedelta(0)) / (last - first)

    def act(self, process: Process, task: Task) -> None:
        if task.id in self.added:
            known_at = max(task.due, self.added[task.id])
            self.late.append((task.due, (self.world.now - known_at).total_seconds()))
        process.sleep(_BURST_TASK if task.action == "burst" else self._takes)

    def _add_burst(self, due: datetime, editor: Editor, _: Process) -> None:
        for number in range(self._burst):
            editor.add("burst", due=due, id=f"burst-{due:%H-%M}-{number}")

    def _add_trickle(self, editor: Editor, process: Process) -> None:
        while self.world.now < self._end:
            process.sleep(self.world.random.expovariate(1 / self._every))
            due = self.world.now + timedelta(seconds=self.world.random.choice(_AHEAD))
            id = f"trickle-{len(self.added)}"
            editor.add("act", due=due, id=id)
            self.added[id] = self.world.now


class Crowd(CalmQueue):
    """So many tasks due now, in so many lanes, and at most so many runs that share them.

    DynamoDB is as fast as it promises to be: each call takes five milliseconds, and each lane takes so many
    write units a second, and no more.
    """

    def __init__(self, tasks: int, *, lanes: int, runs: int) -> None:
        super().__init__(1, Settings(lanes=lanes, parallel_runs=runs, function="worker"))
        self.free_at = [self.began] * lanes
        for number in range(tasks):
            task = new_task(id=f"task-{number}", action="act", due=self.began, payload=None, now=self.began)
            self.aws.store.insert(msgspec.structs.replace(task, lane=lane_of(task.id, lanes)))

    def run(self) -> "Crowd":
        self.aws.invoke(None)
        self.world.run_until(self.began + timedelta(seconds=2 * LIMIT))
        return self

    def _backend(self, process: Process) -> Backend:
        return msgspec.structs.replace(
            super()._backend(process), store=cast("Store", _SteadyStore(self, process))
        )


class _SteadyStore:
    """The store as one process has it: every call takes its time, and waits for its lane's capacity."""

    def __init__(self, crowd: Crowd, process: Process) -> None:
        self._crowd = crowd
        self._store = crowd.aws.store
        self._process = process

    def __getattr__(self, verb: str) -> Any:
        return lambda *given, **options: self._call(partial(getattr(self._store, verb), *given, **options))

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> Any:
        units = Counter(old.lane for old, _ in changes for _ in range(_OUTCOME))
        return self._call(lambda: self._store.save_many(changes), units)

    def claim_many(self, keys: Sequence[QueueKey], **options: Any) -> Any:
        units = Counter(key.lane for key in keys for _ in range(_CLAIM))
        return self._call(lambda: self._store.claim_many(keys, **options), units)

    def save(self, old: Task, new: Task | None) -> bool:
        return self._call(lambda: self._store.save(old, new), {old.lane: _OUTCOME})

    def claim(self, key: QueueKey, **options: Any) -> Task | None:
        return self._call(lambda: self._store.claim(key, **options), {key.lane: _CLAIM})

    def queued(self, lane: int, **bounds: Any) -> Iterator[QueueKey]:
        keys = self._store.queued(lane, **bounds)
        while page := self._call(lambda: list(islice(keys, _PAGE))):
            yield from page

    def _call(self, effect: Callable[[], _T], units: Mapping[int, int] | None = None) -> _T:
        """The effect comes at the end; before that, the capacity of each lane is waited for."""
        now = self._crowd.world.now
        free_at = self._crowd.free_at
        for lane, wanted in (units or {}).items():
            free_at[lane] = max(free_at[lane], now) + timedelta(seconds=wanted / _WRITES)
        waits = max((free_at[lane] - now for lane in units or ()), default=timedelta(0))
        self._process.sleep(max(_CALL, waits.total_seconds()))
        return effect()
