"""The entry of the packaged Lambda: finds the user's worker and lets it run.

`DUEBELL_WORKER` names it as `module:attribute`. Without it there are no actions, and every task fails with a
message that says so.

The user's module is imported in the first invocation, not while Lambda initialises the process. An
initialisation may take ten seconds; if it takes longer, its work is lost.
https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html

With SnapStart it is imported before Lambda takes the snapshot, where it may take minutes. The first
invocation of each restored process finds it there.
https://docs.aws.amazon.com/lambda/latest/dg/snapstart.html
"""

import gc
import importlib
import os
import random
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.errors import InvalidSettings
from duebell_shared.settings import Settings

from .actions.registration import Registration
from .log import LogLine, emit, to_stdout
from .worker import LambdaContext, Worker

if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:  # in any other process, its owner sets up the log
    to_stdout()


def load(name: str) -> Worker:
    """Return the worker that `module:attribute` names; one without functions for "". Raises InvalidSettings.

    It also has the deliveries that the environment declares.
    """
    worker = _named(name) if name else Worker.from_env()
    worker.add_declared_deliveries()
    return worker


def _named(name: str) -> Worker:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise InvalidSettings(
            "DUEBELL_WORKER", f"must be module:attribute, like sales.actions:worker, not {name!r}"
        )
    worker = getattr(importlib.import_module(module), attribute, None)
    if not isinstance(worker, Worker):
        way_out = f"write {attribute} = Worker.from_env() there, and import its actions"
        raise InvalidSettings("DUEBELL_WORKER", f"{name!r} is not a duebell.Worker: {way_out}")
    return worker


def given_environment() -> dict[str, str]:
    """The user's environment variables, which the template passes as one in JSON. Raises InvalidSettings."""
    text = os.environ.get("DUEBELL_ENVIRONMENT", "{}")
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise InvalidSettings("DUEBELL_ENVIRONMENT", f"must be a JSON object of texts: {error}") from None


@cache
def connected_backend() -> Backend:
    """The backend of the environment, which the process keeps to its end. Raises InvalidSettings.

    The clients are made of a hundred thousand objects. Garbage collection among them takes a tenth of a cold
    start and finds nothing. So it is off meanwhile, and ignores these objects later.
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


def _is_for_snapshot() -> bool:
    """Tell whether Lambda initialises this process to take a snapshot of it.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    """
    return os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start"


def prepare_snapshot() -> None:
    """Make the clients and import the user's module, so that they are in the snapshot. Calls nothing.

    The first invocation tries again what has failed here, and reports it.
    """
    try:
        os.environ.update(given_environment())
        connected_backend()
        load(os.environ.get("DUEBELL_WORKER", ""))
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the user's code)
        emit(LogLine.NOT_IN_SNAPSHOT, error=f"{type(error).__name__}: {error}")


@cache
def _worker() -> Worker:
    if _is_for_snapshot():
        # Problem: all processes that are restored from a snapshot would draw the same pauses. Solution: this
        # is the first invocation, after the snapshot, in each of them.
        random.seed()
    with suppress(InvalidSettings):  # raised again below, where it is reported
        os.environ.update(given_environment())
    backend = connected_backend()
    registration = Registration(backend)
    registration.begin()
    try:
        given_environment()
        worker = load(os.environ.get("DUEBELL_WORKER", ""))
    except BaseException as error:
        # Problem: the user's module cannot be imported, so no run arms the rule. Solution: Lambda invokes
        # twice more, minutes later. By then the ring counts as missed, and this sets the rule to a new one.
        # Each ring fails like this until the user deploys a version that works.
        registration.fail(error)
        raise
    worker.reuse(backend)
    worker.register(registration)
    return worker


def handler(event: object, context: LambdaContext) -> dict[str, Any]:
    """Run what is due, with the user's worker."""
    return _worker().handler(event, context)


if _is_for_snapshot():
    prepare_snapshot()
