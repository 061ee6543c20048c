"""Adding many tasks at once: check all of them first, then write them in parallel batches."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from duebell_shared.errors import AddFailure, AddReport, DuebellError, InvalidTask
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import NewTask, fields_of
from duebell_shared.tasks.task import Task

__all__ = ["check_all", "write_all"]

#: Batches written in parallel; the connection pool holds more.
_THREADS = 16

#: Bytes of payloads in a batch, so that it is sent well within a call's timeout.
_BATCH_BYTES = 1_000_000


def check_all(tasks: Iterable[NewTask | Mapping[str, Any]], make: Callable[[NewTask], Task]) -> list[Task]:
    """All the tasks, each made by `make`. Raises InvalidTask, naming the first bad one."""
    checked: list[Task] = []
    places: dict[str, int] = {}
    bad: list[InvalidTask] = []
    if isinstance(tasks, str | bytes | Mapping) or not isinstance(tasks, Iterable):
        raise InvalidTask("tasks", f"must be tasks, in a list for example, not {type(tasks).__name__}")
    for index, given in enumerate(tasks):
        try:
            task = make(fields_of(NewTask, given))
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
        first = type(bad[0])(bad[0].field, f"{bad[0].reason}{others}; nothing was added")
        first.every = tuple(bad)
        raise first
    return checked


def write_all(
    tasks: list[Task],
    insert: Callable[[Sequence[Task]], list[bool | DuebellError]],
    settle: Callable[[Sequence[Task]], Sequence[Task | DuebellError]],
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[list[Task], AddReport]:
    """Write the tasks in parallel batches. Returns the stored tasks, in order, and the report.

    `settle` resolves tasks whose ids are taken: it returns the task stored in the end, or the error.
    """

    def write(batch: list[Task]) -> list[tuple[Task | DuebellError, bool]]:
        """The stored task or the error, and whether the id was taken, for each task."""
        results = list(zip(batch, insert(batch), strict=True))
        settled = iter(settle([task for task, result in results if result is False]))
        return [
            (next(settled), True)
            if result is False
            else (result if isinstance(result, DuebellError) else task, False)
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
    """The tasks in order, in batches that can be inserted at once; no id is twice in a batch."""
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
