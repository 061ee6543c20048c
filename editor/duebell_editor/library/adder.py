"""Adding tasks: set the lane, insert, resolve ids that are taken, arm the rule."""

from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.change_log import added_as, log_change, logged
from duebell_shared.errors import AddFailure, AddReport, DuebellError, NotArmed, TaskConflict, TaskExists
from duebell_shared.queue.lanes import lane_of
from duebell_shared.queue.rule_setter import RuleSetter
from duebell_shared.queue.taken_ids import Added, Policy, insert_many, is_same_add, settle, settle_all
from duebell_shared.queue.task_queue import Queue
from duebell_shared.tasks.fields import IfExists
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

from .batches import write_all
from .export import ImportReport, read_chunks, write_chunk

__all__ = ["Adder"]

#: Errors of an add whose id is taken, perhaps by an earlier call of the same add.
_TAKEN = (TaskExists, TaskConflict)


def _placed(task: Task, lanes: int) -> Task:
    """The task with its lane set, in a queue with this number of lanes."""
    return msgspec.structs.replace(task, lane=lane_of(task.id, lanes))


class Adder:
    """Stores tasks that are already checked, and arms the rule for them."""

    def __init__(self, backend: Backend, queue: Queue, rule: RuleSetter) -> None:
        self._parallel = backend.parallel
        self._queue = queue
        self._rule = rule

    def add(
        self,
        checked: Task,
        policy: Policy,
        *,
        is_generated: bool = False,
        is_again: bool = False,
    ) -> Added:
        """Insert a task into its lane, and arm.

        `is_again`: it was inserted before, and deleted because another task has its id by now.
        """
        while True:
            lanes = self._queue.lanes  # not before the checks: the first read creates the arming record
            new = _placed(checked, lanes)
            if is_again and (there := self._queue.get(new.id)) and is_same_add(there, new):
                # The stored task comes from this very call: an earlier write took effect late.
                self._rule.arm([there])
                return Added(there, "added")
            is_elsewhere = not is_generated and self._queue.placed_before([new.id])
            if not is_elsewhere and self._queue.store.insert(new):
                log_change(added_as(new), None, new)
                added = Added(new, "added")
            else:
                added = self._settle(new, policy)
            if added.task is not new:
                self._rule.arm([added.task])
                return added
            if not self._rule.arm_added([new], lanes):
                is_same = self._queue.lanes == lanes
                return added if is_same else Added(self._queue.get(new.id) or new, "added")
            is_again = True

    def add_many(
        self,
        checked: Sequence[Task],
        chosen: Collection[str],
        policy: Policy,
        progress: Callable[[int], None],
    ) -> AddReport:
        """Insert these tasks, and arm once; `chosen` are the ids that were given, not generated."""
        lanes = self._queue.lanes if checked else 0
        new = [_placed(task, lanes) for task in checked]
        stored, report = write_all(
            new,
            logged("add", lambda tasks: insert_many(self._queue, tasks, chosen)),
            lambda taken: settle_all(self._queue, taken, policy),
            progress,
        )
        index = {task.id: index for index, task in enumerate(new)}
        refused = [failure.id for failure in report.failures if isinstance(failure.error, _TAKEN)]
        try:
            deleted = self._rule.arm_added([task for task in stored if task is new[index[task.id]]], lanes)
            failures = self._add_again(deleted, policy)
            report = report.corrected(
                AddFailure(index=index[id], id=id, error=error) for id, error in failures.items()
            )
            self._rule.arm([task for task in stored if task is not new[index[task.id]]])
            self._rule.arm_ids(refused)
        except NotArmed as error:
            error.report = report
            raise
        return report

    def import_lines(self, lines: Iterable[bytes | str], progress: Callable[[int], None]) -> ImportReport:
        """Insert the tasks of an export in chunks, and arm after each chunk."""
        done = 0
        report = ImportReport(written=0, there=0)
        for chunk in read_chunks(lines):
            lanes = self._queue.lanes
            part, written, there = write_chunk(
                [_placed(task, lanes) for task in chunk],
                logged("import", lambda tasks: insert_many(self._queue, tasks, {task.id for task in tasks})),
            )
            failures = self._add_again(self._rule.arm_added(written, lanes), Policy(IfExists.KEEP))
            self._rule.arm(there)
            report = report + part.corrected(
                AddFailure(index=index, id=task.id, error=failures[task.id])
                for index, task in enumerate(chunk)
                if task.id in failures
            )
            done += len(chunk)
            progress(done)
        return report

    def _settle(self, new: Task, policy: Policy) -> Added:
        """Apply the policy to a task whose id is taken. Tells which task is stored in the end."""
        try:
            return settle(self._queue, new, policy)
        except _TAKEN as taken:
            # The stored task may be that of an earlier call without an answer, and the rule not set for it.
            there = self._queue.get_many([new.id])
            self._rule.arm_after(taken, there.values())
            if new.id in there and there[new.id].status is Status.RESERVED:
                raise TaskExists(new.id, reserved_until=there[new.id].reserved_until) from taken
            raise

    def _add_again(self, tasks: Sequence[Task], policy: Policy) -> dict[str, DuebellError]:
        """Add tasks again whose ids are taken. Returns the errors by id. Raises NotArmed."""
        added = self._parallel(lambda task: self.add(task, policy, is_again=True), tasks)
        failed = {
            task.id: error
            for task, error in zip(tasks, added, strict=True)
            if isinstance(error, DuebellError)
        }
        for error in failed.values():
            if isinstance(error, NotArmed):
                raise error
        return failed
