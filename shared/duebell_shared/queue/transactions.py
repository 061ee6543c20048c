"""Transactions over the queue and other tables, as DynamoDB's TransactWriteItems has them. Pure.

All items of a transaction are written, or none is. Each may have a condition of its own.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from duebell_shared.errors import ItemRefusal
from duebell_shared.tasks.task import Task

from .task_changes import update_of

__all__ = ["MOST_WRITES", "Other", "TaskWrite", "Transacted"]

#: DynamoDB's limit for the items of one transaction.
MOST_WRITES = 100

#: A write to a table of the user, or a check of one of its items, as one of `TransactItems`.
Other = Mapping[str, Any]


class TaskWrite(msgspec.Struct, frozen=True):
    """The change of one task from `old`, as it was read, to `new`; refused if it has changed since."""

    old: Task
    new: Task

    def item(self, table: str) -> dict[str, Any]:
        """The change as one of `TransactItems`, for the queue in this table."""
        update = update_of(self.old, self.new).call()
        del update["ReturnValues"]  # an argument of UpdateItem alone
        return {"Update": {"TableName": table, **update}}


class Transacted(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a transaction: it is committed if no item was refused.

    refusals  the items that were refused
    is_sure   False if a try before may have committed it: its answer was lost
    """

    refusals: tuple[ItemRefusal, ...] = ()
    is_sure: bool = True
