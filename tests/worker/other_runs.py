"""Other runs beside the one under test: some have died with tasks under way, one waits."""

from datetime import timedelta

from msgspec.structs import replace

from duebell import Editor
from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from duebell_worker.run.lease import Lease
from tests.support import Clock
from tests.worker.hooked_store import HookedStore


def key_of(task: Task) -> QueueKey:
    """The task's place in the queue."""
    assert task.queued is not None
    return QueueKey(queued=task.queued, id=task.id, lane=task.lane)


def die(backend: Backend, run: str = "dead") -> Lease:
    """A run that claims the lanes, sets its watchdog, and is heard of no more."""
    lease = Lease.claim(backend.armer, run, backend.clock)
    lease.arm()
    return lease


def die_while_running(
    backend: Backend, clock: Clock, *ids: str, run: str = "dead", last: int | None = None
) -> None:
    """A run that dies with these tasks under way; afterwards its lease has ended.

    `last` is the last attempt that their action allows, if the run had begun that.
    """
    die(backend, run)
    for id in ids:
        task = Editor(backend=backend).get(id)
        is_new = task.status is Status.SCHEDULED
        status = Status.SCHEDULED if is_new else Status.RUNNING
        claimed = backend.store.claim(key_of(task), run=run, now=clock.now, status=status)
        assert claimed
        if last and claimed.attempt >= last:
            assert backend.store.save(claimed, claimed.beginning(last))
    clock.advance(LEASE)


class Other:
    """Another run, which holds these lanes and waits."""

    def __init__(self, backend: Backend, *lanes: int) -> None:
        self._backend = backend
        self.lease = Lease.claim(backend.armer, "other", backend.clock, only=lanes)
        self.lease.arm()

    def takes_over(self) -> None:
        """Say so, and not the run under test, which was the first to see that there are two."""
        self._backend.armer.change(lambda record: replace(record, taker="other"))

    def gives(self) -> None:
        """Give its lanes to the run that takes them over."""
        self.lease.clear()
        heads = {lane: MemoryStore.head(self._store, lane) for lane in self.lease.lanes}
        assert self.lease.release(heads, unless_due_within=timedelta(minutes=1), to_taker=True) is None

    @property
    def _store(self) -> HookedStore:
        assert isinstance(self._backend.store, HookedStore)
        return self._backend.store
