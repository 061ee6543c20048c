"""Sends the messages of tasks to their targets, in as few calls as they fit in."""

import re
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

import botocore
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.aws_session import way_out
from duebell_shared.aws.sqs import in_calls
from duebell_shared.deliveries.delivery import Delivery, DeliverySecret
from duebell_shared.deliveries.kinds import HTTPS, Answer, Message, Target
from duebell_shared.deliveries.message import message_of
from duebell_shared.tasks.task import Task
from duebell_worker.run.attempt import Undeliverable, Undelivered

#: Why a message is refused for good, in the words of the error.
_KEY = (
    "the key that encrypts {shown} cannot be used: the worker's role needs kms:GenerateDataKey and "
    "kms:Decrypt on the key"
)
_DENIED = (
    "access denied to {shown}: the worker's role needs {needed} on it, and if it belongs to another account, "
    "its own policy must allow that, too"
)
_ROLES = "the worker's role may not pass a role of {shown}: name its roles in `roles` of `run`, and deploy"
_CLUSTER = "there is no such cluster for {shown}: create it, or change `cluster` of `run`"
_ABSENT = "there is no {what} {shown}: create it, or deploy the delivery with another target"
_LARGE = "too large for {shown}: keep the data elsewhere, in S3, and put its key into the payload"
_INVALID = "{shown} refused the message"

#: Codes of temporary faults: throttling, limits of concurrency, failures of AWS, credentials that are about
#: to be renewed. Compared without dots, and without regard to case.
_TEMPORARY = re.compile(
    "throttl|toomany|slowdown|limitexceeded|overlimit|requestlimit|timeout|timedout|expired|internal"
    "|unavailable|serviceexception|conflict|notready|clienttoken|signature|incompleterecord"
)

