"""Delivery to SNS."""

from collections.abc import Sequence

from duebell_shared.deliveries.delivery import Delivery

from .deliverer import Deliverer
from .faults import Answer
from .message import Message
from .queue import answers, batch_entry

__all__ = ["send"]


def send(deliverer: Deliverer, delivery: Delivery, messages: Sequence[Message]) -> list[Answer | None]:
    """Publish these messages to the topic.

    https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html
    """
    target = delivery.target
    client = deliverer.clients.of("sns", target.region)
    entries = [
        {"Message": one.body, **batch_entry(place, one, is_fifo=target.kind.is_fifo)}
        for place, one in enumerate(messages)
    ]
    answer = client.publish_batch(TopicArn=target.to, PublishBatchRequestEntries=entries)
    return answers(answer, len(messages))
