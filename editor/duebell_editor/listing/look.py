"""Polling the queue for changes, for a few small reads each time."""

import itertools
from collections.abc import Sequence
from datetime import datetime

import msgspec

from duebell_shared.errors import UnreadableTask
from duebell_shared.instants import NEVER
from duebell_shared.tasks.task import QueueKey

from .queue import Queue

__all__ = ["Look", "Watched", "look"]

#: Keys read of each lane: one page of the store.
_KEYS = 200


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the queue between two times, and the tasks, to look at."""

    after: datetime | None = None
    before: datetime = NEVER
    ids: Sequence[str] = ()


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The state at one moment; two looks that differ mean that something has changed.

    arming  the arming record's rev: every run and every new head changes it
    busy    whether a run is at work
    keys    the first keys of each lane in this part of the queue
    revs    the revs of the tasks; None for one that does not exist
    """

    arming: int
    busy: bool
    keys: tuple[tuple[QueueKey, ...], ...]
    revs: tuple[int | None, ...]


def look(queue: Queue, watched: Watched) -> Look:
    """Read the arming record, a page of each lane, and each task: one read each."""
    record, now = queue.record(), queue.clock()
    stretches = (
        queue.store.queued(lane, after=watched.after, before=watched.before)
        for lane in range(len(record.lanes))
    )
    return Look(
        arming=record.rev,
        busy=any(not lane.is_free(now) for lane in record.lanes),
        keys=tuple(tuple(itertools.islice(keys, _KEYS)) for keys in stretches),
        revs=tuple(_rev(queue, id, now) for id in watched.ids),
    )


def _rev(queue: Queue, id: str, now: datetime) -> int | None:
    """The rev of the task; None if it does not exist, or its item cannot be read as a task."""
    try:
        task = queue.get(id, now=now)
    except UnreadableTask:
        return None
    return task.rev if task else None
