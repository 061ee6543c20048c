"""Finds the user's worker by its name, `module:attribute`."""

import importlib
import logging
from types import ModuleType

from duebell_shared.errors import InvalidSettings
from duebell_shared.quoting import quoted
from duebell_worker.log import emit
from duebell_worker.worker import Worker

__all__ = ["load"]


def load(name: str) -> Worker:
    """Return the worker that `module:attribute` names; one without functions for "". Raises InvalidSettings.

    It also has the deliveries that the environment declares.
    """
    worker = _named(name) if name else Worker.from_env()
    worker.add_declared_deliveries()
    if name and not worker.has_actions:
        emit(
            "no_actions",
            level=logging.WARNING,
            worker=name,
            way_out="import the modules that hold them there",
        )
    return worker


def _named(name: str) -> Worker:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise InvalidSettings(
            "DUEBELL_WORKER", f"must be module:attribute, like sales.actions:worker, not {name!r}"
        )
    imported = importlib.import_module(module)
    worker = getattr(imported, attribute, None)
    if not isinstance(worker, Worker):
        is_there = hasattr(imported, attribute)
        what = f"but {quoted(worker)}" if is_there else f"as {module} has no {quoted(attribute)}"
        reason = f"{name!r} is not a duebell.Worker, {what}: {_way_out(imported)}"
        raise InvalidSettings("DUEBELL_WORKER", reason)
    return worker


def _way_out(module: ModuleType) -> str:
    workers = [f"{module.__name__}:{one}" for one, value in vars(module).items() if isinstance(value, Worker)]
    if workers:
        return f"the workers there are {', '.join(workers)}" if workers[1:] else f"give {workers[0]}"
    return "there is no worker in it: write worker = Worker.from_env(), and import its actions"
