"""The message that a delivery makes of a task, and sends."""

import hashlib
import re

import msgspec

from duebell_shared.instants import render
from duebell_shared.tasks.task import Task

from .delivery import Delivery, Form
from .kinds import Message

#: The most characters of a key: those of an execution's name in Step Functions. Other services allow more.
#: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
_MOST_KEY = 80

_DIGEST = 16

#: The characters of a message group.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
_GROUP = re.compile("[!-~]{1,128}")


def message_of(delivery: Delivery, task: Task) -> Message:
    """The message of a task that is about to be tried."""
    due = render(task.due)
    # A task that replaced another with the same id and due date needs another key, so `created_at` is in it.
    key = _key(task.id, due, digest_of="\0".join((task.id, due, render(task.created_at))))
    group = None
    if delivery.target.is_fifo:
        group = task.id if _GROUP.fullmatch(task.id) else _key(task.id, digest_of=task.id)
    return Message(
        to=delivery.to,
        id=task.id,
        action=task.action,
        attempt=task.attempt,
        due=due,
        body=task.payload_json if delivery.sent_as is Form.PAYLOAD else _envelope(task, due),
        traceparent=task.traceparent,
        key=key,
        group=group,
        **({"detail_type": delivery.detail_type} if delivery.detail_type else {}),
    )


def _envelope(task: Task, due: str) -> str:
    known = {
        "id": task.id,
        "action": task.action,
        "due": due,
        "attempt": task.attempt,
        "recurring": task.recurrence is not None,
        "missed_runs": task.missed_runs,
        **({"traceparent": task.traceparent} if task.traceparent else {}),
        "payload": msgspec.Raw(task.payload_json.encode()),
    }
    return msgspec.json.encode(known).decode()


def _key(id: str, *others: str, digest_of: str) -> str:
    digest = hashlib.sha256(digest_of.encode()).hexdigest()[:_DIGEST]
    end = "-".join((*(re.sub("[-:.]", "", other) for other in others), digest))
    return f"{re.sub('[^A-Za-z0-9_-]', '-', id)[: _MOST_KEY - len(end) - 1]}-{end}"
