"""Twins: a task that is stored in two lanes, after the queue was given more of them.

An editor that knew fewer lanes wrote it where nobody looks for it any more, and a relaner or another add had
put it in its place. Most often the editor sees that itself. It cannot when it dies, or when the answer to its
write was lost and the write took effect later. Nobody was told of such a task: it is deleted before it runs.
"""

import logging
from datetime import datetime

from .lanes import lane_of
from .store import Store
from .task import QueueKey

__all__ = ["drop_twin"]

_LOG = logging.getLogger("duebell.twins")


def drop_twin(store: Store, key: QueueKey, lanes: int, now: datetime) -> bool:
    """Delete the task with this key if it is a twin of one in its lane of so many; tell whether it was.

    One that a run has had before, or a user has changed, counts as a task of its own.
    Raises what the store raises.
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
    _LOG.warning("task %r was added twice, and the one that no add was told of is deleted", key.id)
    return True
