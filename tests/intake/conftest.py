"""An intake on AWS in memory, with its queues."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import boto3
import pytest

from duebell import Editor, Worker
from duebell_editor.intake import Intake
from duebell_shared.backend import Backend
from duebell_shared.parallel import Parallel
from tests.support import NOON, REGION, Clock

ACCOUNT = "123456789012"
ARN = f"arn:aws:sqs:{REGION}:{ACCOUNT}:duebell-intake"


def record(
    body: object, id: str = "m-1", *, sent: datetime = NOON, received: int = 1, receipt: str = "receipt"
) -> dict[str, Any]:
    """A message as Lambda is invoked with it; what is no text is its JSON."""
    return {
        "messageId": id,
        "receiptHandle": receipt,
        "body": body if isinstance(body, str) else json.dumps(body),
        "attributes": {
            "SentTimestamp": str(int(sent.timestamp() * 1000)),
            "ApproximateReceiveCount": str(received),
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": ARN,
        "awsRegion": REGION,
    }


class Queues:
    """The intake queue and its dead letters, as a client of SQS sees them."""

    def __init__(self) -> None:
        self.sqs: Any = boto3.client("sqs", region_name=REGION)
        self.url = self.sqs.create_queue(QueueName="duebell-intake", Attributes={"VisibilityTimeout": "300"})[
            "QueueUrl"
        ]
        self._dead = self.sqs.create_queue(QueueName="duebell-intake-dead-letters")["QueueUrl"]

    def send(self, *bodies: object) -> None:
        for body in bodies:
            text = body if isinstance(body, str) else json.dumps(body)
            self.sqs.send_message(QueueUrl=self.url, MessageBody=text)

    def received(self) -> list[dict[str, Any]]:
        """The messages that can be received now, as records."""
        got = self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, AttributeNames=["ApproximateReceiveCount"]
        ).get("Messages", [])
        return [
            record(
                one["Body"],
                one["MessageId"],
                received=int(one["Attributes"]["ApproximateReceiveCount"]),
                receipt=one["ReceiptHandle"],
            )
            for one in got
        ]

    def dead(self) -> list[tuple[str, dict[str, str]]]:
        """The dead letters, taken out: the body and the attributes of each."""
        found = []
        while got := self.sqs.receive_message(
            QueueUrl=self._dead, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        ).get("Messages"):
            for one in got:
                self.sqs.delete_message(QueueUrl=self._dead, ReceiptHandle=one["ReceiptHandle"])
                attributes = {
                    name: given["StringValue"] for name, given in one.get("MessageAttributes", {}).items()
                }
                found.append((one["Body"], attributes))
        return found


def again(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    """The ids of the messages that come again."""
    assert set(answer) == {"batchItemFailures"}
    return sorted(one["itemIdentifier"] for one in answer["batchItemFailures"])


class Inbox:
    """An intake with its queues, a queue of tasks, and a worker.

    It works in one thread.
    """

    def __init__(self, backend: Backend, queues: Queues, clock: Clock) -> None:
        assert backend.client
        self.backend, self.queues, self.clock = backend, queues, clock
        self.editor = Editor(backend=backend)
        self.worker = Worker(backend=backend)
        by_intake = self.editor.acting_as("intake")
        self.intake = Intake(by_intake, backend.client, clock=clock, parallel=Parallel(1))

    def again(self, *messages: dict[str, Any], until: datetime | None = None) -> list[str]:
        """Take these messages; the ids of those that come again."""
        return again(self.intake.take(list(messages), **({"until": until} if until else {})))

    def take(self, *messages: object) -> None:
        """Take these, none of which comes again: records, or what each says, as m-0, m-1, …"""
        records = [
            one if isinstance(one, dict) and "messageId" in one else record(one, f"m-{number}")
            for number, one in enumerate(messages)
        ]
        assert self.again(*records) == []

    def declare(self, name: str, act: Callable[..., object]) -> None:
        """Have the worker make itself known with this action."""
        self.worker.action(name)(act)
        self.worker.register()

    def wrong(self) -> dict[str, str | None]:
        """The dead letters, taken out: the field that each names, by its message or its place in a list."""
        told = (attributes for _, attributes in self.queues.dead())
        return {one.get("duebell-place", one["duebell-message"]): one.get("duebell-field") for one in told}


@pytest.fixture
def queues(session: boto3.Session) -> Queues:
    return Queues()


@pytest.fixture
def inbox(backend: Backend, queues: Queues, clock: Clock) -> Inbox:
    return Inbox(backend, queues, clock)
