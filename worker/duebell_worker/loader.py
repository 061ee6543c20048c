"""Finds the user's worker by its name, `module:attribute`."""

import importlib

from duebell_shared.errors import InvalidSettings

from .worker import Worker

__all__ = ["load"]


def load(name: str) -> Worker:
    """Return the worker that `module:attribute` names; one without actions for "". Raises InvalidSettings."""
    if not name:
        return Worker.from_env()
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise InvalidSettings(
            "DUEBELL_WORKER", f"must be module:attribute, like sales.actions:worker, not {name!r}"
        )
    worker = getattr(importlib.import_module(module), attribute, None)
    if not isinstance(worker, Worker):
        raise InvalidSettings("DUEBELL_WORKER", f"{name!r} is not a duebell.Worker, but {worker!r}")
    return worker
