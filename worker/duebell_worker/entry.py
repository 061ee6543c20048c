"""The entry of the packaged Lambda: finds the user's worker and lets it run.

`DUEBELL_WORKER` names it as `module:attribute`. Without it there are no actions, and every task fails with a
message that says so.

The user's module is imported in the first invocation, not while Lambda initialises the process: an
initialisation may take ten seconds, and what it began is lost if it takes longer.
https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
"""

import gc
import os
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.errors import InvalidSettings
from duebell_shared.settings import Settings

from .loader import load
from .log import to_stdout
from .registration import Registration
from .worker import LambdaContext, Worker

__all__ = ["connected_backend", "handler", "load"]

if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:  # in any other process, the log is its owner's matter
    to_stdout()


def given_environment() -> dict[str, str]:
    """The user's environment variables, which the template passes as one in JSON. Raises InvalidSettings."""
    text = os.environ.get("DUEBELL_ENVIRONMENT", "{}")
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise InvalidSettings("DUEBELL_ENVIRONMENT", f"must be a JSON object of texts: {error}") from None


def connected_backend() -> Backend:
    """The backend of the environment, for a process that keeps it to its end. Raises InvalidSettings.

    The clients are made of a hundred thousand objects, none of them garbage. Python would look for garbage in
    all of them, several times: a tenth of a cold start. So it does not look meanwhile, and passes over them
    later.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        backend = Backend.connect(Settings.from_env())
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
    return backend


@cache
def _worker() -> Worker:
    with suppress(InvalidSettings):  # raised below, where it is told
        os.environ.update(given_environment())
    backend = connected_backend()
    name = os.environ.get("DUEBELL_WORKER", "")
    registration = Registration(backend, [name.partition(":")[0]])
    registration.begin()
    try:
        given_environment()
        worker = load(name)
    except BaseException as error:
        # Problem: the user's module cannot be imported, so no run arms the rule. Solution: Lambda invokes
        # twice more, minutes later. By then the ring counts as missed, and this sets the rule to a new one;
        # and so on, until a version that works is deployed.
        registration.fail(error)
        raise
    worker.reuse(backend)
    worker.register(registration)
    return worker


def handler(event: object, context: LambdaContext) -> dict[str, Any]:
    """Run what is due, with the user's worker."""
    return _worker().handler(event, context)
