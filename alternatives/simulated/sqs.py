"""SQS: queues with delays, redelivery and a dead-letter queue, which invoke a function."""

import json
from typing import TYPE_CHECKING, Any

import msgspec

from .refusals import refusal

if TYPE_CHECKING:
    from .account import Account

__all__ = ["Sqs"]

_VISIBILITY = 30.0
_LONGEST_DELAY = 900


class _Queue(msgspec.Struct):
    """`messages`: bodies of a queue that no function reads."""

    name: str
    function: str | None = None
    most: int | None = None
    dead: str | None = None
    messages: list[str] = msgspec.field(default_factory=list)


class Sqs:
    """Queues by name; the URL is the name here."""

    def __init__(self, account: "Account") -> None:
        self._account = account
        self._queues: dict[str, _Queue] = {}

    def create_queue(self, QueueName: str, Attributes: dict[str, str] | None = None) -> dict[str, Any]:
        queue = self._queues.setdefault(QueueName, _Queue(QueueName))
        policy = json.loads((Attributes or {}).get("RedrivePolicy", "{}"))
        if policy:
            queue.most = int(policy["maxReceiveCount"])
            queue.dead = policy["deadLetterTargetArn"].rpartition(":")[2]
        return {"QueueUrl": QueueName}

    def get_queue_url(self, QueueName: str) -> dict[str, Any]:
        self._queue(QueueName)
        return {"QueueUrl": QueueName}

    def get_queue_attributes(self, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:
        queue = self._queue(QueueUrl)
        everything = {
            "QueueArn": f"arn:aws:sqs:us-east-1:000000000000:{QueueUrl}",
            "ApproximateNumberOfMessages": str(len(queue.messages)),
        }
        return {"Attributes": {name: everything[name] for name in AttributeNames}}

    def delete_queue(self, QueueUrl: str) -> dict[str, Any]:
        self._queue(QueueUrl)
        del self._queues[QueueUrl]
        return {}

    def listen(self, arn: str, function: str, most: int) -> None:
        """Have the queue invoke this function, with one message each time."""
        if most != 1:
            raise ValueError(f"BatchSize={most}: only 1 is simulated")
        self._queue(arn.rpartition(":")[2]).function = function

    def send_message(self, QueueUrl: str, MessageBody: str, DelaySeconds: int = 0) -> dict[str, Any]:
        if not 0 <= DelaySeconds <= _LONGEST_DELAY:
            raise refusal("InvalidParameterValue", f"DelaySeconds {DelaySeconds} is not from 0 to 900")
        queue = self._queue(QueueUrl)
        self._account.billed["message"] += 1
        self._account.world.after(DelaySeconds, lambda: self._arrive(queue, MessageBody, 1))
        return {}

    def _arrive(self, queue: _Queue, body: str, received: int) -> None:
        if self._queues.get(queue.name) is not queue:  # it was deleted, with all that was in it
            return
        if queue.most and received > queue.most and queue.dead:
            self._queue(queue.dead).messages.append(body)
            return
        function = queue.function
        if function is None:
            queue.messages.append(body)
            return
        self._account.billed["message"] += 2  # it is received, and deleted or received again

        def ended(has_succeeded: bool) -> None:
            if not has_succeeded:
                self._account.world.after(_VISIBILITY, lambda: self._arrive(queue, body, received + 1))

        def invoke() -> None:
            self._account.functions.run(function, {"Records": [{"body": body}]}, ended)

        self._account.world.after(self._account.manners.message(self._account.random), invoke)

    def _queue(self, name: str) -> _Queue:
        if name not in self._queues:
            raise refusal("AWS.SimpleQueueService.NonExistentQueue", f"there is no queue {name}")
        return self._queues[name]
