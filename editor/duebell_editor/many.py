"""Adding many tasks at once: all checked before any is written, written side by side, armed once."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import msgspec

from duebell_shared.errors import DuebellError, InvalidTask
from duebell_shared.recurrence import Missed
from duebell_shared.task import Task

from .recurring import Recurring

__all__ = ["AddFailure", "AddReport", "NewTask", "check_all", "write_all"]

#: Writes under way at a time; the connection pool holds more.
_THREADS = 16


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task to add, for `Editor.add_many`; the fields are the arguments of `Editor.add`."""

    action: str
    due: datetime | timedelta | None = None
    schedule: str | None = None
    timezone: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    missed: Missed | str | None = None
    max_runs: int | None = None
    spread: timedelta | None = None
    expires_after: timedelta | None = None
    payload: object = None
    id: str | None = None

    @property
    def recurring(self) -> Recurring:
        """What it says of when and how it recurs."""
        return Recurring(**{field: getattr(self, field) for field in Recurring.__struct_fields__})


class AddFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One task of many that was not added: its place in the input, its id, and why."""

    index: int
    id: str
    error: DuebellError


class AddReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `Editor.add_many` did: the ids of the tasks that are stored, in the order given; the failures."""

    added: tuple[str, ...]
    failures: tuple[AddFailure, ...] = ()


def check_all(tasks: Iterable[NewTask | Mapping[str, Any]], make: Callable[[NewTask], Task]) -> list[Task]:
    """All the tasks as they are to be written. Raises InvalidTask, naming the first bad one."""
    checked: list[Task] = []
    places: dict[str, int] = {}
    bad: list[InvalidTask] = []
    for index, given in enumerate(tasks):
        try:
            task = make(given if isinstance(given, NewTask) else _from_mapping(given))
        except InvalidTask as error:
            bad.append(type(error)(f"tasks[{index}].{error.field}", error.reason))
            continue
        if (place := places.setdefault(task.id, index)) != index:
            bad.append(InvalidTask(f"tasks[{index}].id", f"{task.id!r} is the id of tasks[{place}] too"))
        checked.append(task)
    if bad:
        others = f" (and {len(bad) - 1:,} more of these tasks cannot be right)" if bad[1:] else ""
        raise type(bad[0])(bad[0].field, f"{bad[0].reason}{others}; nothing was added")
    return checked


def write_all(
    tasks: list[Task], write: Callable[[Task], Task], progress: Callable[[int], None] = lambda _: None
) -> tuple[list[Task], tuple[AddFailure, ...]]:
    """Write each task, side by side; those stored, in order, and those that could not be."""

    def attempt(indexed: tuple[int, Task]) -> Task | AddFailure:
        index, task = indexed
        try:
            return write(task)
        except DuebellError as error:
            return AddFailure(index=index, id=task.id, error=error)

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="duebell-add") as pool:
        results = []
        for result in pool.map(attempt, enumerate(tasks)):
            results.append(result)
            progress(len(results))
    stored = [result for result in results if isinstance(result, Task)]
    return stored, tuple(result for result in results if isinstance(result, AddFailure))


def _from_mapping(given: object) -> NewTask:
    if not isinstance(given, Mapping):
        raise InvalidTask("task", f"must be a NewTask or a mapping, not {type(given).__name__}")
    if unknown := [str(name) for name in given if name not in NewTask.__struct_fields__]:
        known = ", ".join(NewTask.__struct_fields__)
        raise InvalidTask(unknown[0], f"is not a field of a task; the fields are {known}")
    if "action" not in given:
        raise InvalidTask("action", "is missing")
    return NewTask(**given)
