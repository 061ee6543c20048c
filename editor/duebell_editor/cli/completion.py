"""Completions that the shell offers on Tab: bounded in time, and silent about errors, as nobody asked."""

import contextlib
import threading
from collections.abc import Callable, Iterable

import boto3
import typer

from duebell_editor import Editor, Status, Task, Verb
from duebell_shared.zones import zone_names

from ..filtering import QUEUED
from .context import Context

__all__ = ["actions", "ids", "profiles", "zones"]

#: Seconds that someone who pressed Tab may wait.
_PATIENCE = 1.5

#: Tasks that are looked at; one page.
_TASKS = 100


def ids(call: typer.Context, incomplete: str) -> list[str]:
    """Ids that begin so, of tasks that the command can be for."""
    names = {verb.replace("_", "-"): verb.rule.statuses for verb in Verb}
    statuses = names.get(call.info_name or "", frozenset())

    def find(editor: Editor) -> Iterable[str]:
        return [task.id for task in _page(editor, incomplete, statuses & QUEUED or statuses)]

    return _of_the_queue(call, incomplete, find)


def actions(call: typer.Context, incomplete: str) -> list[str]:
    """Actions of the tasks that come next."""
    return _of_the_queue(call, incomplete, lambda editor: [task.action for task in _page(editor, "")])


def zones(incomplete: str) -> list[str]:
    """The time zones that schedules know."""
    return sorted(zone for zone in zone_names() if zone.startswith(incomplete))


def profiles(incomplete: str) -> list[str]:
    """The profiles in the AWS SDK's files."""
    with contextlib.suppress(Exception):
        return [name for name in boto3.Session().available_profiles if name.startswith(incomplete)]
    return []


def _page(editor: Editor, prefix: str, statuses: frozenset[Status] | None = None) -> tuple[Task, ...]:
    return editor.list(status=statuses or None, prefix=prefix, limit=_TASKS, most_keys=_TASKS * 10).tasks


def _of_the_queue(call: typer.Context, incomplete: str, find: Callable[[Editor], Iterable[str]]) -> list[str]:
    """What is found in time. A slow thread is left behind: the process ends and takes it along."""
    found: list[str] = []

    def look() -> None:
        with contextlib.suppress(Exception):
            editor = Context.of(call).editor()
            found.extend(sorted({one for one in find(editor) if one.startswith(incomplete)}))

    thread = threading.Thread(target=look, name="completion", daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    return list(found)
