"""Adding tasks whose id is taken: fail, keep the stored task, replace it, or push it to a later due date."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Literal, NamedTuple

import msgspec

from duebell_editor.listing.queue import Queue
from duebell_shared.errors import DuebellError, TaskChanged, TaskConflict, TaskExists
from duebell_shared.queue.store import Failed, Inserted, Taken
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import IfExists
from duebell_shared.tasks.task import Status, Task

from .change_log import added_as, log_change
from .debounce import pushed

__all__ = [
    "TRIES",
    "Added",
    "IfExists",
    "insert_many",
    "is_same_add",
    "kept_changing",
    "leave_all",
    "settle",
    "settle_all",
]

#: Tries of a change to a task that others keep changing.
TRIES = 5


class Added(NamedTuple):
    """The outcome of adding a task.

    task     the task as it is stored
    outcome  added: it is new. The others have found the id taken. kept: the task that was there stays.
             replaced: it was replaced. pushed: it waits until the new due date, or was replaced
    """

    task: Task
    outcome: Literal["added", "kept", "replaced", "pushed"]


def insert_many(
    queue: Queue, tasks: Sequence[Task], chosen: Collection[str]
) -> list[Inserted | Taken | Failed]:
    """`Store.insert_many`, which also finds a chosen id taken in its lane by an earlier number of lanes.

    The earlier lanes are read first, because a relaner moves tasks from there to the lane inserted into here.
    """
    try:
        elsewhere = queue.placed_before(task.id for task in tasks if task.id in chosen)
    except DuebellError as error:
        return [Failed(error)] * len(tasks)
    free = [task for task in tasks if task.id not in elsewhere]
    inserted = iter(queue.store.insert_many(free) if free else ())
    return [Taken() if task.id in elsewhere else next(inserted) for task in tasks]


def is_same_add(there: Task, new: Task) -> bool:
    """Tell whether the stored task `there` comes from the same call as `new`."""
    return (there.created_at, there.action) == (new.created_at, new.action)


def settle(
    queue: Queue,
    task: Task,
    if_exists: IfExists,
    *,
    rev: int | None = None,
    at_most: timedelta | None = None,
) -> Added:
    """Apply the policy to a new task whose id is taken. Tells which task is stored in the end.

    A new reservation takes over the one that is there: the transaction of that one may have failed long ago,
    and can confirm it no more. `rev`: replace only a task with this rev. `at_most`: see `pushed`.
    Raises TaskExists, TaskChanged, TaskConflict.
    """
    takes_over = task.status is Status.RESERVED
    if if_exists is IfExists.FAIL and not takes_over:
        raise TaskExists(task.id)
    for _ in range(TRIES):
        there = queue.get(task.id, now=task.created_at)
        if there and takes_over and there.status is not Status.RESERVED:
            raise TaskExists(task.id)
        if there and if_exists is IfExists.KEEP:
            return Added(_kept(there), "kept")
        if there and rev is not None and there.rev != rev:
            raise TaskChanged(task.id, expected=rev, rev=there.rev)
        if there:
            there.check_owes_nothing("replace")
            replacement = msgspec.structs.replace(task, rev=there.rev + 1, lane=there.lane)
            if if_exists is IfExists.PUSH:
                replacement = pushed(there, replacement, at_most)
            if queue.store.save(there, replacement):
                log_change("reserve" if takes_over else if_exists.value, there, replacement)
                return Added(replacement, "pushed" if if_exists is IfExists.PUSH else "replaced")
        elif queue.store.insert(task):
            log_change(added_as(task), None, task)
            return Added(task, "added")
    raise kept_changing(task.id)


def settle_all(
    queue: Queue, tasks: Sequence[Task], if_exists: IfExists, *, at_most: timedelta | None = None
) -> list[Task | DuebellError]:
    """`settle` each of these tasks, which have different ids: the task stored in the end, or the error."""
    try:
        there = queue.get_many(task.id for task in tasks) if if_exists is IfExists.KEEP else {}
    except DuebellError as error:
        return [error] * len(tasks)

    def outcome(task: Task) -> Task | DuebellError:
        try:
            if task.id in there:
                return _kept(there[task.id])
            return settle(queue, task, if_exists, at_most=at_most).task
        except DuebellError as error:
            return error

    return [outcome(task) for task in tasks]


def _kept(there: Task) -> Task:
    """The stored task. Raises TaskExists for a reserved one: it is not there for certain."""
    if there.status is Status.RESERVED:
        raise TaskExists(there.id, reserved_until=there.reserved_until)
    return there


def leave_all(tasks: Sequence[Task]) -> Sequence[Task]:
    """Keep what is stored under the ids of these tasks, without reading it: for imports."""
    return tasks


def kept_changing(id: str) -> TaskConflict:
    """The error after TRIES tries, each of which lost against another change."""
    return TaskConflict(f"task {quoted(id)} kept changing while this was tried: look at it and try again")
