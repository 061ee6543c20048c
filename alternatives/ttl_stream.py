"""An item that expires: its deletion reaches the executor through the table's stream."""

import json
import math
from datetime import timedelta
from typing import Any

import msgspec

from .design import Capabilities, Design, Platform, Source, Task, encode
from .tables import create_table, delete_table, item_of, stream_to, task_in

__all__ = ["DelegatingTtlStream", "TtlStream"]

#: The principal that deletes expired items, as the stream's records name it:
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html
_TTL = "dynamodb.amazonaws.com"


class TtlStream(Design):
    """The executor acts itself, and schedules the next occurrence of a task that recurs."""

    name = "ttl-stream"
    title = "DynamoDB TTL and stream"
    sources = (
        Source(
            "Scheduling irregular AWS Lambda executions through DynamoDB TTL attributes (2019)",
            "https://bahr.dev/2019/05/29/scheduling-ddb/",
        ),
        Source(
            "DynamoDB TTL as an ad-hoc scheduling mechanism (2019)",
            "https://theburningmonk.com/2019/03/dynamodb-ttl-as-an-ad-hoc-scheduling-mechanism/",
        ),
    )
    capabilities = Capabilities(
        move="put the item again with another expiry",
        cancel="delete the item: the stream tells that it was not the service",
        recurring="the executor puts the next item",
        listing="what is in the table, by an index of one's own; expired items are still in it",
        fails="its batch is tried again for 24 hours, and the shard stands still meanwhile",
        farthest=None,
        idle="nothing",
        limits={
            1_000: "lateness only",
            1_000_000: "lateness: deletions wait for spare capacity, within days",
            100_000_000: "lateness; no other limit is published",
        },
    )

    def deploy(self) -> None:
        create_table(self.platform, self.name, stream=True)
        described = self.platform.client("dynamodb").describe_time_to_live(TableName=self.name)
        if described["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED":
            self.platform.client("dynamodb").update_time_to_live(
                TableName=self.name,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"},
            )
        stream_to(self.platform, self.name, self.platform.function(f"{self.name}-executor", execute))

    def add(self, task: Task) -> None:
        self.platform.client("dynamodb").put_item(TableName=self.name, Item=self._item(task))

    def move(self, task: Task) -> None:
        self.add(task)

    def cancel(self, id: str) -> None:
        self.platform.client("dynamodb").delete_item(TableName=self.name, Key={"id": {"S": id}})

    def destroy(self) -> None:
        delete_table(self.platform, self.name)

    def _item(self, task: Task) -> dict[str, Any]:
        return item_of(task, expires={"N": str(math.ceil(task.due.timestamp()))})


class DelegatingTtlStream(TtlStream):
    """Items name the function that the executor invokes, so that one table serves many functions."""

    name = "ttl-delegating"
    title = "DynamoDB TTL and stream, delegating"

    def deploy(self) -> None:
        super().deploy()
        self.platform.function(f"{self.name}-target", run_target)

    def _item(self, task: Task) -> dict[str, Any]:
        return {**super()._item(task), "target": {"S": f"{self.name}-target"}}


def execute(event: Any, platform: Platform) -> None:
    """Act for each item that the service deleted; deletions by anybody else are cancellations."""
    for record in event["Records"]:
        by = (record.get("userIdentity") or {}).get("principalId")
        if record["eventName"] != "REMOVE" or by != _TTL:
            continue
        item = record["dynamodb"]["OldImage"]
        task = task_in(item)
        if "target" in item:
            platform.client("lambda").invoke(
                FunctionName=item["target"]["S"],
                InvocationType="Event",
                Payload=json.dumps({"task": encode(task)}).encode(),
            )
        else:
            platform.act(task.id, task.payload)
        if task.every:
            design = DelegatingTtlStream if "target" in item else TtlStream
            design(platform).add(_next(task, task.every))


def run_target(event: Any, platform: Platform) -> None:
    """Act: the function that an item names."""
    task = msgspec.json.decode(event["task"], type=Task)
    platform.act(task.id, task.payload)


def _next(task: Task, every: timedelta) -> Task:
    return msgspec.structs.replace(task, due=task.due + every)
