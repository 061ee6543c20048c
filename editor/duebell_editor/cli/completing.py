"""What the shell offers on Tab. Bounded, and silent whatever happens: nobody asked for an error."""

import contextlib
import threading
from collections.abc import Callable, Iterable
from typing import Any

import typer

from duebell_shared.task import Status, Task
from duebell_shared.zones import zone_names

from ..editor import Editor
from ..filtering import make_filter
from ..listing import list_tasks
from . import at
from .account import choose_account

__all__ = ["actions", "ids", "profiles", "zones"]

#: Seconds that someone who pressed Tab may wait.
_PATIENCE = 1.5

#: Tasks that are looked at; one page.
_TASKS = 100

#: Statuses outside of the queue that a command is for.
_FOR = {"resume": {Status.PAUSED}, "retry": {Status.FAILED, Status.EXPIRED}}


def ids(context: typer.Context, incomplete: str) -> list[str]:
    """Ids that begin so, of tasks that the command can be for."""
    statuses = _FOR.get(context.info_name or "")

    def find(editor: Editor) -> Iterable[str]:
        return [task.id for task in _page(editor, incomplete, statuses)]

    return _of_the_queue(context, incomplete, find)


def actions(context: typer.Context, incomplete: str) -> list[str]:
    """Actions of the tasks that come next."""
    return _of_the_queue(context, incomplete, lambda editor: [task.action for task in _page(editor, "")])


def zones(incomplete: str) -> list[str]:
    """The time zones that schedules know."""
    return sorted(zone for zone in zone_names() if zone.startswith(incomplete))


def profiles(incomplete: str) -> list[str]:
    """The profiles in the AWS SDK's files."""
    import boto3  # noqa: PLC0415 (slow, and for this only)

    found: list[str] = []
    with contextlib.suppress(Exception):
        found = [name for name in boto3.Session().available_profiles if name.startswith(incomplete)]
    return found


def _page(editor: Editor, prefix: str, statuses: Iterable[Status] | None = None) -> tuple[Task, ...]:
    which = make_filter(status=statuses, prefix=prefix, limit=_TASKS)
    return list_tasks(editor.queue, which, most_keys=_TASKS * 10).tasks


def _of_the_queue(
    context: typer.Context, incomplete: str, find: Callable[[Editor], Iterable[str]]
) -> list[str]:
    """What is found in time. Who is slow is left behind: the process ends and takes the thread with it."""
    found: list[str] = []

    def look() -> None:
        with contextlib.suppress(Exception):
            choose_account(**_account(context))
            found.extend(sorted({one for one in find(at.editor()) if one.startswith(incomplete)}))

    thread = threading.Thread(target=look, name="completion", daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    return list(found)


def _account(context: typer.Context) -> dict[str, Any]:
    """Where AWS is, as the options say that stand before the command or after it."""
    names = ("profile", "region", "endpoint_url")
    before = context.parent.params if context.parent else {}
    return {name: context.params.get(name) or before.get(name) for name in names}
