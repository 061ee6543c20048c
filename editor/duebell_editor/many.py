"""Adding many tasks at once: all checked first, then written in batches side by side, then armed once."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import msgspec

from duebell_shared.add_report import AddFailure, AddReport
from duebell_shared.errors import DuebellError, InvalidTask
from duebell_shared.item_size import check_size
from duebell_shared.new_task import new_task
from duebell_shared.quoting import quoted, shortened
from duebell_shared.recurrence import Missed
from duebell_shared.store import AT_ONCE, Failed, Inserted, Taken
from duebell_shared.task import Task

from .recurring import Recurring, new_recurrence

__all__ = ["NewTask", "check_all", "task_from", "write_all"]

#: Batches under way at a time; the connection pool holds more.
_THREADS = 16

#: As many bytes of payloads go into a batch, so that it is sent well within the time that a call may take.
_BATCH_BYTES = 1_000_000


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


def task_from(given: NewTask, now: datetime) -> Task:
    """The task that is asked for, in lane 0 until it is placed. Raises InvalidTask."""
    task = new_task(
        id=str(uuid.uuid4()) if given.id is None else given.id,
        action=given.action,
        due=given.due,
        payload=given.payload,
        now=now,
        recurrence=new_recurrence(given.recurring, now),
        spread=given.spread,
        expires_after=given.expires_after,
    )
    return check_size(task)


def check_all(tasks: Iterable[NewTask | Mapping[str, Any]], make: Callable[[NewTask], Task]) -> list[Task]:
    """All the tasks as they are to be written. Raises InvalidTask, naming the first bad one."""
    checked: list[Task] = []
    places: dict[str, int] = {}
    bad: list[InvalidTask] = []
    if isinstance(tasks, str | bytes | Mapping) or not isinstance(tasks, Iterable):
        raise InvalidTask("tasks", f"must be tasks, in a list for example, not {type(tasks).__name__}")
    for index, given in enumerate(tasks):
        try:
            task = make(given if isinstance(given, NewTask) else _from_mapping(given))
        except InvalidTask as error:
            bad.append(type(error)(f"tasks[{index}].{error.field}", error.reason))
            continue
        if (place := places.setdefault(task.id, index)) != index:
            bad.append(
                InvalidTask(f"tasks[{index}].id", f"{quoted(task.id)} is the id of tasks[{place}] too")
            )
        checked.append(task)
    if bad:
        others = f" (and {len(bad) - 1:,} more of these tasks cannot be right)" if bad[1:] else ""
        raise type(bad[0])(bad[0].field, f"{bad[0].reason}{others}; nothing was added")
    return checked


def write_all(
    tasks: list[Task],
    insert: Callable[[Sequence[Task]], list[Inserted | Taken | Failed]],
    settle: Callable[[Sequence[Task]], Sequence[Task | DuebellError]],
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[list[Task], AddReport]:
    """Write each task, in batches side by side; the tasks stored, in order, and the report.

    `settle` is asked for what becomes of tasks whose ids are taken.
    """

    def write(batch: list[Task]) -> list[tuple[Task | DuebellError, bool]]:
        """What is stored of each, or the error; and whether its id was taken."""
        results = list(zip(batch, insert(batch), strict=True))
        settled = iter(settle([task for task, result in results if isinstance(result, Taken)]))
        return [
            (next(settled), True)
            if isinstance(result, Taken)
            else (result.error if isinstance(result, Failed) else task, False)
            for task, result in results
        ]

    stored: list[Task] = []
    failures: list[AddFailure] = []
    there_already: list[str] = []
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="duebell-add") as pool:
        results = (result for batch in pool.map(write, _batches(tasks)) for result in batch)
        for index, (result, was_taken) in enumerate(results):
            if not isinstance(result, Task):
                failures.append(AddFailure(index=index, id=tasks[index].id, error=result))
            else:
                stored.append(result)
                there_already += [result.id] if was_taken else []
            progress(index + 1)
    added = tuple(task.id for task in stored)
    return stored, AddReport(added=added, failures=tuple(failures), there_already=tuple(there_already))


def _batches(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    """The tasks in their order, as many at a time as can be inserted at once; no id twice in a batch."""
    batch: list[Task] = []
    ids: set[str] = set()
    size = 0
    for task in tasks:
        size += len(task.payload_json)
        if len(batch) == AT_ONCE or task.id in ids or (batch and size > _BATCH_BYTES):
            yield batch
            batch, ids, size = [], set(), len(task.payload_json)
        batch.append(task)
        ids.add(task.id)
    if batch:
        yield batch


def _from_mapping(given: object) -> NewTask:
    if not isinstance(given, Mapping):
        raise InvalidTask("task", f"must be a NewTask or a mapping, not {type(given).__name__}")
    if unknown := [name for name in given if name not in NewTask.__struct_fields__]:
        known = ", ".join(NewTask.__struct_fields__)
        raise InvalidTask(shortened(unknown[0]), f"is not a field of a task; the fields are {known}")
    if "action" not in given:
        raise InvalidTask("action", "is missing")
    return NewTask(**given)
