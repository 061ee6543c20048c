"""Reserved tasks that have come due: they wait for their transactions, or are dropped.

Problem: a run finds a task in the queue, and the transaction that is to confirm it is neither committed nor
cancelled. Solution: the run leaves the task as it is, and reads it again soon. Once the reservation has
expired, the run deletes the task, unless it was confirmed in that moment: then the transaction fails if it is
still to come. Neither counts an attempt, nor changes when the task was due.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from duebell_shared.tasks.task import QueueKey, Status, Task, queue_key

from .context import RunContext
from .lane_writer import LaneWriter
from .lease import Lease
from .trouble import Trouble

__all__ = ["Reservations", "again_after"]

#: The shortest wait, for which a run stays in any case, and the longest one.
_SHORTEST, _LONGEST = timedelta(seconds=2), timedelta(seconds=30)


def again_after(task: Task, now: datetime) -> datetime:
    """The time to read a reserved task again: in a quarter of the time that its transaction has taken so far.

    Not after the end of its reservation.
    """
    wait = max(min((now - task.created_at) / 4, _LONGEST), _SHORTEST)
    return min(now + wait, task.expires_at or now)


class Reservations:
    """The reserved tasks that one run found due."""

    def __init__(self, context: RunContext, lease: Lease, trouble: Trouble) -> None:
        self._context = context
        self._writer = LaneWriter(context, lease, trouble)
        self._trouble = trouble

    def settle(self, found: Mapping[QueueKey, Task]) -> set[QueueKey]:
        """Leave reserved tasks for a while, or drop them; return the keys that need no claim.

        `found` are tasks that could not be claimed as scheduled, as they are now. A task that can be now was
        confirmed meanwhile, and is claimed with the next look into its lane.
        """
        now = self._context.now()
        reserved = {key: task for key, task in found.items() if task.status is Status.RESERVED}
        waiting = {key: again_after(task, now) for key, task in reserved.items() if not _is_over(task, now)}
        confirmed = {key for key, task in found.items() if _is_startable(task, key)}
        self._drop({key: task for key, task in reserved.items() if key not in waiting})
        for key, again_at in (waiting | dict.fromkeys(confirmed, now + _SHORTEST)).items():
            self._trouble.leave(key, until=again_at)
        return confirmed | reserved.keys()

    def _drop(self, expired: Mapping[QueueKey, Task]) -> None:
        """Delete these tasks. One that was confirmed meanwhile, or could not be deleted, is read again."""
        results = self._writer.save([(task, None) for task in expired.values()])
        for (key, task), is_dropped in zip(expired.items(), results, strict=True):
            if is_dropped is True:
                self._context.log("reservation_dropped", id=task.id, action=task.action)
            else:
                self._trouble.leave(key, until=self._context.now() + _SHORTEST)


def _is_over(task: Task, now: datetime) -> bool:
    return task.expires_at is None or task.expires_at <= now


def _is_startable(task: Task, key: QueueKey) -> bool:
    return task.status is Status.SCHEDULED and queue_key(task) == key
