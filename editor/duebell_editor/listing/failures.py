"""Failed tasks in groups, by action and type of error. Many failures often have one cause."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from duebell_shared.instants import Instant
from duebell_shared.queue.task_queue import Queue
from duebell_shared.tasks.history import shortened_error
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

from .filters import FAILING, make_filter
from .listing import list_tasks

#: The number of tasks to read, the latest first. This takes about fifteen calls.
MOST_READ = 500


class FailureGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of one action that failed with one type of error.

    action    the name of the action
    error     the type of the error; None if it is not known
    message   the message of the latest failure, on one line
    failed    the number of failed tasks: `retry` runs them again
    failing   the ids of recurring tasks whose last occurrence failed: `run_now` runs them once more
    first_at  when the first of them failed
    last_at   when the last of them failed
    """

    action: str
    error: str | None
    message: str
    failed: int
    failing: tuple[str, ...]
    first_at: Instant
    last_at: Instant


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """The groups, the largest first; `is_all` is false when more tasks failed than were read."""

    groups: tuple[FailureGroup, ...]
    is_all: bool


def read_failures(queue: Queue) -> Failures:
    """Read the latest failed tasks, and the recurring ones that fail, and group them."""
    which = make_filter(status=[Status.FAILED, FAILING], latest_first=True, limit=MOST_READ)
    page = list_tasks(queue, which)
    by_kind: defaultdict[tuple[str, str | None], list[Task]] = defaultdict(list)
    for task in page.tasks:
        if task.failure is None and task.status is Status.SCHEDULED:
            continue  # it is retried already
        by_kind[task.action, task.failure.type if task.failure else None].append(task)
    groups = (_group(action, error, tasks) for (action, error), tasks in by_kind.items())
    in_order = sorted(groups, key=lambda one: (one.failed + len(one.failing), one.last_at), reverse=True)
    return Failures(groups=tuple(in_order), is_all=page.cursor is None)


def _group(action: str, error: str | None, tasks: Sequence[Task]) -> FailureGroup:
    in_order = sorted(tasks, key=_failed_at)
    latest = in_order[-1]
    return FailureGroup(
        action=action,
        error=error,
        message=shortened_error(" ".join(latest.failure.message.split())) if latest.failure else "",
        failed=sum(task.status is Status.FAILED for task in tasks),
        failing=tuple(task.id for task in tasks if task.status is not Status.FAILED),
        first_at=_failed_at(in_order[0]),
        last_at=_failed_at(latest),
    )


def _failed_at(task: Task) -> Instant:
    return task.finished_at or (task.last.finished_at if task.last else task.due)
