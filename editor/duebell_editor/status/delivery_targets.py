"""The targets of deliveries as these credentials see them: there, missing, or not to be looked at.

Only reads are made, and nothing is sent. They tell whether a target is there and takes messages. Whether the
worker's role may send to it, they cannot tell: that shows when the first task is due.
"""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, NamedTuple

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.endpoint import is_here
from duebell_shared.deliveries.delivery import DeliveryTarget, Kind
from duebell_shared.errors import InvalidSettings
from duebell_shared.parallel import Parallel
from duebell_shared.quoting import in_brief, quoted
from duebell_shared.tasks.worker_record import ActionDescription, WorkerDescription

from .health import Problem, ProblemKind

__all__ = ["DeliveryTargets", "look_at_all"]

#: Only a person who asks the doctor waits for this.
_LOOKING = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})

#: The codes by which the services say that there is no such thing.
_MISSING = {
    "AWS.SimpleQueueService.NonExistentQueue",
    "NotFound",
    "NotFoundException",
    "QueueDoesNotExist",
    "ResourceNotFoundException",
    "StateMachineDoesNotExist",
}


class _Look(NamedTuple):
    """How to look at a kind of target: the service, the action, the call, and what is wrong in its answer."""

    service: str
    iam_action: str
    call: Callable[[Any, DeliveryTarget], Any]
    fault: Callable[[Any], str] = lambda _: ""


def _queue(client: Any, target: DeliveryTarget) -> Any:
    url = f"{client.meta.endpoint_url}/{target.account}/{target.name}"
    return client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])


def _bus(client: Any, target: DeliveryTarget) -> Any:
    # By its ARN, for it may be another account's. The embedded stack finds buses by their names only.
    return client.describe_event_bus(Name=target.name if is_here(client.meta.endpoint_url) else target.to)


_QUEUE = _Look("sqs", "sqs:GetQueueAttributes", _queue)
_TOPIC = _Look("sns", "sns:GetTopicAttributes", lambda sns, one: sns.get_topic_attributes(TopicArn=one.to))
_LOOKS: Mapping[Kind, _Look] = {
    Kind.QUEUE: _QUEUE,
    Kind.FIFO_QUEUE: _QUEUE,
    Kind.TOPIC: _TOPIC,
    Kind.FIFO_TOPIC: _TOPIC,
    Kind.BUS: _Look("events", "events:DescribeEventBus", _bus),
    Kind.FUNCTION: _Look(
        "lambda",
        "lambda:GetFunctionConfiguration",
        lambda function, one: function.get_function_configuration(FunctionName=one.to),
        # An inactive function wakes when it is invoked.
        # https://docs.aws.amazon.com/lambda/latest/dg/functions-states.html
        lambda answer: "its state is Failed" if answer.get("State") == "Failed" else "",
    ),
    Kind.STATE_MACHINE: _Look(
        "stepfunctions",
        "states:DescribeStateMachine",
        lambda states, one: states.describe_state_machine(stateMachineArn=one.to),
        lambda answer: "it is being deleted" if answer.get("status") == "DELETING" else "",
    ),
}


def look_at_all(
    worker: WorkerDescription, client: Callable[..., Any], parallel: Parallel
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """The problems of the deliveries of this worker, and those whose targets may not be looked at."""
    targets = DeliveryTargets(client)
    found = parallel.all(targets.problem, [one for one in worker.actions if one.to])
    problems = [one for one in found if one]
    return (
        tuple(one for one in problems if one.kind is ProblemKind.DELIVERY),
        tuple(one for one in problems if one.kind is ProblemKind.UNSEEN_DELIVERY),
    )


class DeliveryTargets:
    """Looks at targets. `client` makes clients, by the name of a service."""

    def __init__(self, client: Callable[..., Any]) -> None:
        self._client = client
        self._lock = Lock()  # a session makes one client at a time

    def problem(self, action: ActionDescription) -> Problem | None:
        """The problem of this delivery; None if its target is there, or nothing can be looked at.

        Its kind is DELIVERY, or UNSEEN_DELIVERY if it is unknown whether the target is there.
        """
        try:
            target = DeliveryTarget.parse(action.to)
        except InvalidSettings:
            return None  # a newer version's
        look = _LOOKS.get(target.kind)
        if look is None:  # nothing is sent to an https URL to try it
            return None
        named = f"the delivery {quoted(action.name)} goes to {target.to}"
        try:
            with self._lock:
                client = self._client(look.service, region_name=target.region, config=_LOOKING)
            fault = look.fault(look.call(client, target))
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            if code not in _MISSING:
                return _unknown(named, f"{look.iam_action} is refused here ({code})")
            return _wrong(f"{named}, and there is no such {target.kind}, or it may not be seen from here")
        except BotoCoreError as error:
            return _unknown(named, in_brief(error))
        return _wrong(f"{named}, and {fault}") if fault else None


def _wrong(what: str) -> Problem:
    return Problem(
        kind=ProblemKind.DELIVERY,
        what=what,
        way_out="make the target, or deploy with another: `duebell deploy --deliver NAME=ARN`; then "
        "`duebell retry` the tasks that failed",
    )


def _unknown(named: str, why: str) -> Problem:
    return Problem(
        kind=ProblemKind.UNSEEN_DELIVERY,
        what=f"{named}, and whether that is there is unknown: {why}",
        way_out="give whoever runs this the permission, or look where the target is",
    )
