"""Delivery to a bus of EventBridge."""

from collections.abc import Sequence

from duebell_shared.deliveries.delivery import Delivery

from .deliverer import Deliverer
from .faults import Answer
from .message import Message

__all__ = ["send"]

_SOURCE = "duebell"


def send(deliverer: Deliverer, delivery: Delivery, messages: Sequence[Message]) -> list[Answer | None]:
    """Put these events on the bus.

    https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
    """
    entries = [
        {
            "EventBusName": delivery.to,
            "Source": _SOURCE,
            "DetailType": one.detail_type,
            "Detail": one.body,
        }
        for one in messages
    ]
    results = deliverer.clients.of("events", delivery.target.region).put_events(Entries=entries)["Entries"]
    answers = [
        Answer(one["ErrorCode"], one.get("ErrorMessage", "")) if one.get("ErrorCode") else None
        for one in results
    ]
    return [*answers, *[Answer("NoAnswer", "")] * (len(messages) - len(answers))]
