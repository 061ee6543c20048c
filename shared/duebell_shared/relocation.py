"""Moving items to another lane, each in one transaction: a task is always in one place, and in one only.

The items are moved as they are stored, so that nothing in them is lost that this version cannot read. A
transaction takes twice the write units of its two writes. An answer that is lost does no harm: the SDK
repeats the call with the same token, and DynamoDB answers as it did the first time.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

import math
import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from .errors import AwsUnavailable
from .item_update import Item
from .lanes import lane_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["relocate_item"]

#: Why one of the two writes was not made, where nothing is wrong: someone else was faster, or is at it.
_PASSING = {"None", "ConditionalCheckFailed", "TransactionConflict"}

#: The same, where DynamoDB had no room for it at the moment.
_THROTTLED = {"ProvisionedThroughputExceeded", "ThrottlingError"}

_IS_FREE = "attribute_not_exists(#id) OR #expires_at <= :now"

#: The attributes that differ between versions of an item, and between items of one id.
_VERSION = ("rev", "created_at")


def relocate_item(client: "DynamoDBClient", table: str, item: Item, *, lanes: int, now: datetime) -> bool:
    """Move the item to the lane that its id has among so many; whether that was done.

    Eligible: it is as it was read, and its new place is free, or holds history that has expired by `now`.
    Raises AwsUnavailable when it is throttled, and what botocore raises.
    """
    put: Any = {
        "TableName": table,
        "Item": {**item, "lane": {"S": str(lane_of(item["id"]["S"], lanes))}},
        "ConditionExpression": _IS_FREE,
        "ExpressionAttributeNames": {"#id": "id", "#expires_at": "expires_at"},
        "ExpressionAttributeValues": {":now": {"N": str(math.floor(now.timestamp()))}},
    }
    version = {name: item[name] for name in _VERSION if name in item}
    delete: Any = {
        "TableName": table,
        "Key": {"lane": item["lane"], "id": item["id"]},
        "ConditionExpression": " AND ".join(
            ["attribute_exists(#id)", *(f"#{name} = :{name}" for name in version)]
        ),
        "ExpressionAttributeNames": {"#id": "id", **{f"#{name}": name for name in version}},
    }
    if version:
        delete["ExpressionAttributeValues"] = {f":{name}": value for name, value in version.items()}
    try:
        client.transact_write_items(
            TransactItems=[{"Put": put}, {"Delete": delete}], ClientRequestToken=uuid.uuid4().hex
        )
    except ClientError as error:
        reasons = _reasons(error)
        if reasons and reasons <= _PASSING:
            return False
        if reasons & _THROTTLED:
            raise AwsUnavailable(f"DynamoDB, table {table!r}: throttled") from error
        raise
    return True


def _reasons(error: ClientError) -> set[str]:
    """Why each write of a transaction was not made; empty when the call failed otherwise."""
    response: Any = error.response
    return {reason.get("Code", "None") for reason in response.get("CancellationReasons", ())}
