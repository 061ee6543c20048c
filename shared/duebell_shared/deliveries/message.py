"""The message that a delivery makes of a task, and sends."""

import hashlib
import re

import msgspec

from duebell_shared.instants import render
from duebell_shared.tasks.task import Task

from .delivery import GROUP, Delivery, Form

#: Bytes of a message beside its body, at most: the names of its attributes, their types, an entry's id.
_AROUND = 256

#: The longest name of an execution of Step Functions; all others may be longer.
#: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
_MOST_KEY = 80

_DIGEST = 16


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it is delivered.

    to       the ARN or the URL that it is sent to
    id, action, attempt   of the task
    due      when its occurrence is due, as text: `2026-12-31T00:00:00.000Z`
    body     the task's payload as it was given, or the envelope: JSON
    key      the same for each attempt at the same occurrence, and for nothing else: what is sent twice is
             known by it. Letters, digits, `-` and `_`; 80 of them at most
    group    the message group for queues and topics; None where none is given, and none is needed
    detail_type  the detail-type of an event, for buses
    traceparent  the W3C trace context of the attempt, or else of the add; None for none
    """

    to: str
    id: str
    action: str
    attempt: int
    due: str
    body: str
    key: str
    group: str | None = None
    detail_type: str = "duebell.due"
    traceparent: str | None = None

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes or headers beside the body."""
        return {
            "duebell-id": self.id,
            "duebell-action": self.action,
            "duebell-due": self.due,
            "duebell-attempt": str(self.attempt),
            **({"traceparent": self.traceparent} if self.traceparent else {}),
        }

    @property
    def trace_header(self) -> str | None:
        """The trace context in the words of X-Ray, which EventBridge takes.

        https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader
        """
        if self.traceparent is None:
            return None
        _, trace, span, flags = self.traceparent.split("-")
        return f"Root=1-{trace[:8]}-{trace[8:]};Parent={span};Sampled={int(flags, 16) & 1}"

    @property
    def size(self) -> int:
        """Bytes that it takes in a call, at most."""
        beside = (self.key, self.group or "", *self.attributes.values())
        return sum(len(text.encode()) for text in (self.body, *beside)) + _AROUND


def message_of(delivery: Delivery, task: Task) -> Message:
    """The message of a task that is about to be tried."""
    due = render(task.due)
    # A task that replaced another of the same id and date is another task: the time it was added tells.
    key = _key(task.id, due, digest_of="\0".join((task.id, due, render(task.created_at))))
    group = delivery.group
    if group is None and delivery.target.is_fifo:
        group = task.id if GROUP.fullmatch(task.id) else _key(task.id, digest_of=task.id)
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
