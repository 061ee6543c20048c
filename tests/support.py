"""Shared by the tests: a clock that stands still, and a scheduler on moto that counts its API calls."""

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3

from duebell_shared.bell.expression import FAR_SENTINEL, SENTINEL, expression_at, is_set_for, next_ring

REGION = "eu-central-1"

#: The target of the one schedule, and its role.
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
    """The number of calls of each AWS operation through a session."""

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


def create_function(session: boto3.Session, name: str = "duebell") -> str:
    """The function of a worker, with a role `made`; its ARN."""
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    role = session.client("iam").create_role(RoleName="made", AssumeRolePolicyDocument=trust)["Role"]
    made = session.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role=role["Arn"],
        Handler="duebell.lambda_handler.handler",
        Code={"ZipFile": b"PK\x05\x06" + bytes(18)},
    )
    return str(made["FunctionArn"])


def let_ring(session: boto3.Session) -> None:
    """Permit the rule to invoke the function, as the stack does."""
    session.client("lambda").add_permission(
        FunctionName="duebell",
        StatementId="stack",
        Action="lambda:InvokeFunction",
        Principal="events.amazonaws.com",
        SourceArn=f"arn:aws:events:{REGION}:123456789012:rule/duebell",
    )


def let_pass_its_role(session: boto3.Session) -> None:
    """Let the role of the worker's function pass the role of the schedule, as the stack does."""
    statement = {
        "Sid": "PassBellRole",
        "Effect": "Allow",
        "Action": "iam:PassRole",
        "Resource": SCHEDULED["RoleArn"],
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    session.client("iam").put_role_policy(RoleName="made", PolicyName="worker", PolicyDocument=document)


class SetFor(str):
    """An expression of a bell that equals each one which is set for the same minute, whenever it was set."""

    minute: datetime | None

    def __new__(cls, minute: datetime | None) -> "SetFor":
        made = super().__new__(
            cls, expression_at(minute, now=minute - timedelta(days=1)) if minute else SENTINEL
        )
        made.minute = minute
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and is_set_for(str(other), self.minute)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.minute)


def minute_of(expression: str, now: datetime) -> datetime | None:
    """The minute that a bell is set for, if it is not over; its early ring and its echoes do not count."""
    ring = next_ring(expression, now - timedelta(minutes=1))
    minutes = [ring, ring + timedelta(minutes=1)] if ring else []
    return next((minute for minute in minutes if is_set_for(expression, minute)), None)
