"""Tasks that could not be claimed as scheduled: reserved, left running by a run, or owing a follow-up.

Reserved tasks are left or dropped. Follow-ups are added: the run that ended the task died before it had done
so, or could not. A task that a run left running is claimed as running, one at a time, as it may have killed
its process.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from duebell_shared.instants import NEVER
from duebell_shared.tasks.task import QueueKey, Status, Task, queue_key
from duebell_worker.run.attempts import Attempts
from duebell_worker.run.context import RunContext
from duebell_worker.run.lane_reader import LaneReader
from duebell_worker.run.lane_writer import LaneWriter
from duebell_worker.run.lease import Lease
from duebell_worker.run.trouble import Trouble

__all__ = ["NotClaimed", "Reservations", "again_after"]

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


#: In a long-running process a task that was left running is alone for so long, then the next one is started.
_ALONE_FOR = timedelta(minutes=1)


class NotClaimed:
    """The tasks of one run whose claim was refused."""

    def __init__(
        self,
        context: RunContext,
        reader: LaneReader,
        attempts: Attempts,
        reservations: Reservations,
        trouble: Trouble,
    ) -> None:
        self._context = context
        self._reader = reader
        self._attempts = attempts
        self._reservations = reservations
        self._trouble = trouble
        self._keys = attempts.not_claimed
        self._left_running: dict[QueueKey, int] = {}  # the attempts of those that were read
        self._started: QueueKey | None = None  # the one of them that was started last
        self._next_at = NEVER  # when the next one is started, even if that is still under way

    def settle(self) -> bool:
        """Read the tasks, once each; leave or drop the reserved ones, and add the follow-ups that are owed.

        Returns whether there were any, or others that need no claim.
        """
        new = [key for key in self._keys if key not in self._left_running]
        found = self._reader.tasks_of(new)
        settled = self._settled(found)
        self._left_running |= {key: task.attempt for key, task in found.items() if key not in settled}
        self._keys[:] = [key for key in self._keys if key not in settled]
        return bool(settled)

    def start_next(self, may_start: Callable[[QueueKey], bool]) -> bool:
        """Start the next task that was left running, if it may be started; tell whether it is.

        Those with the fewest attempts are first: one that kills its process each time has more, and would
        keep the others waiting until they are used up. One that is alone is not read before: most often a run
        has died, and a read for each would cost more.
        """
        while self._keys:
            if self._keys[1:] and self.settle():
                continue
            key = min(self._keys, key=lambda key: (self._left_running.get(key, 0), key))
            self._remove(key)
            if may_start(key):
                self._started = key
                self._next_at = self._context.now() + _ALONE_FOR
                self._attempts.start(key, Status.RUNNING)
                return True
        return False

    def skip_refused(self) -> None:
        """Skip the task that was started last, if it could not be claimed as running either.

        It was changed by someone else this moment, or cannot be run by this version. It is looked at again
        soon.
        """
        key, self._started = self._started, None
        if key is None or key not in self._keys:
            return
        self._remove(key)
        if not self._settled(self._reader.tasks_of([key])):
            self._context.log("passed_over", level=logging.WARNING, id=key.id)
            self._trouble.pass_over(key)

    def go_on(self, may_start: Callable[[QueueKey], bool]) -> None:
        """See to these tasks while others are under way.

        Problem: an action may take minutes, and in a long-running process hours. Until it ends, a reserved
        task would be neither run nor dropped, and those that were left running would wait as well. Solution:
        reserved tasks are seen to after each look, and a process also starts those that were left running.
        """
        if not self._keys:
            return
        self.settle()
        is_alone = self._started in self._attempts.under_way() and self._context.now() < self._next_at
        if self._context.host and not is_alone and self._attempts.has_place:
            self.skip_refused()
            self.start_next(may_start)

    def _settled(self, found: Mapping[QueueKey, Task]) -> set[QueueKey]:
        """See to those of these tasks that need no claim; return their keys."""
        return self._attempts.add_follow_ups(found) | self._reservations.settle(found)

    def _remove(self, key: QueueKey) -> None:
        self._keys.remove(key)
        self._left_running.pop(key, None)
