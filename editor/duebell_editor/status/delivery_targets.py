"""The targets of deliveries as these credentials see them: there, missing, or not to be looked at.

Only reads are made, and nothing is sent. They tell whether a target is there and takes messages. Whether the
worker's role may send to it, they cannot tell: that shows when the first task is due.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.deliveries.delivery_target import DeliveryTarget
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
        kind = target.kind
        if not kind.looks:  # nothing is sent to an https URL to try it
            return None
        named = f"the delivery {quoted(action.name)} goes to {target.to}"
        try:
            with self._lock:
                client = self._client(kind.client, region_name=target.region, config=_LOOKING)
            fault = kind.look(client, target)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            if code not in _MISSING:
                return _unknown(named, f"{kind.looks} is refused here ({code})")
            return _wrong(f"{named}, and there is no such {kind}, or it may not be seen from here")
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
