"""Tables of tasks, as most designs have one."""

from typing import Any

from .design import Platform, Task, decode, encode, passing_over

__all__ = ["ARN_OF_ROLE", "all_items", "create_table", "delete_table", "item_of", "stream_to", "task_in"]

#: The role that a design's resources are given, made beside it. Emulators do not look at it.
ARN_OF_ROLE = "arn:aws:iam::000000000000:role/alternatives"


def create_table(platform: Platform, name: str, *, by_due: bool = False, stream: bool = False) -> None:
    """Create a table with the key `id` unless it is there.

    by_due  with a global index `by-due`, of everything in the order of `due`
    stream  with a stream of old and new items
    """
    more: dict[str, Any] = {}
    attributes = [{"AttributeName": "id", "AttributeType": "S"}]
    if by_due:
        attributes += [
            {"AttributeName": "everything", "AttributeType": "S"},
            {"AttributeName": "due", "AttributeType": "S"},
        ]
        keys = [
            {"AttributeName": "everything", "KeyType": "HASH"},
            {"AttributeName": "due", "KeyType": "RANGE"},
        ]
        index = {"IndexName": "by-due", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
        more["GlobalSecondaryIndexes"] = [index]
    if stream:
        more["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    with passing_over("ResourceInUseException"):
        platform.client("dynamodb").create_table(
            TableName=name,
            AttributeDefinitions=attributes,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            **more,
        )


def delete_table(platform: Platform, name: str) -> None:
    """Delete the table, if it is there."""
    with passing_over("ResourceNotFoundException"):
        platform.client("dynamodb").delete_table(TableName=name)


def stream_to(platform: Platform, table: str, function: str) -> None:
    """Have the table's stream invoke the function, from its beginning, unless it does."""
    description = platform.client("dynamodb").describe_table(TableName=table)["Table"]
    with passing_over("ResourceConflictException"):
        platform.client("lambda").create_event_source_mapping(
            EventSourceArn=description["LatestStreamArn"],
            FunctionName=function,
            StartingPosition="TRIM_HORIZON",
            BatchSize=100,
        )


def item_of(task: Task, **more: Any) -> dict[str, Any]:
    """Return the item that keeps a task."""
    return {"id": {"S": task.id}, "task": {"S": encode(task)}, **more}


def task_in(item: dict[str, Any]) -> Task:
    """Return the task that an item keeps."""
    return decode(item["task"]["S"])


def all_items(platform: Platform, table: str) -> list[dict[str, Any]]:
    """Read the whole table, page by page."""
    items: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        page = platform.client("dynamodb").scan(TableName=table, **start)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
