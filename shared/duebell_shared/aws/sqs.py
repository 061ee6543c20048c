"""The queues of a stack in SQS: count messages, delay their next delivery, and send dead letters."""

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

_LOG = logging.getLogger("duebell.intake")

#: The suffix of the dead-letter queue's name, after the intake queue's.
DEAD_LETTERS = "-dead-letters"

#: The most entries of one call to SQS, SNS or EventBridge, and the most bytes, names of attributes included.
#: A larger message goes alone, and the service accepts or refuses it: SQS takes 1 MiB.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
#: https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html
#: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
MOST_ENTRIES, _BATCH_BYTES = 10, 240 * 1024

_T = TypeVar("_T")

_CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})

_COUNTED = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class DeadLetters(StrEnum):
    """A dead-letter queue of the stack. The first two are named after the rule, the last after the intake."""

    LOST_RINGS = "lost-rings"
    FAILED_RUNS = "failed-runs"
    INTAKE = "intake"


class DeadLetter(NamedTuple):
    """A message for the dead-letter queue. Its attributes are texts, none of them empty."""

    body: str
    attributes: Mapping[str, str]


class Sqs:
    """The queues of any region. Thread-safe.

    `client` makes a client, by the name of a service; it is called when SQS is first needed.
    """

    def __init__(self, client: Callable[..., Any]) -> None:
        self._make = client
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}

    def client(self, region: str) -> Any:
        """The client for this region."""
        with self._lock:  # a session makes one client at a time
            if region not in self._clients:
                self._clients[region] = self._make("sqs", region_name=region, config=_CONFIG)
            return self._clients[region]

    def count(self, name: str, *, region: str, account: str) -> int:
        """Count the messages of a queue that wait, are in flight or are delayed, as SQS estimates it.

        Raises ClientError and BotoCoreError.
        """
        client = self.client(region)
        url = queue_url(client, account, name)
        attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTED))["Attributes"]
        return sum(int(attributes.get(name, 0)) for name in _COUNTED)


def put_back(client: Any, url: str, seconds: Mapping[str, int]) -> None:
    """Have messages delivered again after so many seconds, given by receipt handle.

    Refusals by SQS are logged: such a message comes again after the queue's visibility timeout.
    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibilityBatch.html
    """
    every = list(seconds.items())
    for start in range(0, len(every), MOST_ENTRIES):
        entries = [
            {"Id": str(place), "ReceiptHandle": receipt, "VisibilityTimeout": pause}
            for place, (receipt, pause) in enumerate(every[start : start + MOST_ENTRIES])
        ]
        try:
            answer = client.change_message_visibility_batch(QueueUrl=url, Entries=entries)
        except (BotoCoreError, ClientError) as error:
            _LOG.warning("messages come again after the queue's visibility timeout only: %s", error)
            return
        for failed in answer.get("Failed", ()):
            _LOG.warning("a message comes again after the visibility timeout only: %s", failed)


def bury(client: Any, url: str, letters: Sequence[DeadLetter]) -> list[bool]:
    """Send these letters to the queue with this URL. Returns for each if SQS has taken it; logs refusals."""
    taken = [False] * len(letters)
    sizes = (len(one.body.encode()) + len(json.dumps(dict(one.attributes))) for one in letters)
    for places in in_calls(enumerate(sizes)):
        refused = _send(client, url, {place: letters[place] for place in places})
        for place in places:
            taken[place] = place not in refused
        for why in set(refused.values()):
            _LOG.error("the dead-letter queue does not take messages, so they stay: %s", why)
    return taken


def is_missing(error: Exception) -> bool:
    """Tell whether SQS answered that there is no such queue."""
    code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
    return code in {"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"}


def queue_url(client: Any, account: str, name: str) -> str:
    """The queue's URL, built here: a call of GetQueueUrl would need one more permission."""
    return f"{client.meta.endpoint_url.rstrip('/')}/{account}/{name}"


def in_calls(sized: Iterable[tuple[_T, int]], *, most: int = MOST_ENTRIES) -> Iterator[list[_T]]:
    """Divide items, each with its size in bytes, into batches that fit one call; a large one goes alone."""
    batch: list[_T] = []
    batch_size = 0
    for item, size in sized:
        if batch and (len(batch) == most or batch_size + size > _BATCH_BYTES):
            yield batch
            batch, batch_size = [], 0
        batch.append(item)
        batch_size += size
    if batch:
        yield batch


def _send(client: Any, url: str, letters: Mapping[int, DeadLetter]) -> dict[int, str]:
    """Send the letters with one call. Returns why SQS did not take some, by their places."""
    try:
        answer = client.send_message_batch(
            QueueUrl=url, Entries=[_entry(place, letter) for place, letter in letters.items()]
        )
    except (BotoCoreError, ClientError) as error:
        return dict.fromkeys(letters, str(error))
    refused = {int(one["Id"]): f"{one.get('Code')}: {one.get('Message')}" for one in answer.get("Failed", ())}
    sent = {int(one["Id"]) for one in answer.get("Successful", ())}
    return {place: refused.get(place, "no answer") for place in letters if place not in sent}


def _entry(place: int, letter: DeadLetter) -> dict[str, Any]:
    return {
        "Id": str(place),
        "MessageBody": letter.body,
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": text} for name, text in letter.attributes.items()
        },
    }
