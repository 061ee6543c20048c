"""A table that says what started on the embedded stack, and what was done."""

import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

__all__ = ["TABLE", "ActionFailed", "act", "create", "read"]

TABLE = "journal"

#: Seconds that an action takes.
_ACTION = 0.2


class ActionFailed(Exception):
    """A task's action failed."""


def create(dynamodb: Any) -> None:
    """Create the table."""
    dynamodb.create_table(
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


def act(dynamodb: Any, id: str, payload: Mapping[str, Any]) -> None:
    """Note that the task started, and act: `payload["fails"]` is how many of its first starts fail."""
    started = datetime.now(UTC)
    key = f"{id}/{uuid.uuid4().hex}"
    item = {"task": {"S": id}, "at": {"S": started.isoformat()}, "done": {"BOOL": False}}
    dynamodb.put_item(TableName=TABLE, Item={"id": {"S": key}, **item})
    time.sleep(_ACTION)
    if payload and _count(dynamodb, id) <= int(payload["fails"]):
        raise ActionFailed(f"the action of {id} fails, as it was told to")
    dynamodb.put_item(TableName=TABLE, Item={"id": {"S": key}, **item, "done": {"BOOL": True}})


def read(dynamodb: Any) -> list[tuple[str, datetime, bool]]:
    """Return the id of each task that started, when, and whether it was done."""
    items: list[dict[str, Any]] = []
    for page in dynamodb.get_paginator("scan").paginate(TableName=TABLE):
        items += [item for item in page["Items"] if "task" in item]
    found = [
        (item["task"]["S"], datetime.fromisoformat(item["at"]["S"]), item["done"]["BOOL"]) for item in items
    ]
    return sorted(found, key=lambda start: start[1])


def _count(dynamodb: Any, id: str) -> int:
    """Count the starts of this task, this one included."""
    try:
        answer = dynamodb.update_item(
            TableName=TABLE,
            Key={"id": {"S": f"count/{id}"}},
            UpdateExpression="ADD starts :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
            ReturnValues="UPDATED_NEW",
        )
    except ClientError as error:
        raise ActionFailed(f"the starts of {id} cannot be counted: {error}") from error
    return int(answer["Attributes"]["starts"]["N"])
