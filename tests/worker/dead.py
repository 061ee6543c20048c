"""What a run leaves behind that died: lanes that it holds, and a task that it was running."""

from duebell import Editor
from duebell_shared.backend import Backend
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from duebell_worker.run.lease import Lease
from tests.support import Clock


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
