"""Fields of tasks as users give them: by name, or as JSON has them. `fields.py` says how each is read."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from duebell_shared.errors import InvalidTask
from duebell_shared.queue.item_size import check_size
from duebell_shared.quoting import shortened
from duebell_shared.tasks.fields import FIELDS, NewTask, TaskChange, names_of
from duebell_shared.tasks.given import read_instant, read_seconds
from duebell_shared.tasks.new_task import changed_task, new_task
from duebell_shared.tasks.task import Task

__all__ = ["apply_change", "fields_of", "fields_of_json", "task_of"]

_F = TypeVar("_F", NewTask, TaskChange)


def task_of(given: NewTask, now: datetime) -> Task:
    """The task to be stored, not placed in a lane yet. Raises InvalidTask, InvalidSchedule."""
    return check_size(new_task(**given, now=now))


def apply_change(task: Task, change: TaskChange, *, now: datetime) -> Task:
    """The task with the change, to be stored. Raises TaskConflict, InvalidTask, InvalidSchedule."""
    return check_size(changed_task(task, change, now=now))


def fields_of(kind: type[_F], given: object) -> _F:
    """The fields in a mapping. Raises InvalidTask for an unknown one, and for a new task without action."""
    if not isinstance(given, Mapping):
        raise InvalidTask("task", f"must be a NewTask or a mapping, not {type(given).__name__}")
    if unknown := [name for name in given if name not in kind.__annotations__]:
        raise InvalidTask(
            shortened(unknown[0]), f"is not a field of a task; the fields are {', '.join(names_of(kind))}"
        )
    if kind is NewTask and "action" not in given:
        raise InvalidTask("action", "is missing")
    return kind(**given)


def fields_of_json(
    kind: type[_F], given: object, *, instant: Callable[[str, object], datetime] = read_instant
) -> _F:
    """The fields of JSON values: times are ISO-8601 text, lengths of time are numbers of seconds.

    `in`, seconds from now, can be given instead of `due`. `instant` reads the times, where `read_instant` is
    too strict. Raises InvalidTask, naming the field.
    """
    given, delay = _without_in(given)
    values: Any = fields_of(kind, given)
    for name, value in values.items():
        read = FIELDS[name].kind.read
        if read and value is not None:
            values[name] = instant(name, value) if read is read_instant else read(name, value)
    if delay is not None:
        values["due"] = delay
    return kind(**values)


def _without_in(given: object) -> tuple[object, timedelta | None]:
    """The mapping without `in`, which null leaves out, and its value. Raises InvalidTask."""
    if not isinstance(given, Mapping) or "in" not in given:
        return given, None
    if given["in"] is None:
        return {name: value for name, value in given.items() if name != "in"}, None
    if given.get("due") is not None:
        raise InvalidTask("in", "goes without a due date")
    rest = {name: value for name, value in given.items() if name not in {"in", "due"}}
    return rest, read_seconds("in", given["in"])
