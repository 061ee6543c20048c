"""What the tests share: a clock that stands still, and a scheduler on moto with its API calls counted."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import boto3

from duebell_shared.bell.expression import FAR_SENTINEL, SENTINEL

REGION = "eu-central-1"

#: What the schedule that is the bell calls, and in which role.
SCHEDULED: Any = {
    "Arn": f"arn:aws:lambda:{REGION}:123456789012:function:duebell",
    "RoleArn": "arn:aws:iam::123456789012:role/duebell-bell",
    "RetryPolicy": {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185},
    "DeadLetterConfig": {"Arn": f"arn:aws:sqs:{REGION}:123456789012:duebell-lost-rings"},
}

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def in_a_thread(call: Callable[[], object]) -> None:
    """Make the call in a thread of its own: this one may have an event loop, of a browser's test before."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(call).result()


class Clock:
    """A clock that moves only when it is told to, or when someone sleeps by it."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta) -> None:
        self.now += by

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Calls(Counter[str]):
    """How often each AWS operation was called through a session."""

    def watch(self, session: boto3.Session) -> None:
        session.events.register("before-call", self._count)

    def _count(self, model: Any, **_: Any) -> None:
        self[model.name] += 1


def create_table(session: boto3.Session, name: str = "duebell") -> None:
    """The table as the stack creates it; a test holds this against the template."""
    session.client("dynamodb").create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": "S"}
            for attribute in ("lane", "id", "queued", "past")
        ],
        KeySchema=[
            {"AttributeName": "lane", "KeyType": "HASH"},
            {"AttributeName": "id", "KeyType": "RANGE"},
        ],
        LocalSecondaryIndexes=[
            {
                "IndexName": "due-index",
                "KeySchema": [
                    {"AttributeName": "lane", "KeyType": "HASH"},
                    {"AttributeName": "queued", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "past-index",
                "KeySchema": [
                    {"AttributeName": "lane", "KeyType": "HASH"},
                    {"AttributeName": "past", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )


def create_trials(session: boto3.Session) -> None:
    """The table `trials`, of a user."""
    session.client("dynamodb").create_table(
        TableName="trials",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def create_rule(session: boto3.Session, name: str = "duebell") -> None:
    """The rule as the stack creates it: parked, with one target."""
    events = session.client("events")
    events.put_rule(Name=name, ScheduleExpression=SENTINEL, Description="the one rule")
    target = f"arn:aws:lambda:{REGION}:123456789012:function:{name}"
    events.put_targets(Rule=name, Targets=[{"Id": "worker", "Arn": target}])


def create_schedule(session: boto3.Session, name: str = "duebell") -> None:
    """The schedule as the stack creates it in the rule's place: parked, with its target."""
    session.client("scheduler").create_schedule(
        Name=name,
        ScheduleExpression=FAR_SENTINEL,
        FlexibleTimeWindow={"Mode": "OFF"},
        Description="the one schedule",
        Target=SCHEDULED,
    )


def put_false_zones(folder: Path) -> None:
    """Zones as a machine may have them, where Berlin has Tokyo's time: nobody can take that for another."""
    tokyo = resources.files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").read_bytes()
    (folder / "Europe").mkdir()
    (folder / "Europe" / "Berlin").write_bytes(tokyo)
