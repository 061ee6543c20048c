"""The dead-letter queues of a stack: reads their messages, sends them back or deletes them.

SQS shows a message only by receiving it, which hides it for a while. So messages that stay are given back at
once. The caller needs rights that no client has: see docs/operations.md.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.sqs import (
    DEAD_LETTERS,
    MOST_ENTRIES,
    DeadLetters,
    is_missing,
    put_back,
    queue_url,
)
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused, InvalidInput
from duebell_shared.instants import Instant
from duebell_shared.quoting import in_brief

#: The most messages that are received, and the seconds for which SQS hides them from others.
_MOST, _HIDDEN = 1_000, 30

#: Seconds that SQS looks for messages on all its servers.
_WAIT = 1


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a dead-letter queue.

    id       SQS's id, by which it can be deleted
    sent_at  when it was sent to this queue, or to the queue that it came from
    reason   why it is there; empty if the message does not say
    body     an event of the rule, Lambda's record of a failed run, or a message to the intake
    """

    queue: DeadLetters
    id: str
    sent_at: Instant
    reason: str
    body: str


def read_letters(backend: Backend) -> tuple[DeadLetter, ...]:
    """Do what `Editor.dead_letters` does."""
    found: list[DeadLetter] = []
    for queue in DeadLetters:
        if queue is not DeadLetters.INTAKE or backend.settings.intake:
            with _received(backend, queue) as (_, _, messages):
                found += [_letter(queue, message) for message in messages]
    return tuple(found)


def delete_letters(backend: Backend, queue: DeadLetters, ids: Collection[str] | None) -> int:
    """Do what `Editor.delete_dead_letters` does."""
    with _received(backend, queue) as (client, url, messages):
        wanted = messages if ids is None else [one for one in messages if one["MessageId"] in ids]
        return _delete(client, url, messages, wanted)


def redrive(backend: Backend, queue: DeadLetters) -> int:
    """Do what `Editor.redrive` does."""
    with _received(backend, queue) as (client, url, messages):
        if queue is not DeadLetters.INTAKE:
            # Before the deletion: if this raises, the messages stay, and still show that a run is needed.
            backend.armer.start_run_if_late(backend.armer.verify())
            return _delete(client, url, messages, messages)
        sent = 0
        for one in list(messages):
            attributes = one.get("MessageAttributes", {})
            client.send_message(
                QueueUrl=url.removesuffix(DEAD_LETTERS),
                MessageBody=one["Body"],
                MessageAttributes={name: attributes[name] for name in attributes if name == "traceparent"},
            )
            sent += _delete(client, url, messages, [one])
        return sent


def _delete(client: Any, url: str, messages: list[Any], wanted: Sequence[Any]) -> int:
    """Delete these messages in the queue and in the list."""
    for one in (deleted := list(wanted)):
        client.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
        messages.remove(one)
    return len(deleted)


@contextmanager
def _received(backend: Backend, queue: DeadLetters) -> Iterator[tuple[Any, str, list[Any]]]:
    """A client, the queue's URL, and its messages. Messages that are left in the list are given back."""
    name = f"{backend.rule.name}-{queue}"
    if queue is DeadLetters.INTAKE:
        if not backend.settings.intake:
            raise InvalidInput("queue", "is not there: set DUEBELL_INTAKE, or deploy with --intake")
        name = backend.settings.intake + DEAD_LETTERS
    if backend.sqs is None:
        raise InvalidInput("queue", "is not there: this client was put together without SQS")
    region, account = backend.rule.read().place
    client = backend.sqs.client(region)
    url = queue_url(client, account, name)
    messages: dict[str, Any] = {}
    try:
        # Stop at a message that comes again: it was hidden for too short a time, and this would not end.
        while len(messages) < _MOST and (new := _receive(client, url)).keys() - messages.keys():
            messages |= new
        left = list(messages.values())
        try:
            yield client, url, left
        finally:
            put_back(client, url, {one["ReceiptHandle"]: 0 for one in left})
    except (BotoCoreError, ClientError) as error:
        what = "does not exist" if is_missing(error) else f"cannot be used: {in_brief(error)}"
        raise AwsRefused(f"the queue {name} {what}") from error


def _receive(client: Any, url: str) -> dict[str, Any]:
    """Some messages of the queue, by their ids."""
    answer = client.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=MOST_ENTRIES,
        VisibilityTimeout=_HIDDEN,
        WaitTimeSeconds=_WAIT,
        MessageAttributeNames=["All"],
        AttributeNames=["SentTimestamp"],
    )
    return {one["MessageId"]: one for one in answer.get("Messages", [])}


def _letter(queue: DeadLetters, message: Any) -> DeadLetter:
    said = {name: one.get("StringValue", "") for name, one in message.get("MessageAttributes", {}).items()}
    names = ("duebell-field", "duebell-reason", "ERROR_CODE", "ERROR_MESSAGE")
    reason = ": ".join(filter(None, (said.get(name) for name in names)))
    if queue is DeadLetters.FAILED_RUNS and not reason:
        reason = _of_a_run(message["Body"])
    sent_at = datetime.fromtimestamp(int(message["Attributes"]["SentTimestamp"]) / 1000, UTC)
    return DeadLetter(
        queue=queue, id=message["MessageId"], sent_at=sent_at, reason=reason, body=message["Body"]
    )


def _of_a_run(body: str) -> str:
    """The error in Lambda's record of a failed invocation.

    https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
    """
    try:
        answer = msgspec.json.decode(body)["responsePayload"]
        return f"{answer.get('errorType', '')}: {answer.get('errorMessage', '')}".strip(": ")
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return ""
