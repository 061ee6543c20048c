"""A queue in which each task has another lane once there are more, and a hand in the relaner's calls."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from duebell import Editor, Status, Task
from duebell_editor.library.relane import relane
from duebell_infra.testing import MemoryStore
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.queue.places import lane_of
from duebell_shared.settings import MAX_LANES
from tests.editor.memory import Scheduler

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
LEASE = 2 * MINUTE
FROM, TO = 4, 8


class StepByStep:
    """The store as one process has it, which something is done to before one of its calls."""

    def __init__(self, store: MemoryStore, step: int, then: Callable[[], object]) -> None:
        self.calls = 0
        self._store, self._step, self._then = store, step, then

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)

        def call(*given: Any, **more: Any) -> Any:
            self.calls += 1
            if self.calls == self._step:
                self._then()
            return verb(*given, **more)

        return call


def misplaced(prefix: str = "task") -> list[str]:
    """Ids that have other lanes among eight than among four."""
    return [
        f"{prefix}-{n}" for n in range(40) if lane_of(f"{prefix}-{n}", FROM) != lane_of(f"{prefix}-{n}", TO)
    ]


def fill(scheduler: Scheduler) -> dict[str, Task]:
    """A task of every status, and some more that wait; all in lanes that they have not among eight."""
    ids = misplaced()
    there = [
        scheduler.become(scheduler.editor.add("act", due=HOUR, id=id), status)
        for id, status in zip(ids, [*Status, *[Status.SCHEDULED] * 9], strict=False)
    ]
    return {task.id: task for task in there}


def record_of(scheduler: Scheduler) -> ArmingRecord:
    record = scheduler.store.record
    assert record
    return record


def newcomer(scheduler: Scheduler) -> Editor:
    """An editor of a process that was started just now."""
    return Editor(backend=scheduler.backend)


def stale(scheduler: Scheduler) -> Editor:
    """An editor that has seen the queue as it is now, and will not look again by itself."""
    editor = newcomer(scheduler)
    assert editor.queue.lanes
    return editor


def seen_by(scheduler: Scheduler, store: Any) -> Any:
    """The scheduler's backend over another store."""
    backend = scheduler.backend
    return type(backend)(
        backend.settings,
        store,
        backend.rule,
        clock=backend.clock,
        sleep=backend.sleep,
        parallel=backend.parallel,
    )


def waiting(scheduler: Scheduler) -> Counter[str]:
    """How often each id stands in the queue."""
    return Counter(key.id for lane in range(MAX_LANES) for key in scheduler.store.queued(lane))


def claims(scheduler: Scheduler, run: str = "run") -> tuple[int, ...]:
    """The lanes that a run gets that comes now."""
    now = scheduler.clock.now
    record = scheduler.backend.armer.change(lambda record: record.claimed(run, now=now, until=now + LEASE))
    return record.lanes_of(run)


def steps(scheduler: Scheduler) -> range:
    """The calls of the store that a relane makes."""
    store = StepByStep(scheduler.store, 0, lambda: None)
    relane(seen_by(scheduler, store), TO)
    return range(1, store.calls + 1)


def filled() -> Scheduler:
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    fill(scheduler)
    return scheduler


STEPS = steps(filled())
