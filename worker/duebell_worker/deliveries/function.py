"""Delivery to a Lambda function: an asynchronous invocation."""

from collections.abc import Sequence

from duebell_shared.deliveries.delivery import Delivery

from .deliverer import Deliverer
from .message import Message

__all__ = ["send"]


def send(deliverer: Deliverer, delivery: Delivery, messages: Sequence[Message]) -> list[None]:
    """Have the function invoked with this message; Lambda queues it, and answers with 202.

    https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """
    [message] = messages
    client = deliverer.clients.of("lambda", delivery.target.region)
    client.invoke(FunctionName=delivery.to, InvocationType="Event", Payload=message.body.encode())
    return [None]
