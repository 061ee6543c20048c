"""Arming the rule for tasks that were just written."""

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from duebell_editor.listing.queue import Queue
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import LanesChanged
from duebell_shared.errors import AwsError, DuebellError, NotArmed, NotDeployed, UnreadableTask
from duebell_shared.queue.lanes import lane_of
from duebell_shared.queue.twins import drop_twin
from duebell_shared.quoting import quoted
from duebell_shared.tasks.task import Task, queue_key

__all__ = ["RuleSetter"]

_LOG = logging.getLogger("duebell.editor")


class RuleSetter:
    """Makes the rule ring for stored tasks. Raises NotArmed when that is not confirmed."""

    def __init__(self, backend: Backend, queue: Queue) -> None:
        self._backend = backend
        self._queue = queue

    def arm(self, tasks: Collection[Task], *, lanes: int | None = None) -> None:
        """Make the rule ring for those of these tasks that are in the queue.

        `lanes` is the number of lanes that they were placed by. Raises LanesChanged if there are more by now.
        """
        dues: dict[int, datetime] = {}
        waiting = [(task.lane, task.queued, task.id) for task in tasks if task.queued]
        for lane, queued, _ in waiting:
            dues[lane] = min(queued, dues.get(lane, queued))
        if not dues:
            if lanes and tasks and self._queue.lanes_now() != lanes:
                raise LanesChanged
            return
        try:
            record = self._backend.armer.lower(dues, lanes=lanes)
        except (AwsError, NotArmed, NotDeployed) as error:
            what = f"task {quoted(waiting[0][2])} is" if len(waiting) == 1 else f"{len(waiting):,} tasks are"
            task = next(iter(tasks)) if len(tasks) == 1 else None
            reason, way_out = (error.what, error.way_out) if isinstance(error, NotArmed) else (str(error), "")
            raise NotArmed(f"{what} stored, but {reason}", way_out=way_out, task=task) from error
        self._backend.hasten(record)

    def arm_added(self, tasks: Sequence[Task], lanes: int) -> Sequence[Task]:
        """`arm` for tasks that were just inserted; `lanes` is the number of lanes that they were placed by.

        If the queue was given more lanes meanwhile, they stay where they are, and are found and run there.
        But a twin, whose id has another task in its new lane, is deleted. Returns the twins.
        """
        try:
            self.arm(tasks, lanes=lanes)
        except LanesChanged:
            self.arm(tasks)
            return self._drop_twins(tasks, self._queue.lanes_now())
        return ()

    def arm_ids(self, ids: Collection[str]) -> None:
        """`arm` for the tasks with these ids that exist."""
        try:
            there = self._queue.get_many(ids).values()
        except AwsError as error:
            raise NotArmed(f"{len(ids):,} tasks were there before and could not be read: {error}") from error
        self.arm(there)

    def arm_after(self, conflict: DuebellError, tasks: Collection[Task]) -> None:
        """`arm` for stored tasks, when the call itself failed by this conflict."""
        try:
            self.arm(tasks)
        except NotArmed as error:
            raise NotArmed(f"{conflict}; and {error.__cause__ or error.what}") from conflict

    def _drop_twins(self, tasks: Iterable[Task], lanes: int) -> Sequence[Task]:
        """Delete the tasks whose ids have another task in their lane by this number of lanes; return them."""
        misplaced = [task for task in tasks if lane_of(task.id, lanes) != task.lane]
        twins = []
        try:
            others = self._queue.in_lanes(lanes, [task.id for task in misplaced])
            for task in misplaced:
                key = queue_key(task)
                if task.id in others and drop_twin(self._backend.store, key, lanes, self._backend.clock()):
                    twins.append(task)
        except (AwsError, UnreadableTask) as error:  # runs check for twins too, before they start a task
            _LOG.warning("could not check whether tasks are stored in two lanes: %s", error)
        return twins
