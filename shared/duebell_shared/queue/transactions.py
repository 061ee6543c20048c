"""Transactions over the queue and other tables by DynamoDB's TransactWriteItems, at twice the write units.

If an answer is lost, the SDK repeats the call with the same token, and DynamoDB answers as the first time.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from botocore.exceptions import ClientError

from duebell_shared.errors import AwsRefused, AwsUnavailable, ItemRefusal
from duebell_shared.tasks.task import Task

from .changes import ItemDeletion, put_if_free, update_of
from .items import Item, stored

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

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


_CANCELLED = "TransactionCanceledException"

#: In the place of a reason: this item could have been written.
_NO_REASON = "None"


def transact(
    client: "DynamoDBClient", table: str, writes: Sequence[TaskWrite | Other], token: str
) -> Transacted:
    """Make these writes in one transaction, those of tasks in this table. Raises what botocore raises.

    Raises AwsRefused when a table, perhaps one of the user's, is not there; AwsUnavailable if the refused try
    was the SDK's second: the one before it may be committed.
    """
    items: Any = [write.item(table) if isinstance(write, TaskWrite) else write for write in writes]
    try:
        client.transact_write_items(TransactItems=items, ClientRequestToken=token)
    except ClientError as error:
        answer: Any = error.response
        code = answer.get("Error", {}).get("Code")
        was_retried = bool(answer.get("ResponseMetadata", {}).get("RetryAttempts"))
        if code != _CANCELLED and was_retried:
            raise AwsUnavailable(f"a try was not answered, and another one was refused: {error}") from error
        if code == "ResourceNotFoundException":
            names = sorted({write["TableName"] for item in items for write in item.values()})
            where = client.meta.region_name
            raise AwsRefused(
                f"one of the tables {', '.join(names)} is not in {where}, or not active"
            ) from error
        if code != _CANCELLED:
            raise
        return Transacted(
            refusals=_refusals(answer),
            is_sure=not was_retried,
        )
    return Transacted()


def _refusals(answer: Any) -> tuple[ItemRefusal, ...]:
    reasons = enumerate(answer.get("CancellationReasons", ()))
    refusals = tuple(
        ItemRefusal(
            index=index,
            code=reason["Code"],
            message=reason.get("Message") or "",
            item=reason.get("Item") or None,
        )
        for index, reason in reasons
        if reason.get("Code", _NO_REASON) != _NO_REASON
    )
    said = answer["Error"].get("Message") or ""
    return refusals or (ItemRefusal(index=0, code=_CANCELLED, what="the transaction", message=said),)


#: The reasons for a write not to be made where nothing is wrong: another change came first, or is under way.
_PASSING = {"None", "ConditionalCheckFailed", "TransactionConflict"}

#: The reasons of a write that was throttled.
_THROTTLED = {"ProvisionedThroughputExceeded", "ThrottlingError"}

#: The attributes that differ between versions of an item, and between items of one id.
_VERSION = ("rev", "created_at")


def relocate_item(client: "DynamoDBClient", table: str, item: Item, *, lane: int, now: datetime) -> bool:
    """Move the item, as it is stored, to this lane; tell whether it was moved.

    Eligible: it is as it was read, and its new place is free, or holds history that has expired by `now`.
    Raises AwsUnavailable when it is throttled, and what botocore raises.
    """
    put = put_if_free({**item, **stored(lane=lane)}, now)
    key = {name: item[name] for name in ("lane", "id")}
    where = {name: item[name] for name in ("id", *_VERSION) if name in item}
    delete = ItemDeletion(key, where).call()
    writes: Any = [{"Put": {"TableName": table, **put}}, {"Delete": {"TableName": table, **delete}}]
    try:
        client.transact_write_items(TransactItems=writes, ClientRequestToken=uuid.uuid4().hex)
    except ClientError as error:
        reasons = _reasons(error)
        if reasons and reasons <= _PASSING:
            return False
        if reasons & _THROTTLED:
            raise AwsUnavailable(f"DynamoDB, table {table!r}: throttled") from error
        raise
    return True


def _reasons(error: ClientError) -> set[str]:
    """The reasons that writes of a transaction were not made; empty when the call failed otherwise."""
    response: Any = error.response
    return {reason.get("Code", "None") for reason in response.get("CancellationReasons", ())}
