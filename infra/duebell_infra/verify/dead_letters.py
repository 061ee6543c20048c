"""Checks of the queues for rings that did not reach the worker, and for runs that failed to the last try."""

import json
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from duebell_infra.aws import answer_unless, code_of
from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.function import failing_event, qualifier_of

from .check import LOOK_INTO_THE_LOG, Found, NotMade, When, Wrong, check, expect
from .scene import Scene

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient

__all__ = ["dead_letter", "failed_runs", "lost_rings"]

#: Lambda tries an asynchronous invocation again after a minute, and two minutes after that.
#: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
_TRIES = timedelta(minutes=6)

#: Calls of a look; each takes ten messages.
_LOOKS = 20

_DEPLOY = "`duebell deploy` sets it up"

_LOOK = "look into the messages, purge the queue when the cause is gone: docs/operations.md, The alarms"


@check(_DEPLOY)
def lost_rings(scene: Scene) -> Found:
    """The queue for rings that did not reach the worker: there, and open to EventBridge.

    A schedule sends to it by the permissions of its own role, which may not be read here.
    """
    target, kind = scene.target(), scene.backend.rule.kind
    if target is None:
        raise Wrong(f"the {kind} has no Lambda as its target: it wakes nobody")
    arn = target.get("DeadLetterConfig", {}).get("Arn")
    expect(arn, f"the {kind}'s target has no dead-letter queue: a ring that is lost leaves no trace")
    if kind is BellKind.SCHEDULE:
        return _depth(arn, _attributes(scene.client("sqs"), arn))
    attributes = _attributes(scene.client("sqs"), arn, "Policy")
    statements = json.loads(attributes.get("Policy") or "{}").get("Statement", [])
    listed = [statements] if isinstance(statements, dict) else statements
    expect(any(map(_lets_events_send, listed)), "its policy does not let events.amazonaws.com send to it")
    return _depth(arn, attributes)


@check(_DEPLOY)
def failed_runs(scene: Scene) -> Found:
    """The queue for runs that failed to the last of Lambda's tries: the function's destination, and there."""
    arn = _destination(scene)
    if ":sqs:" not in arn:
        raise NotMade(f"the destination of failed runs is {arn}, which is none that this can look into")
    return _depth(arn, _attributes(scene.client("sqs"), arn))


@check(LOOK_INTO_THE_LOG, when=When.DEAD_LETTER)
def dead_letter(scene: Scene) -> Found:
    """A run that fails on purpose, to the last of Lambda's tries, and its message in the queue.

    It fails before it touches the queue or calls an action. The message is deleted; others in the queue are
    seen by nobody else for the moment of a look.
    """
    arn = _destination(scene)
    client = scene.client("sqs")
    url, token = _url(client, arn), f"{scene.own.run}-{uuid.uuid4().hex[:8]}"
    scene.client("lambda").invoke(
        FunctionName=scene.function or "",
        InvocationType="Event",
        Payload=json.dumps(failing_event(token)).encode(),
    )
    began = scene.now()
    scene.progress("waiting for Lambda to give up on a run that fails on purpose, some three minutes")
    try:
        if not scene.wait(lambda: _take(client, url, token), until=began + _TRIES, every=5.0):
            raise Wrong(
                "a run that failed to the last try left no message: the worker's role may not send to the "
                "queue, or the worker is an older version that does not fail when told to",
                _DEPLOY,
            )
    finally:
        scene.answers.clear()  # dozens of looks
    took = (scene.now() - began).total_seconds()
    return Found(f"it came {took:.0f} s after the call", figures={"dead_letter_seconds": round(took, 1)})


def _destination(scene: Scene) -> str:
    if scene.function is None:
        raise NotMade("which function the worker is, is not known: the bell has no Lambda as its target")
    client: LambdaClient = scene.client("lambda")
    config: Any = answer_unless(
        {"ResourceNotFoundException"},
        client.get_function_event_invoke_config,
        FunctionName=scene.function.removesuffix(f":{qualifier_of(scene.function)}"),
        Qualifier=qualifier_of(scene.function),
    )
    arn: str | None = (config or {}).get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    if not arn:
        raise Wrong("the function has no destination for runs that fail: they leave no trace", _DEPLOY)
    return arn


def _url(client: "SQSClient", arn: str) -> str:
    *_, account, name = arn.split(":")
    try:
        return client.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)["QueueUrl"]
    except ClientError as error:
        if "NonExistentQueue" in code_of(error) or "QueueDoesNotExist" in code_of(error):
            raise Wrong(f"there is no queue {name}", _DEPLOY) from error
        raise


def _attributes(client: "SQSClient", arn: str, *more: Any) -> Mapping[Any, str]:
    names = ["ApproximateNumberOfMessages", *more]
    return client.get_queue_attributes(QueueUrl=_url(client, arn), AttributeNames=names)["Attributes"]


def _depth(arn: str, attributes: Mapping[Any, str]) -> Found:
    depth = int(attributes["ApproximateNumberOfMessages"])
    name = arn.rpartition(":")[2]
    messages = "no message" if not depth else "1 message" if depth == 1 else f"{depth:,} messages"
    return Found(f"{name}: {messages}", way_out=_LOOK if depth else None, figures={"messages": depth})


def _lets_events_send(statement: Mapping[str, Any]) -> bool:
    principal = statement.get("Principal")
    services = principal.get("Service", []) if isinstance(principal, dict) else [principal]
    actions = {action.lower() for action in _listed(statement.get("Action", []))}
    return (
        statement.get("Effect") == "Allow"
        and bool({"events.amazonaws.com", "*"} & set(_listed(services)))
        and bool({"sqs:sendmessage", "sqs:*", "*"} & actions)
    )


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [one for one in value if isinstance(one, str)]


def _take(client: "SQSClient", url: str, token: str) -> bool:
    """Delete the message about this token; False if it is not among those that are looked at.

    Each is hidden from others for a moment; of a long queue, some are looked at, at random.
    """
    for _ in range(_LOOKS):
        given = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=2)
        messages = given.get("Messages", [])
        for message in messages:
            if token in message.get("Body", ""):
                client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                return True
        if not messages:
            break
    return False
