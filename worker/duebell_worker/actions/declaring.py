"""Recurring tasks that are declared in code, checked when the code is imported."""

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Unpack

import msgspec

from duebell_shared.errors import InvalidSchedule, InvalidTask
from duebell_shared.quoting import quoted
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.tasks.checks import check_name
from duebell_shared.tasks.fields import STORED, DeclaredFields, checked
from duebell_shared.tasks.follow_up import check_id, no_result_of
from duebell_shared.tasks.worker_record import DeclaredTask

from .action import Action

#: Bytes of all declared tasks of a worker: they stand in one item of the table, beside its description.
_MOST_BYTES = 200 * 1024

#: Schedules are checked as of then, so that one which has come to its end can still be read.
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def declared_task(
    action: Action[..., Any], *, id: str | None, schedule: str, **given: Unpack[DeclaredFields]
) -> DeclaredTask:
    """A recurring task of this action. Raises InvalidTask, InvalidSchedule for what no task can have.

    The error names the action, and the place of its function: the traceback ends in duebell's own code.
    A schedule that has come to its end is allowed: code that declares it must still start.
    """
    if unknown := given.keys() - DeclaredFields.__annotations__.keys():
        raise TypeError(f"{quoted(min(unknown))} is no argument of @worker.recurring")
    try:
        meant = make_schedule(
            schedule,
            timezone=given.get("timezone"),
            calendar=given.get("calendar"),
            holidays=checked("holidays", given.get("holidays")),
            now=_LONG_AGO,
        )
        if meant.expression.startswith("at("):
            raise InvalidSchedule("schedule", f"{quoted(schedule)} comes once: declare one that recurs")
        given["payload"] = action.checked(given.get("payload"))
        task = DeclaredTask(
            id=action.name if id is None else check_name("id", id),
            action=action.name,
            schedule=meant.expression,
            **{
                STORED.get(name, name): checked(name, value)
                for name, value in given.items()
                if value is not None
            },
        )
        if task.on_failed or task.then:
            check_id(task.id)
        if task.then and task.then.result_as and not action.keep_result:
            raise no_result_of(action.name)
    except InvalidTask as error:
        at = f"in @worker.recurring of the action {quoted(action.name)}, {_place_of(action.function)}"
        raise type(error)(error.field, f"{error.reason} ({at})") from None
    return task


def _place_of(function: Callable[..., Any]) -> str:
    """The file and the line of a function's first decorator; of one without source, its own text."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else quoted(function)


def declare_among(declared: dict[str, DeclaredTask], task: DeclaredTask) -> None:
    """Add this task to those that a worker declares. Raises ValueError if its id is taken, or for no room."""
    if task.id in declared:
        raise ValueError(f"a recurring task {quoted(task.id)} is declared twice: give each an id of its own")
    size = len(msgspec.json.encode([*declared.values(), task]))
    if size > _MOST_BYTES:
        raise ValueError(
            f"the declared recurring tasks take {size:,} bytes, at most {_MOST_BYTES:,} are allowed: keep "
            f"their data elsewhere, in S3 for example, and put its key into the payload"
        )
    declared[task.id] = task
