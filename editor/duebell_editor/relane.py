"""More lanes for a queue: only while it is empty, for a task's lane is part of its key."""

from msgspec.structs import replace

from duebell_shared.arming import ArmingRecord, Lane
from duebell_shared.backend import Backend
from duebell_shared.errors import InvalidSettings, TaskConflict
from duebell_shared.instants import NEVER
from duebell_shared.settings import MAX_LANES
from duebell_shared.task import Status

__all__ = ["relane"]

_WAY_OUT = (
    "a task's lane is part of its key, so tasks cannot stay where they are: `duebell export`, deploy a "
    "scheduler of another name with more lanes, `duebell import` there"
)


def relane(backend: Backend, lanes: int) -> ArmingRecord:
    """Give the queue so many lanes. Restart the editors afterwards: they remember how many there were.

    Raises InvalidSettings for fewer or too many, TaskConflict while there is any task or a run.
    """
    before = backend.armer.read()
    if not len(before.lanes) <= lanes <= MAX_LANES:
        raise InvalidSettings("lanes", f"must be {len(before.lanes)}, as many as there are, to {MAX_LANES}")

    def widen(record: ArmingRecord) -> ArmingRecord:
        if any(lane.owner for lane in record.lanes):
            raise TaskConflict("a run is at work on the queue: wait till it is over")
        if any(lane.due != NEVER for lane in record.lanes) or not _is_empty(backend, len(record.lanes)):
            raise TaskConflict(f"the queue is not empty, history included: {_WAY_OUT}")
        more = lanes - len(record.lanes)
        return replace(record, lanes=(*record.lanes, *(Lane() for _ in range(more)))) if more else record

    return backend.armer.change(widen)


def _is_empty(backend: Backend, lanes: int) -> bool:
    for lane in range(lanes):
        if backend.store.head(lane) != NEVER:
            return False
        if next(backend.store.unqueued(lane, set(Status), now=backend.clock()), None) is not None:
            return False
    return True
