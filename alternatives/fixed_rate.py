"""A rule at a fixed rate: every minute a function looks for what is due, with the same payload each time."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

import msgspec

from .design import Capabilities, Design, Platform, Source, Task
from .rule_per_task import delete_rule
from .tables import create_table, delete_table, item_of, task_in

__all__ = ["FixedRate", "act_for_what_is_due", "due_item", "sortable"]

_LOG = logging.getLogger("alternatives")


class FixedRate(Design):
    """A task that fails stays in the table, and is tried again with every ring."""

    name = "fixed-rate"
    title = "A rule at a fixed rate"
    sources = (
        Source(
            "Using CloudWatch and Lambda to implement ad-hoc scheduling (2019)",
            "https://theburningmonk.com/2019/05/using-cloudwatch-and-lambda-to-implement-ad-hoc-scheduling/",
        ),
        Source(
            "Scheduled Task Processing with DynamoDB and Eventbridge",
            "https://dev.to/rohanmehta_dev/scheduled-task-processing-with-dynamodb-and-eventbridge-439c",
        ),
    )
    capabilities = Capabilities(
        move="update the item",
        cancel="delete the item",
        recurring="the function moves the item on",
        listing="a query of the index by time",
        fails="tried again every minute, without end",
        farthest=None,
        idle="43,200 invocations and queries a month",
        limits={
            1_000: "none",
            1_000_000: "what one invocation gets done in a minute; then two overlap, and do tasks twice",
            100_000_000: "the index's one partition: 1,000 writes a second",
        },
    )

    def deploy(self) -> None:
        create_table(self.platform, self.name, by_due=True)
        arn = self.platform.function(f"{self.name}-executor", execute)
        events = self.platform.client("events")
        events.put_rule(Name=self.name, ScheduleExpression="rate(1 minute)")
        target = {"Id": "executor", "Arn": arn, "Input": json.dumps({"table": self.name})}
        events.put_targets(Rule=self.name, Targets=[target])

    def add(self, task: Task) -> None:
        self.platform.client("dynamodb").put_item(TableName=self.name, Item=due_item(task))

    def move(self, task: Task) -> None:
        self.add(task)

    def cancel(self, id: str) -> None:
        self.platform.client("dynamodb").delete_item(TableName=self.name, Key={"id": {"S": id}})

    def destroy(self) -> None:
        delete_rule(self.platform, self.name)
        delete_table(self.platform, self.name)


def execute(event: Any, platform: Platform) -> None:
    """Do what is due; `event` is the rule's constant input."""
    act_for_what_is_due(platform, event["table"])


def act_for_what_is_due(platform: Platform, table: str) -> None:
    """Act for each task that is due, one after the other, and then delete it or move it on."""
    dynamodb = platform.client("dynamodb")
    start: dict[str, Any] = {}
    now = sortable(platform.now())
    while True:
        page = dynamodb.query(
            TableName=table,
            IndexName="by-due",
            KeyConditionExpression="everything = :everything AND due <= :now",
            ExpressionAttributeValues={":everything": {"S": "task"}, ":now": {"S": now}},
            **start,
        )
        for item in page["Items"]:
            _act(platform, table, task_in(item))
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _act(platform: Platform, table: str, task: Task) -> None:
    try:
        platform.act(task.id, task.payload)
    except Exception as error:  # noqa: BLE001 (one task's failure is not the others')
        _LOG.warning("the task %s failed and stays: %r", task.id, error)
        return
    dynamodb = platform.client("dynamodb")
    if task.every:
        later = msgspec.structs.replace(task, due=task.due + task.every)
        dynamodb.put_item(TableName=table, Item=due_item(later))
    else:
        dynamodb.delete_item(TableName=table, Key={"id": {"S": task.id}})


def due_item(task: Task) -> dict[str, Any]:
    """Return the item that keeps a task, with its place in the index."""
    return item_of(task, everything={"S": "task"}, due={"S": sortable(task.due)})


def sortable(moment: datetime) -> str:
    """Write a moment so that its text sorts as its time does."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"
