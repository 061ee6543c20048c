"""Noticing what changes, for whoever shows it, at the price of a few small reads per look."""

import itertools
from collections.abc import Sequence
from datetime import datetime

import msgspec

from duebell_shared.errors import UnreadableTask
from duebell_shared.instants import NEVER
from duebell_shared.task import QueueKey

from .reading import Queue

__all__ = ["Look", "Watched", "look"]

#: Keys of one lane that a look reads; a store's page.
_KEYS = 200


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What is being looked at: a stretch of the queue, and some tasks."""

    after: datetime | None = None
    before: datetime = NEVER
    ids: Sequence[str] = ()


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen; two looks that differ mean that something has changed.

    arming  the arming record's rev: every run and every new head changes it
    busy    whether a run is at work
    keys    the first tasks of each lane in the stretch, and when they are looked at
    revs    the tasks themselves
    """

    arming: int
    busy: bool
    keys: tuple[tuple[QueueKey, ...], ...]
    revs: tuple[int | None, ...]


def look(queue: Queue, watched: Watched) -> Look:
    """One read for the arming record, one for each lane, one for each task."""
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
    """The rev of the task, None if there is none; nor of an item that is none: who looks at it is told so."""
    try:
        task = queue.get(id, now=now)
    except UnreadableTask:
        return None
    return task.rev if task else None
