"""Changes of single tasks that a transaction of the user makes, and tasks that are reserved for one."""

from typing import Any

from duebell_shared.backend import Backend
from duebell_shared.instants import Instant
from duebell_shared.queue.pynamodb_form import in_pynamodb
from duebell_shared.queue.task_changes import update_of
from duebell_shared.queue.transactions import TaskWrite
from duebell_shared.tasks.task import Task

from .commit import drop_reservation

__all__ = ["Reservation", "TransactionItem"]


class TransactionItem:
    """A change of one task, to be put among the items of a transaction of your own.

    Nothing is changed unless that is committed; and it is not, if the task has changed since it was read.

    task  the task as it is once the transaction is committed
    """

    def __init__(self, backend: Backend, write: TaskWrite) -> None:
        self._backend = backend
        self._write = write
        self.task: Task = write.new

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.task})"

    @property
    def item(self) -> Any:
        """The change as one of the `TransactItems` of the SDK's client: `{"Update": …}`.

        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        return self._write.item(self._backend.settings.table)

    def for_pynamodb(self) -> dict[str, Any]:
        """The change as the arguments of pynamodb's `TransactWrite.update`, to be given with `**`.

        https://pynamodb.readthedocs.io/en/stable/transaction.html
        """
        return in_pynamodb(update_of(self._write.old, self._write.new), self._backend.settings.table)


class Reservation(TransactionItem):
    """A task that is stored, and that is run if a transaction confirms it in time.

    The rule rings for it already, so `confirm` is all that the transaction needs.

    task            the task as it is once it is confirmed
    reserved_until  how long the transaction has time; one that comes later may find the task gone, and fails
    """

    @property
    def confirm(self) -> Any:
        """The item that confirms the task: see `item`."""
        return self.item

    @property
    def reserved_until(self) -> Instant:
        """The time by which the transaction must confirm the task, by the clock of this process."""
        return self._write.old.reserved_until or self._write.old.created_at

    def drop(self) -> bool:
        """Delete the task now, as its transaction will not be made or has failed.

        False if this call has deleted nothing: the task is confirmed, was changed, or is gone because it has
        run or its time was over. After True, a transaction that comes later fails. A reservation that is not
        dropped ends by itself. Raises AwsRefused, AwsUnavailable, NotDeployed.
        """
        return drop_reservation(self._backend, self._write.old)
