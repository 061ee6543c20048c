"""One log line for each change that an editor makes: event `changed`, logger `duebell.editor`, level INFO."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from duebell_shared.log_lines import log_event
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

_LOG = logging.getLogger("duebell.editor")

_T = TypeVar("_T")


def added_as(task: Task) -> str:
    """The verb of a new task for its log line."""
    return "reserve" if task.status is Status.RESERVED else "add"


def log_change(what: str, before: Task | None, after: Task) -> None:
    """Log a stored change, with its author; `what` is its verb, and `before` None for a new task."""
    log_event(
        _LOG,
        "changed",
        id=after.id,
        what=what,
        from_status=before and before.status,
        from_rev=before and before.rev,
        to_status=after.status,
        to_rev=after.rev,
        changed_by=after.changed_by,
    )


def logged(what: str, insert: Callable[[Sequence[Task]], list[_T]]) -> Callable[[Sequence[Task]], list[_T]]:
    """Wrap `insert`, so that each task it stores is logged."""

    def insert_and_log(tasks: Sequence[Task]) -> list[_T]:
        inserted = insert(tasks)
        for task, result in zip(tasks, inserted, strict=True):
            if result is True:
                log_change(what, None, task)
        return inserted

    return insert_and_log
