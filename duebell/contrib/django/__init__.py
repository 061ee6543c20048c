"""Django's tasks on duebell: the backend that adds them, and `register_tasks`, by which a worker runs them.

TASKS = {"default": {"BACKEND": "duebell.contrib.django.DuebellBackend"}}

Needs Django 6.0, which has `django.tasks`; with Django 5.2 the package django-tasks, which has the same names
in `django_tasks`. A web process that only adds tasks loads no worker.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import DuebellBackend as DuebellBackend
    from .results import AttemptFailed as AttemptFailed
    from .worker import register_tasks as register_tasks

__all__ = ["AttemptFailed", "DuebellBackend", "register_tasks"]

_MODULES = {"AttemptFailed": "results", "DuebellBackend": "backend", "register_tasks": "worker"}


if not TYPE_CHECKING:  # a type checker would take any name for valid

    def __getattr__(name: str) -> Any:
        """Load the name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
