"""The entry of the packaged Lambda: finds the user's worker and lets it run.

`DUEBELL_WORKER` names it as `module:attribute`. Without it there are no actions, and every task fails with a
message that says so.
"""

import os
from functools import cache
from typing import Any

import msgspec

from duebell_shared.errors import InvalidSettings

from .loader import load
from .log import to_stdout
from .worker import LambdaContext, Worker

__all__ = ["handler", "load"]

if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:  # in any other process, the log is its owner's matter
    to_stdout()


def given_environment(text: str) -> dict[str, str]:
    """The user's environment variables, which the template passes as one in JSON. Raises InvalidSettings."""
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise InvalidSettings("DUEBELL_ENVIRONMENT", f"must be a JSON object of texts: {error}") from None


@cache
def _worker() -> Worker:
    os.environ.update(given_environment(os.environ.get("DUEBELL_ENVIRONMENT", "{}")))
    return load(os.environ.get("DUEBELL_WORKER", ""))


def handler(event: object, context: LambdaContext) -> dict[str, Any]:
    """Run what is due, with the user's worker."""
    try:
        worker = _worker()
    except Exception:
        # Problem: the user's module cannot be imported, so no run arms the rule. Solution: Lambda invokes
        # twice more, minutes later. By then the ring counts as missed, and this sets the rule to a new one;
        # and so on, until a version that works is deployed.
        Worker.from_env().backend.armer.ensure()
        raise
    return worker.handler(event, context)
