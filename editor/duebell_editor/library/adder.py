"""Adding many tasks: set the lanes, insert in parallel batches, resolve ids that are taken, arm the rule."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from duebell_shared.backend import Backend
from duebell_shared.errors import (
    AddFailure,
    AddReport,
    DuebellError,
    InvalidInput,
    InvalidTask,
    NotArmed,
)
from duebell_shared.instants import NEVER
from duebell_shared.parallel import in_this_context
from duebell_shared.queue.places import lane_of
from duebell_shared.queue.store import AT_ONCE, drop_stray_copy
from duebell_shared.queue.task_queue import (
    TAKEN,
    Policy,
    Queue,
    RuleSetter,
    insert_many,
    settle_all,
)
from duebell_shared.quoting import in_brief, quoted
from duebell_shared.tasks.fields import IfExists, NewTask, fields_of
from duebell_shared.tasks.task import QueueKey, Task

from .export import ImportReport, read_chunks

#: Batches written in parallel; the connection pool holds more.
_THREADS = 16

#: Bytes of payloads in a batch, so that it is sent well within a call's timeout.
_BATCH_BYTES = 1_000_000


class Adder:
    """Stores tasks that are already checked, and arms the rule for them."""

    def __init__(self, backend: Backend, queue: Queue, rule: RuleSetter) -> None:
        self._parallel = backend.parallel
        self._calendar = backend.calendar
        self._queue = queue
        self._rule = rule

    def add_many(
        self,
        checked: Sequence[Task],
        chosen: Collection[str],
        policy: Policy,
        *,
        importer: str | UnsetType | None = UNSET,
    ) -> AddReport:
        """Insert these tasks in parallel batches, and arm once.

        An import keeps tasks that have these ids already, without reading them.

        chosen    the ids that were given, not generated
        importer  the author of an import; unset for other adds
        """
        is_import = importer is not UNSET
        lanes = self._queue.lanes if checked else 0
        new = [msgspec.structs.replace(task, lane=lane_of(task.id, lanes)) for task in checked]
        noted = self._queue.audit.logged
        stored, report = _write_batches(
            new,
            noted(
                "import" if is_import else "add",
                lambda tasks: insert_many(self._queue, tasks, chosen),
                importer,
            ),
            list if is_import else partial(settle_all, self._queue, policy=policy),
        )
        index = {task.id: index for index, task in enumerate(new)}
        left = frozenset(report.there_already if is_import else ())
        added = [task for task in stored if task is new[index[task.id]] and task.id not in left]
        is_added = {id(task) for task in added}
        refused = [failure.id for failure in report.failures if isinstance(failure.error, TAKEN)]
        try:
            again = self._add_again(self._rule.arm_added(added, lanes), policy)
            failures = tuple(AddFailure(index=0, id=id, error=error) for id, error in again.items())
            report = report.with_other(AddReport(added=(), failures=failures), index)
            self._rule.arm([task for task in stored if id(task) not in is_added])
            self._rule.arm_ids(refused)
        except NotArmed as error:
            error.report = report
            raise
        return report

    def drop_stray_copies(self, id: str) -> None:
        """Delete stray copies of a batch. A copy is never run, so no run would delete it."""
        for lane in self._queue.places_before(id):
            key = QueueKey(queued=NEVER, id=id, lane=lane)
            drop_stray_copy(self._queue.store, key, self._queue.lanes, self._queue.clock())

    def import_lines(self, lines: Iterable[bytes | str], by: str | None) -> ImportReport:
        """Insert the tasks of an export in chunks, and arm after each chunk."""
        stored = there = 0
        failures: list[AddFailure] = []
        for chunk in read_chunks(lines, self._calendar):
            ids = {task.id for task in chunk}
            part = self.add_many(chunk, ids, Policy(IfExists.KEEP), importer=by)
            stored += len(part.added)
            there += len(part.there_already)  # of two tasks with one id, the second counts as there
            failures += part.failures
        return ImportReport(written=stored - there, there=there, failures=tuple(failures))

    def _add_again(self, tasks: Sequence[Task], policy: Policy) -> dict[str, DuebellError]:
        """Add tasks again whose ids are taken. Returns the errors by id. Raises NotArmed."""
        added = self._parallel(lambda task: self._rule.add(task, policy, is_again=True), tasks)
        failed = {
            task.id: error
            for task, error in zip(tasks, added, strict=True)
            if isinstance(error, DuebellError)
        }
        for error in failed.values():
            if isinstance(error, NotArmed):
                raise error
        return failed


#: The place of a task that `add_many` was given, in the field of its error.
_PLACE = re.compile(r"tasks\[(\d+)\]\.(.*)", re.DOTALL)


def errors_by_place(error: InvalidInput) -> dict[int, InvalidTask]:
    """The errors of the tasks that `add_many` refused with this error, by their places."""
    found = {}
    for one in error.every:
        if named := _PLACE.fullmatch(one.field):
            found[int(named[1])] = InvalidTask(named[2], one.reason)
    if not found:
        raise TypeError(f"names no task: {in_brief(error)}")
    return found


def check_several(name: str, tasks: object) -> Iterable[Any]:
    """The tasks, if they are an iterable of tasks. Raises InvalidTask of the field `name`."""
    if isinstance(tasks, str | bytes | Mapping) or not isinstance(tasks, Iterable):
        raise InvalidTask(name, f"must be tasks, in a list for example, not {type(tasks).__name__}")
    return tasks


def check_all(
    tasks: Iterable[NewTask | Mapping[str, Any]],
    make: Callable[[NewTask], Task],
    *,
    name: str = "tasks",
    outcome: str = "; nothing was added",
) -> list[Task]:
    """All the tasks of the field `name`, each made by `make`.

    Raises InvalidTask for the first bad one; `outcome` is the end of the message.
    """
    checked: list[Task] = []
    places: dict[str, int] = {}
    bad: list[InvalidTask] = []
    for index, given in enumerate(check_several(name, tasks)):
        try:
            task = make(fields_of(NewTask, given))
        except InvalidTask as error:
            bad.append(type(error)(f"{name}[{index}].{error.field}", error.reason))
            continue
        if (place := places.setdefault(task.id, index)) != index:
            bad.append(
                InvalidTask(f"{name}[{index}].id", f"{quoted(task.id)} is the id of {name}[{place}] too")
            )
        checked.append(task)
    if bad:
        others = f" (and {len(bad) - 1:,} more of these tasks cannot be right)" if bad[1:] else ""
        first = type(bad[0])(bad[0].field, f"{bad[0].reason}{others}{outcome}")
        first.every = tuple(bad)
        raise first
    return checked


def _write_batches(
    tasks: Sequence[Task],
    insert: Callable[[Sequence[Task]], list[bool | DuebellError]],
    settle: Callable[[Sequence[Task]], Sequence[Task | DuebellError]],
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
        results = (result for batch in pool.map(in_this_context(write), _batches(tasks)) for result in batch)
        for index, (result, was_taken) in enumerate(results):
            if not isinstance(result, Task):
                failures.append(AddFailure(index=index, id=tasks[index].id, error=result))
            else:
                stored.append(result)
                there_already += [result.id] if was_taken else []
    added = tuple(task.id for task in stored)
    return stored, AddReport(added=added, failures=tuple(failures), there_already=tuple(there_already))


def _batches(tasks: Iterable[Task]) -> Iterator[list[Task]]:
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
