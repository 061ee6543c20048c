"""Warnings about doubtful tasks, which are stored nevertheless."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from duebell_shared.errors import InvalidTask

#: Modules with these prefixes are skipped when the line of a warning is chosen.
_OWN = ("duebell_editor.", "duebell_shared.", "duebell_worker.")

_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected_warnings", default=None)


class UnknownAction(UserWarning):
    """A task was added for an action that the worker does not have; it will fail, unless one is deployed."""


class DoubtfulPayload(UserWarning):
    """A payload does not fit its action's schema: the task fails, unless the type converts it."""


def warn_user(error: InvalidTask, category: type[UserWarning]) -> None:
    """Warn with this error's message, at the line of the user's code that called duebell."""
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(str(error))
    level, frame = 1, sys._getframe()  # noqa: SLF001 (documented; `inspect` reads source files)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_OWN):
        level, frame = level + 1, frame.f_back
    warnings.warn(str(error), category, stacklevel=level)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the texts of the warnings given inside, in this context only."""
    texts: list[str] = []
    token = _COLLECTED.set(texts)
    try:
        yield texts
    finally:
        _COLLECTED.reset(token)
