"""Arming the rule for tasks that were just written."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from duebell_shared.backend import Backend
from duebell_shared.bell.armer import LanesChanged
from duebell_shared.errors import AwsError, DuebellError, NotArmed, NotDeployed, TaskConflict
from duebell_shared.queue.lanes import drop_stray_copy, lane_of
from duebell_shared.queue.taken_ids import is_same_add
from duebell_shared.queue.task_queue import Queue
from duebell_shared.quoting import quoted
from duebell_shared.tasks.task import Task, queue_key


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
            self._queue.forget_counts()  # the tasks may be in lanes that the queue had earlier
            what = f"task {quoted(waiting[0][2])} is" if len(waiting) == 1 else f"{len(waiting):,} tasks are"
            task = next(iter(tasks)) if len(tasks) == 1 else None
            reason, way_out = (error.what, error.way_out) if isinstance(error, NotArmed) else (str(error), "")
            raise NotArmed(f"{what} stored, but {reason}", way_out=way_out, task=task) from error
        self._backend.start_run_if_late(record)

    def arm_added(self, tasks: Sequence[Task], lanes: int) -> Sequence[Task]:
        """`arm` for tasks that were just inserted; `lanes` is the number of lanes that they were placed by.

        If the queue was given more lanes meanwhile, each moves to the lane of its id. A task whose id is
        taken there is deleted. Returns the deleted ones.
        """
        deleted: list[Task] = []
        while True:
            try:
                self.arm(tasks, lanes=lanes)
            except LanesChanged:
                self._queue.forget_counts()
                self.arm(tasks)  # they are run where they are if this process ends now
                lanes = self._queue.lanes
                deleted += self._relocated(tasks, lanes)
                ids = {task.id for task in deleted}
                tasks = [replace(task, lane=lane_of(task.id, lanes)) for task in tasks if task.id not in ids]
            else:
                return deleted

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

    def _relocated(self, tasks: Sequence[Task], lanes: int) -> Iterator[Task]:
        """Move new tasks to the lanes of their ids. Deletes and returns those whose ids are taken there."""
        misplaced = [task for task in tasks if lane_of(task.id, lanes) != task.lane]
        results = self._backend.parallel(lambda task: self._is_relocated(task, lanes), misplaced)
        for task, result in zip(misplaced, results, strict=True):
            if isinstance(result, DuebellError):
                what = f"task {quoted(task.id)} is stored, but perhaps in an earlier lane: {result}"
                raise NotArmed(what, way_out="add it again with if_exists='keep'", task=task) from result
            if not result:
                yield task

    def _is_relocated(self, task: Task, lanes: int) -> bool:
        """Move a new task to the lane of its id; False if it is deleted, as another task has that id there.

        A task that was run or changed meanwhile stays.
        """
        store, key, now = self._backend.store, queue_key(task), self._backend.clock()
        [result] = store.relocate([key], lanes=lanes, now=now, only_new=True)
        if isinstance(result, DuebellError):
            raise result
        if result:
            return True
        if drop_stray_copy(store, key, lanes, now):
            return False
        there, other = store.get(task.lane, task.id), store.get(lane_of(task.id, lanes), task.id)
        if there == task:
            raise TaskConflict("another transaction was under way")
        return there is not None or other is None or is_same_add(other, task)  # else a run has deleted it
