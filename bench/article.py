"""The published proofs of concept, written from their description: the baseline to be better than.

To add: read the whole table, find the earliest date, set the rule if the new task is earlier, put the task.
To run: read the whole table again, do what is due one after the other, delete it, and set the rule to the
earliest that is left.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from duebell_shared.bell.expression import SENTINEL, expression_at
from duebell_shared.instants import render

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient

__all__ = ["Article"]


class Article:
    """A queue that is a table, and a rule set by whoever comes last."""

    def __init__(
        self, dynamodb: "DynamoDBClient", events: "EventBridgeClient", table: str, rule: str
    ) -> None:
        self._dynamodb = dynamodb
        self._events = events
        self._table = table
        self._rule = rule

    def add(self, id: str, due: datetime) -> None:
        """Add a task."""
        earliest = min((item["queued"]["S"] for item in self._scan()), default="9")
        if render(due) < earliest:
            self._set_rule(due)
        item: Any = {"lane": {"S": "0"}, "id": {"S": id}, "queued": {"S": render(due)}}
        self._dynamodb.put_item(TableName=self._table, Item=item)

    def run(self, now: datetime, action: Callable[[str], None]) -> int:
        """Do what is due; how many that were."""
        items = self._scan()
        due = [item for item in items if item["queued"]["S"] <= render(now)]
        for item in due:
            action(item["id"]["S"])
            key: Any = {"lane": item["lane"], "id": item["id"]}
            self._dynamodb.delete_item(TableName=self._table, Key=key)
        left = [item["queued"]["S"] for item in self._scan()]
        self._set_rule(datetime.fromisoformat(min(left)) if left else None)
        return len(due)

    def _scan(self) -> list[Any]:
        pages = self._dynamodb.get_paginator("scan").paginate(TableName=self._table)
        return [item for page in pages for item in page["Items"] if "queued" in item]

    def _set_rule(self, due: datetime | None) -> None:
        expression = (
            expression_at(due.replace(second=0, microsecond=0), now=datetime.now(UTC)) if due else SENTINEL
        )
        self._events.put_rule(Name=self._rule, ScheduleExpression=expression)
