"""More lanes for a queue: only while it is empty, for a task's lane is part of its key.

An editor adds a task in the lane that its id has by the number of lanes that the editor knows, and looks at
the record after that. So the record is marked first, then the queue is looked into, then the lanes are added.
A task that was written before the mark is found. Whoever writes one after the mark sees the mark, or the new
number of lanes, and waits, or takes its task out and adds it again.
"""

import uuid
from datetime import timedelta

from duebell_shared.arming import ArmingRecord
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


#: How long the mark in the record may keep others from adding tasks.
_MARK = timedelta(seconds=30)


def relane(backend: Backend, lanes: int) -> ArmingRecord:
    """Give the queue so many lanes. Restart the editors afterwards: those that run list the old ones only.

    What they add is found by its id and run all the same.

    Raises InvalidSettings for fewer or too many; TaskConflict while there is any task or a run, or another
    process at it.
    """
    before = len(backend.armer.read().lanes)
    if not before <= lanes <= MAX_LANES:
        raise InvalidSettings("lanes", f"must be {before}, as many as there are, to {MAX_LANES}")
    if lanes == before:
        return backend.armer.read()
    me = uuid.uuid4().hex
    until = backend.clock() + _MARK

    def mark(record: ArmingRecord) -> ArmingRecord:
        if record.relaner and record.relaner_until > backend.clock():
            raise TaskConflict("another process is giving the queue more lanes: try again in a minute")
        return record.relaning(me, until=until)

    def widen(record: ArmingRecord) -> ArmingRecord:
        if record.relaner != me or len(record.lanes) != before or backend.clock() >= until:
            raise TaskConflict("this took too long, and others went on: try again")
        if any(lane.owner for lane in record.lanes):
            raise TaskConflict("a run is at work on the queue: wait till it is over")
        return record.widened(lanes)

    backend.armer.change(mark)
    try:
        _check_empty(backend, before)
        return backend.armer.change(widen)
    except BaseException:
        backend.armer.change(lambda record: record.not_relaned() if record.relaner == me else record)
        raise


def _check_empty(backend: Backend, lanes: int) -> None:
    """Raise TaskConflict if there is any task in these lanes."""
    for lane in range(lanes):
        history = backend.store.unqueued(lane, set(Status), now=backend.clock())
        if backend.store.head(lane) != NEVER or next(history, None) is not None:
            raise TaskConflict(f"the queue is not empty, history included: {_WAY_OUT}")
