"""The part of the editor that works with the user's own transactions."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Unpack
from uuid import uuid4

from duebell_editor.library.known_worker import KnownWorker
from duebell_editor.library.queue_keeper import QueueKeeper
from duebell_editor.library.taken_ids import IfExists
from duebell_editor.library.values import apply_change, fields_of, task_of
from duebell_shared.backend import Backend
from duebell_shared.errors import InvalidTask, TaskChanged
from duebell_shared.queue.transactions import TaskWrite
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import NewTask, TaskChange, TaskFields, checked
from duebell_shared.tasks.new_task import check_change
from duebell_shared.tasks.task import Task

from .reservation import Reservation, TransactionItem
from .transaction import Transaction, TransactionSteps

__all__ = ["GRACE", "TransactionEditor"]

#: The time that a transaction has to confirm its tasks, if none is given, and the bounds of it. For a task
#: that is due, the worker is started again and again in this time.
GRACE = timedelta(minutes=2)
_SHORTEST, _LONGEST = timedelta(seconds=10), timedelta(hours=1)


class TransactionEditor(QueueKeeper):
    """Adds and changes tasks in transactions that users make."""

    def __init__(self, backend: Backend, changed_by: str | None) -> None:
        super().__init__(backend, changed_by)
        self._known = KnownWorker(backend)

    def transaction(self, *, grace: timedelta = GRACE) -> Transaction:
        """A transaction over tables of your own and the queue, for a `with` statement: see Transaction.

        grace  how long the commit may take before its tasks are dropped, 10 seconds to an hour

        Raises InvalidTask.
        """
        steps = TransactionSteps(
            self._backend,
            check=self._check,
            reserve=lambda tasks, grace: self._backend.parallel(
                lambda task: self._reserve(task, grace, is_generated=False), tasks
            ),
            cancel=self._cancel_write,
            move=self._move_write,
            update=self._update_write,
        )
        return Transaction(steps, _check_grace(grace))

    def reserve(self, action: str, *, grace: timedelta = GRACE, **fields: Unpack[TaskFields]) -> Reservation:
        """Store a task that is run only if a transaction of your own confirms it. Returns its reservation.

        Put the reservation's `confirm` among the `TransactItems` of your client, or give it to pynamodb's
        `TransactWrite`: then the task is added if and only if that transaction is committed. `transaction()`
        does both.

        action, fields  those of `add`, but for `if_exists`, `at_most` and `rev`
        grace           how long the transaction has time, 10 seconds to an hour

        A task that is not confirmed in time is deleted, and the transaction then fails. An id that is
        reserved can be reserved again at any time: the transaction of the earlier reservation then fails.
        Raises InvalidTask and InvalidSchedule before anything is written, TaskExists, QueueFull, NotArmed.
        """
        given = fields_of(NewTask, {"action": action, **fields})
        grace = _check_grace(grace)
        reserved = self._reserve(self._check(given), grace, is_generated=given.get("id") is None)
        return Reservation(self._backend, TaskWrite(reserved, reserved.confirmed()))

    def cancel_item(self, id: str, *, rev: int | None = None) -> TransactionItem:
        """Cancel a task by a transaction of your own, with what `cancel` does to it.

        The transaction fails if the task has changed since this call read it, or since it was at `rev`.
        Raises TaskNotFound, TaskConflict.
        """
        return TransactionItem(self._backend, self._cancel_write(id, rev=rev))

    def move_item(self, id: str, *, due: datetime | timedelta, rev: int | None = None) -> TransactionItem:
        """Move a task to a later due date by a transaction of your own, with what `move` does to it.

        Raises InvalidTask for an earlier one, which no rule would ring for; else as `cancel_item`.
        """
        return TransactionItem(self._backend, self._move_write(id, due=due, rev=rev))

    def update_item(
        self, id: str, *, rev: int | None = None, **changes: Unpack[TaskChange]
    ) -> TransactionItem:
        """Change a task by a transaction of your own, with what `update` does to it, by the same arguments.

        Raises as `move_item`, and InvalidSchedule.
        """
        return TransactionItem(self._backend, self._update_write(id, rev=rev, **changes))

    def _check(self, given: NewTask) -> Task:
        task = self._signed(task_of(given, self._clock()))
        self._known.check_all(task, given.get("payload"))
        return task

    def _reserve(self, checked: Task, grace: timedelta, *, is_generated: bool) -> Task:
        """Store the task as reserved, from now on, and arm the rule for it."""
        reserved = checked.reserved(uuid4().hex, until=self._clock() + grace)
        return self._adder.add(reserved, IfExists.FAIL, is_generated=is_generated).task

    def _cancel_write(self, id: str, *, rev: int | None) -> TaskWrite:
        keep = self._backend.settings.keeping
        return self._write(id, lambda task: task.cancelled(now=self._clock(), keep=keep), rev)

    def _move_write(self, id: str, *, due: datetime | timedelta, rev: int | None) -> TaskWrite:
        return self._write(id, lambda task: task.moved(due, now=self._clock()), rev)

    def _update_write(self, id: str, *, rev: int | None, **changes: Unpack[TaskChange]) -> TaskWrite:
        change = fields_of(TaskChange, changes)
        check_change(change)
        return self._write(id, self._change_of(change), rev)

    def _change_of(self, change: TaskChange) -> Callable[[Task], Task]:
        """The change as a function of the task, checked by what the worker says."""

        def apply(task: Task) -> Task:
            changed = apply_change(task, change, now=self._clock())
            if not change.keys().isdisjoint({"payload", "action", "on_failed", "then"}):
                self._known.check_all(changed, change.get("payload"))
            return changed

        return apply

    def _write(self, id: str, change: Callable[[Task], Task], rev: int | None) -> TaskWrite:
        """The change of the task as it is now. Raises InvalidTask for one that the rule must be set for."""
        rev = checked("rev", rev)
        task = self.get(id)
        if rev is not None and task.rev != rev:
            raise TaskChanged(id, expected=rev, rev=task.rev)
        changed = self._signed(change(task))
        if changed.queued and (task.queued is None or changed.queued < task.queued):
            raise InvalidTask(
                "due",
                f"is earlier than before: task {quoted(id)} would run at {changed.queued}, and no "
                f"transaction sets the rule",
                way_out="change it with `editor.move` or `editor.update` before or after the transaction",
            )
        return TaskWrite(task, changed)


def _check_grace(grace: object) -> timedelta:
    if not isinstance(grace, timedelta) or not _SHORTEST <= grace <= _LONGEST:
        raise InvalidTask("grace", f"must be a timedelta of 10 seconds to an hour, not {quoted(grace)}")
    return grace
