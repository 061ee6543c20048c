"""Completions that the shell offers on Tab: bounded in time, and silent about errors."""

import contextlib
import threading
from collections.abc import Callable, Iterable

import boto3
import typer

from duebell_editor import Editor, Status, Task, Verb
from duebell_editor.library.change_many import statuses_for
from duebell_shared.schedules.zones import zone_names
from duebell_shared.settings import LOCAL

from .context import Context
from .places import known_places

__all__ = ["actions", "ids", "names", "profiles", "zones"]

#: Seconds that someone who pressed Tab may wait.
_PATIENCE = 1.5

#: Tasks that are read: one page.
_TASKS = 100


def ids(call: typer.Context, incomplete: str) -> list[str]:
    """Ids with this beginning, of tasks that the command applies to."""
    statuses = {verb.replace("_", "-"): statuses_for(verb) for verb in Verb}.get(call.info_name or "")
    return _from_the_queue(
        call, incomplete, lambda editor: [task.id for task in _page(editor, incomplete, statuses)]
    )


def actions(call: typer.Context, incomplete: str) -> list[str]:
    """Actions of the tasks that come next."""
    return _from_the_queue(call, incomplete, lambda editor: [task.action for task in _page(editor, "")])


def zones(incomplete: str) -> list[str]:
    """The time zones that schedules know."""
    return sorted(zone for zone in zone_names() if zone.startswith(incomplete))


def profiles(incomplete: str) -> list[str]:
    """The profiles in the AWS SDK's files."""
    with contextlib.suppress(Exception):
        return [name for name in boto3.Session().available_profiles if name.startswith(incomplete)]
    return []


def names(incomplete: str) -> list[str]:
    """The schedulers that were used from this machine, and `local`."""
    return [name for name in (LOCAL, *sorted(known_places())) if name.startswith(incomplete)]


def _page(editor: Editor, prefix: str, statuses: frozenset[Status] | None = None) -> tuple[Task, ...]:
    return editor.list(status=statuses, prefix=prefix, limit=_TASKS, most_keys=_TASKS * 10).tasks


def _from_the_queue(
    call: typer.Context, incomplete: str, find: Callable[[Editor], Iterable[str]]
) -> list[str]:
    """The completions that are found in time. A slow thread is abandoned: it ends with the process."""
    found: list[str] = []

    def look() -> None:
        with contextlib.suppress(Exception):
            editor = Context.of(call).editor()
            found.extend(sorted({one for one in find(editor) if one.startswith(incomplete)}))

    thread = threading.Thread(target=look, name="completion", daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    return list(found)
