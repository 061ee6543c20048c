"""Moving items to another lane, each in one transaction: a task is always in one place, and in one only.

The items are moved as they are stored, so that nothing in them is lost that this version cannot read. A
transaction takes twice the write units of its two writes. An answer that is lost does no harm: the SDK
repeats the call with the same token, and DynamoDB answers as it did the first time.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from duebell_shared.errors import AwsUnavailable

from .item_update import Item, ItemDeletion
from .lanes import lane_of
from .models import stored
from .task_changes import put_if_free

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["relocate_item"]

#: The reasons for a write not to be made where nothing is wrong: another change came first, or is under way.
_PASSING = {"None", "ConditionalCheckFailed", "TransactionConflict"}

#: The reasons of a write that was throttled.
_THROTTLED = {"ProvisionedThroughputExceeded", "ThrottlingError"}

#: The attributes that differ between versions of an item, and between items of one id.
_VERSION = ("rev", "created_at")


def relocate_item(client: "DynamoDBClient", table: str, item: Item, *, lanes: int, now: datetime) -> bool:
    """Move the item to the lane of its id in a queue of `lanes`; tell whether it was moved.

    Eligible: it is as it was read, and its new place is free, or holds history that has expired by `now`.
    Raises AwsUnavailable when it is throttled, and what botocore raises.
    """
    put = put_if_free({**item, **stored(lane=lane_of(item["id"]["S"], lanes))}, now)
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
