"""The result of a task in the queue as Django has it: status, times and errors; and its priority.

Django's priorities are -100 to 100, duebell's 0 to 9; both start the highest first.
https://docs.djangoproject.com/en/6.0/ref/tasks/
"""

import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

import msgspec
from django.conf import settings
from django.utils import timezone

from duebell_shared.tasks.checks import MAX_PRIORITY
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task as StoredTask

from .framework import Task, TaskError, TaskResult, TaskResultStatus

#: Django's name of each status. A task that was cancelled or expired will not run.
_STATUSES = {
    Status.RESERVED: TaskResultStatus.READY,
    Status.SCHEDULED: TaskResultStatus.READY,
    Status.PAUSED: TaskResultStatus.READY,
    Status.BLOCKED: TaskResultStatus.READY,
    Status.RUNNING: TaskResultStatus.RUNNING,
    Status.DONE: TaskResultStatus.SUCCESSFUL,
    Status.FAILED: TaskResultStatus.FAILED,
    Status.CANCELLED: TaskResultStatus.FAILED,
    Status.EXPIRED: TaskResultStatus.FAILED,
}

_NONE_OF_THESE = "duebell.contrib.django.AttemptFailed"

#: Django's highest priority.
_MOST = 100

#: Stands for a run whose id is not kept: only the last run's id is.
_UNKNOWN_RUN = "unknown"


class AttemptFailed(Exception):
    """The class of errors in a result that duebell found itself, or whose own class is not known any more.

    It stands for a worker that died, a cancelled task, and attempts before the last one. The error's
    `traceback` says what happened.
    """


class Call(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The payload of a Django task: the arguments of its function, where it was enqueued, its priority."""

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    queue_name: str = "default"
    backend: str = "default"
    priority: int = 0


class NotKept(msgspec.Struct, frozen=True):
    """Stands for a return value that is not kept."""

    reason: str = "let register_tasks(…, keep_results=True) keep it, or let the task store it, in a model"


@dataclass(frozen=True, slots=True, kw_only=True)
class DuebellResult(TaskResult):
    """The result of a task on duebell, with its return value if `register_tasks` was told to keep that."""

    @property
    def return_value(self) -> Any:
        """The result of the task function, as JSON's own types. Raises ValueError if that was not kept.

        Django raises it too for a task that has not finished or has failed.
        """
        value = TaskResult.return_value.fget(self)
        if isinstance(value, NotKept):
            raise ValueError(f"the return value was not kept: {value.reason}")  # noqa: TRY004
        return value


def result_of(stored: StoredTask, task: Task, *, backend: str) -> DuebellResult:
    """The result of the stored task: of `task`, with the arguments and priority that it was enqueued with.

    backend  the alias to use if the stored task names none
    """
    call = _call_of(stored, {"backend": backend, "queue_name": task.queue_name})
    changes: dict[str, Any] = {name: getattr(call, name) for name in ("queue_name", "backend", "priority")}
    if stored.due > stored.created_at:
        changes["run_after"] = _in_djangos_zone(stored.due)
    changes = {name: value for name, value in changes.items() if getattr(task, name) != value}
    first = next((one for one in stored.failures if one.attempt == 1 and one.due == stored.due), None)
    result = DuebellResult(
        task=task.using(**changes) if changes else task,
        id=stored.id,
        status=_STATUSES[stored.status],
        enqueued_at=_in_djangos_zone(stored.created_at),
        started_at=_in_djangos_zone(first.at if first else stored.started_at),
        last_attempted_at=_in_djangos_zone(stored.started_at),
        finished_at=_in_djangos_zone(stored.finished_at),
        args=call.args,
        kwargs=call.kwargs,
        backend=call.backend,
        errors=[*_errors_of(stored)],
        worker_ids=_runs_of(stored),
    )
    value = stored.result
    if stored.result_json is None:
        value = NotKept(stored.result_error) if stored.result_error else NotKept()
    object.__setattr__(result, "_return_value", value)  # as Django's own backends do
    return result


def _call_of(stored: StoredTask, default: Mapping[str, Any]) -> Call:
    """The call in the payload; a call without arguments if the payload was dropped, or is no call."""
    try:
        return msgspec.convert({**default, **stored.payload}, Call)
    except (TypeError, msgspec.ValidationError):
        return Call(**default)


def _in_djangos_zone(moment: datetime | None) -> datetime | None:
    """As `django.utils.timezone.now` gives it: aware if the project uses time zones, or naive."""
    if moment is None or settings.USE_TZ:
        return moment
    return timezone.make_naive(moment)  # type: ignore[no-any-return]


def _runs_of(stored: StoredTask) -> list[str]:
    """The id of the run for each attempt, the last at the end."""
    if not stored.attempt:
        return []
    return [*[_UNKNOWN_RUN] * (stored.attempt - 1), stored.run or _UNKNOWN_RUN]


def _errors_of(stored: StoredTask) -> Iterator[TaskError]:
    """The errors of its failed attempts, the latest at the end; and why it will not run, if it will not."""
    for one in stored.failures[: -1 if stored.failure else None]:
        yield TaskError(exception_class_path=_NONE_OF_THESE, traceback=one.error or "")
    if failure := stored.failure:
        yield TaskError(exception_class_path=_path_of(failure), traceback=failure.traceback or str(failure))
    if stored.status in {Status.CANCELLED, Status.EXPIRED}:
        text = f"the task was {stored.status.value}, and will not run"
        yield TaskError(exception_class_path=_NONE_OF_THESE, traceback=text)


def _path_of(failure: Failure) -> str:
    """The path that the error's class is imported by; that of AttemptFailed if it is not known."""
    if failure.module:
        return f"{failure.module}.{failure.type}"
    return f"builtins.{failure.type}" if hasattr(builtins, failure.type) else _NONE_OF_THESE


def stored_priority(priority: int) -> int:
    """Returns duebell's priority for one of Django's; 0 for 0 and below."""
    return max(0, ceil(priority * MAX_PRIORITY / _MOST))
