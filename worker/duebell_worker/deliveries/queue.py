"""Delivery to SQS."""

from collections.abc import Sequence
from typing import Any

from duebell_shared.deliveries.delivery import Delivery

from .deliverer import Deliverer
from .faults import Answer
from .message import Message

__all__ = ["send"]


def send(deliverer: Deliverer, delivery: Delivery, messages: Sequence[Message]) -> list[Answer | None]:
    """Send these messages to the queue.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
    """
    target = delivery.target
    client = deliverer.clients.of("sqs", target.region)
    # The queue's URL is made, not asked for: GetQueueUrl would need a permission more.
    url = f"{client.meta.endpoint_url.rstrip('/')}/{target.account}/{target.name}"
    entries = [_entry(place, one, is_fifo=target.kind.is_fifo) for place, one in enumerate(messages)]
    answer = client.send_message_batch(QueueUrl=url, Entries=entries)
    return answers(answer, len(messages))


def _entry(place: int, message: Message, *, is_fifo: bool) -> dict[str, Any]:
    return {"MessageBody": message.body, **batch_entry(place, message, is_fifo=is_fifo)}


def batch_entry(place: int, message: Message, *, is_fifo: bool) -> dict[str, Any]:
    """What entries of a batch have alike in SQS and SNS."""
    return {
        "Id": str(place),
        "MessageAttributes": {
            name: {"DataType": "Number" if name == "duebell-attempt" else "String", "StringValue": value}
            for name, value in message.attributes.items()
        },
        **({"MessageGroupId": message.group} if message.group else {}),
        **({"MessageDeduplicationId": message.key} if is_fifo else {}),
    }


def answers(answer: dict[str, Any], count: int) -> list[Answer | None]:
    """The answer to each entry of a batch; one that is not among those accepted counts as failed."""
    accepted = {one["Id"] for one in answer.get("Successful", ())}
    failed = {
        one["Id"]: Answer(
            one.get("Code", ""), one.get("Message", ""), is_senders=one.get("SenderFault", False)
        )
        for one in answer.get("Failed", ())
    }
    places = map(str, range(count))
    return [None if place in accepted else failed.get(place, Answer("NoAnswer", "")) for place in places]
