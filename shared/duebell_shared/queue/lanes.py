"""The lane of a task, from its id; and stray copies in other lanes.

A process that knew fewer lanes may insert a task after the queue was given more, and end before it moves it
to the right lane. If another task takes the id there, the first one is a stray copy: no add has returned it.
It is deleted before it runs.
"""

import logging
import zlib
from collections.abc import Sequence
from datetime import datetime

from duebell_shared.tasks.task import QueueKey

from .store import Store


def lane_of(id: str, lanes: int) -> int:
    """The lane of the task with this id: a hash that is the same everywhere and for ever."""
    return zlib.crc32(id.encode()) % lanes


def places_of(id: str, counts: Sequence[int]) -> list[int]:
    """The lanes that a task with this id may be in, by these numbers of lanes: each once, in their order."""
    return list(dict.fromkeys(lane_of(id, lanes) for lanes in counts))


_LOG = logging.getLogger("duebell.lanes")


def drop_stray_copy(store: Store, key: QueueKey, lanes: int, now: datetime) -> bool:
    """Delete the task with this key if it is a stray copy; tell whether it was. The queue has `lanes` lanes.

    A task that has been changed since its add is none. Raises what the store raises.
    """
    place = lane_of(key.id, lanes)
    if place == key.lane:
        return False
    there, other = store.get(key.lane, key.id), store.get(place, key.id)
    if there is None or other is None or (other.expires_at and other.expires_at <= now):
        return False
    if there.rev > 1 or not store.save(there, None):
        _LOG.warning("task %r is there twice: the one in lane %d is a task of its own", key.id, key.lane)
        return False
    _LOG.warning("task %r was inserted twice, and the copy that no add has returned is deleted", key.id)
    return True
