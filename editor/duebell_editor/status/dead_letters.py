"""The dead-letter queues of a stack: what stands in them, sent back or deleted.

SQS shows a message only by receiving it, which hides it for a while. So what is not deleted is given back at
once. The caller needs rights that no client has: see docs/operations.md.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.intake_queue import DEAD_LETTERS, is_missing
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused, InvalidInput
from duebell_shared.instants import Instant
from duebell_shared.quoting import in_brief

#: Messages that are received at most, and seconds for which they are hidden meanwhile.
MOST, _HIDDEN = 1_000, 30

#: Seconds that SQS looks for messages on all its servers.
_WAIT = 1

#: Messages that one call takes.
_AT_ONCE = 10


class DeadLetters(StrEnum):
    """A dead-letter queue, by what is in it."""

    LOST_RINGS = "lost-rings"
    FAILED_RUNS = "failed-runs"
    INTAKE = "intake"


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a dead-letter queue holds.

    id       SQS's, by which it can be deleted
    sent_at  when it came there
    reason   why; empty if the message does not say
    body     the message: an event, a run's event, or a message of the intake queue
    """

    queue: DeadLetters
    id: str
    sent_at: Instant
    reason: str
    body: str


def read_letters(backend: Backend) -> tuple[DeadLetter, ...]:
    """Read what stands in all the queues that exist. Raises AwsRefused."""
    found: list[DeadLetter] = []
    for queue in DeadLetters:
        if queue is not DeadLetters.INTAKE or backend.intake:
            with _received(backend, queue) as (_, _, messages):
                found += [_letter(queue, message) for message in messages]
    return tuple(found)


def delete_letters(backend: Backend, queue: DeadLetters, ids: Collection[str] = ()) -> int:
    """Delete the messages of this queue, or those with these ids; how many. Raises AwsRefused."""
    with _received(backend, queue) as (client, url, messages):
        wanted = [one for one in messages if not ids or one["MessageId"] in ids]
        for one in wanted:
            client.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
            messages.remove(one)
        return len(wanted)


def redrive(backend: Backend, queue: DeadLetters) -> int:
    """Do again what the messages of this queue were for, and delete them; how many.

    Those of the intake are sent to it. In place of lost rings and failed runs, the rule is set right, so that
    a run comes for all that is due. Raises AwsRefused, AwsUnavailable, NotArmed.
    """
    if queue is not DeadLetters.INTAKE:
        backend.start_run_if_late(backend.armer.verify())
        return delete_letters(backend, queue)
    with _received(backend, queue) as (client, url, messages):
        wanted = list(messages)
        for one in wanted:
            client.send_message(QueueUrl=url.removesuffix(DEAD_LETTERS), MessageBody=one["Body"])
            client.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
            messages.remove(one)
        return len(wanted)


@contextmanager
def _received(backend: Backend, queue: DeadLetters) -> Iterator[tuple[Any, str, list[Any]]]:
    """A client, the queue's URL, and its messages; those that are left in the list are given back."""
    name = f"{backend.rule.name}-{queue}"
    if queue is DeadLetters.INTAKE:
        if backend.intake is None:
            raise InvalidInput("queue", "is not there: set DUEBELL_INTAKE, or deploy with --intake")
        name = backend.intake.name + DEAD_LETTERS
    if backend.sqs is None:
        raise InvalidInput("queue", "is not there: this client was put together without SQS")
    region, account = backend.rule.read().place
    client = backend.sqs.client(region)
    url = f"{client.meta.endpoint_url.rstrip('/')}/{account}/{name}"
    messages: dict[str, Any] = {}
    try:
        while len(messages) < MOST and (new := _receive(client, url)):
            messages |= {one["MessageId"]: one for one in new}
        left = list(messages.values())
        try:
            yield client, url, left
        finally:
            for start in range(0, len(left), _AT_ONCE):
                entries = [
                    {"Id": str(place), "ReceiptHandle": one["ReceiptHandle"], "VisibilityTimeout": 0}
                    for place, one in enumerate(left[start : start + _AT_ONCE])
                ]
                client.change_message_visibility_batch(QueueUrl=url, Entries=entries)
    except (BotoCoreError, ClientError) as error:
        what = "does not exist" if is_missing(error) else f"cannot be used: {in_brief(error)}"
        raise AwsRefused(f"the queue {name} {what}") from error


def _receive(client: Any, url: str) -> list[Any]:
    answer = client.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=_AT_ONCE,
        VisibilityTimeout=_HIDDEN,
        WaitTimeSeconds=_WAIT,
        MessageAttributeNames=["All"],
        AttributeNames=["SentTimestamp"],
    )
    found: list[Any] = answer.get("Messages", [])
    return found


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