#: Permanent refusals: the text of the error, the codes of AWS that mean it together with these words of the
#: message, and the HTTP status that means it alone.
_PERMANENT = (
    (_KEY, "^kms", "", None),
    (_KEY, "accessdenied", r"\bkms\b", None),
    (_ROLES, "accessdenied", "iam:PassRole", None),
    (_DENIED, "accessdenied|authorizationerror|authorized|forbidden", "", HTTPStatus.FORBIDDEN),
    (_CLUSTER, "^clusternotfound", "", None),
    (_ABSENT, "^clientexception", "not found", None),
    (_ABSENT, "nonexistent|notfound|notexist|nosuch", "", HTTPStatus.NOT_FOUND),
    (_ABSENT, "^invalidrequest", "marked (for deletion|deleted)", None),
    (_LARGE, "toolong|toolarge", "", HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (_INVALID, "^invalid|^validation|malformed|^missing|^unsupported|redactionfailure", "", None),
)


def fault_of_call(target: Target | DeliverySecret, error: Exception) -> Exception:
    """The error of an attempt whose call raised this error."""
    if isinstance(error, ClientError):
        told = error.response.get("Error", {})
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return fault_of(target, Answer(told.get("Code", ""), told.get("Message", ""), status))
    if isinstance(error, BotoCoreError):
        return Undelivered(f"{target.shown} did not answer: {error}{way_out(error)}")
    return error


def fault_of(target: Target | DeliverySecret, answer: Answer) -> Exception:
    """The error of an attempt with this answer of AWS: Undeliverable if another attempt does not help."""
    why = _why(answer)
    said = f"({answer.code}: {answer.message})" if answer.message else f"({answer.code})"
    if why is None:
        return Undelivered(f"{target.shown} did not accept it {said}")
    needed = target.kind.sends if isinstance(target, Target) else target.reads
    what = target.kind if isinstance(target, Target) else "secret"
    told = f"{why.format(shown=target.shown, needed=needed, what=what)} {said}"
    # IAM takes a while to apply a policy, and the target's policy may come later: it is tried again.
    if why in {_DENIED, _ROLES} or (why == _KEY and "denied" in answer.code.lower()):
        return Undelivered(told)
    return Undeliverable(told, of_target=why in {_KEY, _ABSENT, _CLUSTER})


def _why(answer: Answer) -> str | None:
    """Why the message is refused for good; None if it may be accepted later."""
    code = re.sub("[^a-z]", "", answer.code.lower())
    code = code.removeprefix("awssimplequeueservice")
    if (
        answer.status == HTTPStatus.TOO_MANY_REQUESTS
        or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        or _TEMPORARY.search(code)
        or "No Container Instances" in answer.message  # of a cluster that is scaled to zero
    ):
        return None
    for why, codes, words, status in _PERMANENT:
        is_meant = re.search(codes, code) and re.search(words, answer.message, re.IGNORECASE)
        if is_meant or answer.status == status:
            return why
    return _INVALID if answer.is_senders else None


#: The last attempt of a run must have ended when the run leaves, 10 seconds after the last start. Two tries
#: take 9 seconds at most, with the pause between them. Another attempt follows a failure anyway.
CONNECT_TIMEOUT, READ_TIMEOUT = 1, 3

#: As many connections as a worker has threads by default.
_CONNECTIONS = 16

_CONFIG = Config(
    connect_timeout=CONNECT_TIMEOUT,
    read_timeout=READ_TIMEOUT,
    max_pool_connections=_CONNECTIONS,
    parameter_validation=False,  # as for DynamoDB: checking costs a fifth of each call
    user_agent=f"duebell Botocore/{botocore.__version__}",
    retries={"mode": "standard", "total_max_attempts": 2},
)

#: A changed secret is used after this time at the latest.
_KEPT = timedelta(minutes=5)


class Deliverer:
    """Sends tasks to the targets of their deliveries. Thread-safe; one serves many runs."""

    def __init__(self, client: Callable[..., Any], clock: Callable[[], datetime]) -> None:
        """`client` makes a client by the name of a service; `clock` gives the time in signatures."""
        self._make = client
        self._clock = clock
        self._lock = threading.Lock()  # a session makes one client at a time
        self._clients: dict[tuple[str, str], Any] = {}
        #: The texts of secrets by their ARN, and when each was read.
        self._secrets: dict[str, tuple[datetime, str]] = {}

    def __call__(self, tasks: Sequence[tuple[Delivery, Task]]) -> list[BaseException | None]:
        """Send these tasks, all to one target; return for each None if it was accepted, or the error."""
        errors: list[BaseException | None] = [None] * len(tasks)
        made: list[tuple[int, Message]] = []
        for place, (delivery, task) in enumerate(tasks):
            try:
                made.append((place, message_of(delivery, task)))
            except Exception as error:  # noqa: BLE001 (a bug of ours, or an item that someone has edited)
                errors[place] = error
        delivery = tasks[0][0]
        sized = ((one, one[1].size) for one in made)
        for batch in in_calls(sized, most=delivery.target.kind.most_at_once):
            sent = self._send(delivery, [message for _, message in batch])
            for (place, _), result in zip(batch, sent, strict=True):
                errors[place] = result
        return errors

    def _send(self, delivery: Delivery, messages: Sequence[Message]) -> Sequence[BaseException | None]:
        """Send these in one call. If it is refused, and one message may be the cause, send each alone."""
        target = delivery.target
        try:
            if target.kind is HTTPS:
                return [self._post(delivery, messages[0])]
            answers = target.kind.send(self._client(target.kind.client, target.region), target, messages)
        except Exception as raised:  # noqa: BLE001
            error = fault_of_call(target, raised)
            may_be_of_one = isinstance(error, Undeliverable) and not error.of_target
            if messages[1:] and may_be_of_one:
                return [self._send(delivery, [message])[0] for message in messages]
            return [error] * len(messages)
        return [fault_of(target, answer) if isinstance(answer, Answer) else None for answer in answers]

    def _post(self, delivery: Delivery, message: Message) -> Exception | None:
        from .https import post  # noqa: PLC0415 (most deliveries go to services of AWS)

        key = self._text_of(delivery.key) if delivery.key else None
        return post(delivery, message, key, self._clock())

    def _client(self, service: str, region: str) -> Any:
        """The client of this service in this region, made when it is first needed."""
        with self._lock:
            if (service, region) not in self._clients:
                self._clients[service, region] = self._make(service, region_name=region, config=_CONFIG)
            return self._clients[service, region]

    def _text_of(self, secret: DeliverySecret) -> str:
        """The text of this secret, read every five minutes at most. Raises Undelivered, Undeliverable."""
        now = self._clock()
        if (known := self._secrets.get(secret.arn)) and now - known[0] < _KEPT:
            return known[1]
        client = self._client(secret.service, secret.region)
        try:
            if secret.service == "ssm":
                text = client.get_parameter(Name=secret.arn, WithDecryption=True)["Parameter"]["Value"]
            else:
                text = client.get_secret_value(SecretId=secret.arn).get("SecretString", "")
        except (BotoCoreError, ClientError) as error:
            raise fault_of_call(secret, error) from None
        if not text:
            raise Undeliverable(
                f"the secret {secret.arn} has no text: give it the key of the signature as text"
            )
        self._secrets[secret.arn] = now, str(text)
        return str(text)
