"""One invocation of the Lambda: what Lambda gives it, and its run, tried again while AWS is unavailable."""

import logging
import uuid
from datetime import timedelta
from typing import Protocol

from duebell_shared.backend import Backend
from duebell_shared.backoff import pauses
from duebell_shared.bell.function import lanes_in
from duebell_shared.errors import AwsUnavailable, NotArmed
from duebell_worker.run.lease import new_run_id

from .log import emit
from .run.context import RESERVE
from .run.report import RunReport


class FailedOnPurpose(Exception):
    """The error of an invocation that `duebell verify --dead-letter` makes fail."""


class LambdaContext(Protocol):
    """The context that Lambda gives a handler, as far as the worker uses it."""

    def get_remaining_time_in_millis(self) -> int:
        """The time until Lambda ends this invocation, in milliseconds."""


class Run(Protocol):
    """One run: its id, where, in how much time, and which lanes, or all."""

    def __call__(
        self, id: str, backend: Backend, time_left: timedelta | None, lanes: tuple[int, ...] | None
    ) -> RunReport: ...


def run_invocation(event: object, context: LambdaContext, run: Run, backend: Backend) -> RunReport:
    """Run what this event asks for; again if AWS is unavailable, while the invocation has time.

    All tries are one run, with one id. Raises what the last one raises.
    """
    # A context that stands in for Lambda's may have no request id.
    id = new_run_id(getattr(context, "aws_request_id", "") or uuid.uuid4().hex)

    def run_once() -> RunReport:
        return run(id, backend, _time_left(context), lanes_in(event))

    # The last failure is raised, and Lambda invokes again.
    for pause in pauses(2.0, 32.0, 4.0, tries=5):
        try:
            return run_once()
        except (AwsUnavailable, NotArmed) as error:
            if _time_left(context) < 2 * RESERVE:
                raise
            emit("run_failed", level=logging.ERROR, run=id, error=str(error), trying_again_in=pause)
            backend.sleep(pause)
    return run_once()


def _time_left(context: LambdaContext) -> timedelta:
    return timedelta(milliseconds=context.get_remaining_time_in_millis())
