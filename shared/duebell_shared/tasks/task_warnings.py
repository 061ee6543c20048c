"""Warnings about tasks that are stored all the same."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

from duebell_shared.errors import InvalidTask

#: The modules that a warning is not placed in.
_OWN = ("duebell_editor.", "duebell_shared.", "duebell_worker.")

_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected_warnings", default=None)

#: The file, the line and the globals of the code that wanted the calls of this context, in another thread.
_CALLER: ContextVar[tuple[str, int, dict[str, Any]] | None] = ContextVar("caller", default=None)


class UnknownAction(UserWarning):
    """A task was added for an action that the worker does not have; it will fail, unless one is deployed."""


class DoubtfulPayload(UserWarning):
    """A payload does not fit its action's schema: the task fails, unless the type converts it."""


def warn_user(error: InvalidTask, category: type[UserWarning]) -> None:
    """Warn in the words of this error, at the line of the user's code that called duebell."""
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(str(error))
    if caller := _CALLER.get():
        file, line, names = caller
        seen = names.setdefault("__warningregistry__", {})
        warnings.warn_explicit(str(error), category, file, line, names.get("__name__"), seen)
        return
    level, frame = 1, sys._getframe()  # noqa: SLF001 (documented; `inspect` reads source files)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_OWN):
        level, frame = level + 1, frame.f_back
    warnings.warn(str(error), category, stacklevel=level)


def place_warnings_in(caller: FrameType) -> None:
    """Place the warnings of this context at this frame's line, for calls that are made in another thread."""
    _CALLER.set((caller.f_code.co_filename, caller.f_lineno, caller.f_globals))


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the texts of the warnings given inside, in this context only."""
    texts: list[str] = []
    token = _COLLECTED.set(texts)
    try:
        yield texts
    finally:
        _COLLECTED.reset(token)
