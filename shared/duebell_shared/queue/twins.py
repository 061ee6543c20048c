"""Twins: a task that is stored in two lanes, after the queue was given more of them.

An editor that knew fewer lanes wrote it to a lane in which nobody looks for it any more; the relaner, or
another add, had stored it in the right one. Most often the editor sees that itself. It cannot when it dies,
or when its write got no answer and took effect later. No add returned such a task, so it is deleted before it
runs.
"""

import logging
from datetime import datetime

from duebell_shared.tasks.task import QueueKey

from .lanes import lane_of
from .store import Store

__all__ = ["drop_twin"]

_LOG = logging.getLogger("duebell.twins")


def drop_twin(store: Store, key: QueueKey, lanes: int, now: datetime) -> bool:
    """Delete the task with this key if it is a twin; tell whether it was. The queue has `lanes` lanes.

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
    _LOG.warning("task %r was added twice, and the one that no add was told of is deleted", key.id)
    return True
