"""Adding tasks: placed in their lanes, written, settled where an id is taken, and rung for."""

from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from duebell_shared.add_report import AddFailure, AddReport
from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError, NotArmed, TaskConflict, TaskExists
from duebell_shared.lanes import lane_of
from duebell_shared.task import Task

from .change_log import log_change, logged
from .many import write_all
from .reading import Queue
from .rule_setting import RuleSetter
from .taken import IfExists, insert_many, is_same_add, settle, settle_all
from .transfer import ImportReport, read_chunks, write_chunk

__all__ = ["TAKEN", "Adder", "placed"]

#: Errors of an add whose id is taken, perhaps by its own earlier call.
TAKEN = (TaskExists, TaskConflict)


def placed(task: Task, lanes: int) -> Task:
    """The task in its lane, of so many."""
    return msgspec.structs.replace(task, lane=lane_of(task.id, lanes))


class Adder:
    """Adds tasks that are checked, and sets the rule for them."""

    def __init__(self, backend: Backend, queue: Queue, rule: RuleSetter) -> None:
        self._parallel = backend.parallel
        self._queue = queue
        self._rule = rule

    def add(
        self,
        checked: Task,
        if_exists: IfExists,
        *,
        rev: int | None = None,
        is_generated: bool = False,
        is_again: bool = False,
    ) -> Task:
        """Write a new task in its lane, and arm. `is_again`: it was written before, as a twin of another."""
        while True:
            lanes = self._queue.lanes  # only now that all is checked: the first look makes the record
            new = placed(checked, lanes)
            if is_again and (there := self._queue.get(new.id)) and is_same_add(there, new):
                self._rule.arm(
                    [there]
                )  # the other is the very same: an earlier try to write it took effect late
                return there
            is_elsewhere = not is_generated and self._queue.placed_before([new.id])
            if not is_elsewhere and self._queue.store.insert(new):
                log_change("add", None, new)
                task = new
            else:
                task = self._settle(new, if_exists, rev)
            if task is not new:
                self._rule.arm([task])
                return task
            if not self._rule.arm_added([new], lanes):
                return new if self._queue.lanes == lanes else self._queue.get(new.id) or new
            is_again = True

    def add_many(
        self,
        checked: Sequence[Task],
        chosen: Collection[str],
        if_exists: IfExists,
        progress: Callable[[int], None],
    ) -> AddReport:
        """Write these tasks, and arm once; `chosen` are the ids that a user has given."""
        lanes = self._queue.lanes if checked else 0
        new = [placed(task, lanes) for task in checked]
        stored, report = write_all(
            new,
            logged("add", lambda tasks: insert_many(self._queue, tasks, chosen)),
            lambda taken: settle_all(self._queue, taken, if_exists),
            progress,
        )
        index = {task.id: index for index, task in enumerate(new)}
        refused = [failure.id for failure in report.failures if isinstance(failure.error, TAKEN)]
        try:
            twins = self._rule.arm_added([task for task in stored if task is new[index[task.id]]], lanes)
            failures = self.add_again(twins, if_exists)
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
        """Write the tasks of an export, chunk by chunk, and arm for each chunk."""
        done = 0
        report = ImportReport(written=0, there=0)
        for chunk in read_chunks(lines):
            lanes = self._queue.lanes
            part, written, there = write_chunk(
                [placed(task, lanes) for task in chunk],
                logged("import", lambda tasks: insert_many(self._queue, tasks, {task.id for task in tasks})),
            )
            failures = self.add_again(self._rule.arm_added(written, lanes), IfExists.KEEP)
            self._rule.arm(there)
            report = report + part.corrected(
                AddFailure(index=index, id=task.id, error=failures[task.id])
                for index, task in enumerate(chunk)
                if task.id in failures
            )
            done += len(chunk)
            progress(done)
        return report

    def _settle(self, new: Task, if_exists: IfExists, rev: int | None) -> Task:
        """Keep, replace or refuse: settle a new task whose id is taken."""
        try:
            return settle(self._queue, new, if_exists, rev=rev)
        except TAKEN as taken:
            # It may be the very task of an earlier call that was not answered, and the rule not set for it.
            self._rule.arm_after(taken, self._queue.get_many([new.id]).values())
            raise

    def add_again(self, tasks: Sequence[Task], if_exists: IfExists) -> dict[str, DuebellError]:
        """Settle what becomes of tasks that were twins; the errors there are. Raises NotArmed."""
        added = self._parallel(lambda task: self.add(task, if_exists, is_again=True), tasks)
        failed = {
            task.id: error
            for task, error in zip(tasks, added, strict=True)
            if isinstance(error, DuebellError)
        }
        for error in failed.values():
            if isinstance(error, NotArmed):
                raise error
        return failed
