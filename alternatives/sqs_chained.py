"""SQS: a delayed message, sent again until the task is due, because a delay is 15 minutes at most."""

import json
import math
from typing import Any

from .design import Capabilities, Design, Platform, Refused, Source, Task, decode, encode, passing_over

__all__ = ["LONGEST", "SqsChained"]

#: Seconds: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-delay-queues.html
LONGEST = 900


class SqsChained(Design):
    """A message that fails is seen again after 30 seconds, five times, and then goes to another queue."""

    name = "sqs-chained"
    title = "SQS delays, chained"
    sources = (
        Source(
            "Amazon SQS delay queues",
            "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-delay-queues.html",
        ),
    )
    capabilities = Capabilities(
        move="",
        cancel="",
        recurring="",
        listing="",
        fails="redelivered, then in the dead-letter queue",
        farthest=None,
        idle="Lambda's polling of the queue, some 650,000 requests a month",
        limits={
            1_000: "none",
            1_000_000: "none, but 4 messages an hour for each task that waits",
            100_000_000: "110,000 messages and invocations a second, only to wait",
        },
    )

    def deploy(self) -> None:
        sqs = self.platform.client("sqs")
        dead = sqs.create_queue(QueueName=f"{self.name}-dead")["QueueUrl"]
        dead_arn = _arn_of(self.platform, dead)
        policy = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": "5"})
        url = sqs.create_queue(QueueName=self.name, Attributes={"RedrivePolicy": policy})["QueueUrl"]
        executor = self.platform.function(f"{self.name}-executor", execute)
        with passing_over("ResourceConflictException"):
            self.platform.client("lambda").create_event_source_mapping(
                EventSourceArn=_arn_of(self.platform, url), FunctionName=executor, BatchSize=1
            )

    def add(self, task: Task) -> None:
        if task.every:
            raise Refused(f"the task {task.id} recurs, and a message is handled once: send one for each time")
        send(self.platform, task)

    def destroy(self) -> None:
        sqs = self.platform.client("sqs")
        for name in (self.name, f"{self.name}-dead"):
            with passing_over("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"):
                sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"])


def send(platform: Platform, task: Task) -> None:
    """Send the task with the delay that is left, or as much of it as there may be."""
    left = math.ceil((task.due - platform.now()).total_seconds())
    sqs = platform.client("sqs")
    url = sqs.get_queue_url(QueueName=SqsChained.name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=encode(task), DelaySeconds=min(max(left, 0), LONGEST))


def execute(event: Any, platform: Platform) -> None:
    """Act if the task is due, else send it on. Dying between that and its end, it leaves two in the queue."""
    for record in event["Records"]:
        task = decode(record["body"])
        if task.due > platform.now():
            send(platform, task)
        else:
            platform.act(task.id, task.payload)


def _arn_of(platform: Platform, url: str) -> str:
    attributes = platform.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    arn: str = attributes["Attributes"]["QueueArn"]
    return arn
