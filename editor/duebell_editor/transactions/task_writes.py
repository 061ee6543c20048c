"""Changes of single tasks by a transaction of the user, and tasks that are reserved for a transaction."""

from datetime import timedelta
from functools import reduce
from operator import and_
from typing import Any

from duebell_shared.backend import Backend
from duebell_shared.instants import Instant
from duebell_shared.queue.changes import TaskWrite, change_of
from duebell_shared.tasks.task import Task

#: The time that a transaction has to confirm its tasks. For a task that is due, the worker is started again
#: and again in this time.
GRACE = timedelta(minutes=2)


class TransactionItem:
    """A change of one task, to be put among the items of a transaction of your own.

    Commit that transaction to make the change. It fails if the task has changed since it was read.

    task  the task as it is once the transaction is committed
    """

    def __init__(self, backend: Backend, write: TaskWrite) -> None:
        self._backend = backend
        self.write = write
        self.task: Task = write.new

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.task})"

    @property
    def item(self) -> Any:
        """The change as one of the `TransactItems` of the SDK's client: `{"Update": …}`.

        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        return self.write.item(self._backend.settings.table)

    def for_pynamodb(self) -> dict[str, Any]:
        """The change as the arguments of pynamodb's `TransactWrite.update`, to be given with `**`.

        https://pynamodb.readthedocs.io/en/stable/transaction.html
        """
        from pynamodb.attributes import UnicodeAttribute  # noqa: PLC0415 (most do not use it)
        from pynamodb.expressions.operand import Path  # noqa: PLC0415
        from pynamodb.models import Model  # noqa: PLC0415

        table = self._backend.settings.table

        class Keys(Model):
            """The table's keys: the transaction's own connection makes the call."""

            class Meta:
                table_name = table

            lane = UnicodeAttribute(hash_key=True)
            id = UnicodeAttribute(range_key=True)

        update = change_of(self.write.old, self.write.new)
        sets = [Path([name]).set(value) for name, value in (update.sets or {}).items()]
        removes = [Path([name]).remove() for name in update.removes]
        conditions: list[Any] = [Path([name]) == value for name, value in update.where.items()]
        return {
            "model": Keys(update.key["lane"]["S"], update.key["id"]["S"]),
            "actions": [*sets, *removes],
            "condition": reduce(and_, conditions),
        }


class Reservation(TransactionItem):
    """A task that is stored, and that is run if a transaction confirms it in time.

    The rule rings for it already, so `confirm` is all that the transaction needs.

    task            the task as it is once it is confirmed
    reserved_until  when the time to commit ends; later, the task may be deleted, and the transaction fails
    """

    @property
    def confirm(self) -> Any:
        """The item that confirms the task: see `item`."""
        return self.item

    @property
    def reserved_until(self) -> Instant:
        """The time by which the transaction must confirm the task, by the clock of this process."""
        return self.write.old.reserved_until or self.write.old.created_at

    def drop(self) -> bool:
        """Delete the task now, because its transaction has failed or will not be made.

        Returns False if it deleted nothing: the task was confirmed or changed, or is gone, because it has run
        or its time was over. After True, a later commit of the transaction fails. A reservation that is not
        dropped ends by itself. Raises AwsRefused, AwsUnavailable, NotDeployed.
        """
        return self._backend.store.delete(self.write.old)
