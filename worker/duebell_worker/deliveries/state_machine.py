"""Delivery to a state machine of Step Functions: an execution is started."""

from collections.abc import Sequence

from botocore.exceptions import ClientError

from duebell_shared.deliveries.delivery import Delivery

from .deliverer import Deliverer
from .message import Message

__all__ = ["send"]


def send(deliverer: Deliverer, delivery: Delivery, messages: Sequence[Message]) -> list[None]:
    """Start an execution with this message as its input; one that was started before is the same.

    Names are taken for 90 days after an execution has ended; express workflows know no names that are taken.
    https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
    """
    [message] = messages
    client = deliverer.clients.of("stepfunctions", delivery.target.region)
    try:
        client.start_execution(stateMachineArn=delivery.to, name=message.key, input=message.body)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
            raise
    return [None]
