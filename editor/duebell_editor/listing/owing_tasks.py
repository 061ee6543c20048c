"""Tasks that have ended and owe a follow-up. They are in the queue, but neither wait nor run.

They keep the place at which they were due, so all of them are among the first keys of their lanes.
"""

import itertools
from collections.abc import Iterable, Iterator

from duebell_shared.queue.store import Store
from duebell_shared.tasks.task import QueueKey, Task

from .queue import BATCH

__all__ = ["MOST_READ", "due_tasks", "owes"]

#: Tasks that are read at most, to find those that owe.
MOST_READ = 1_000


def due_tasks(store: Store, due: Iterable[QueueKey]) -> Iterator[tuple[QueueKey, Task]]:
    """The tasks of the first keys of those that are due: a batch, and one more after each in which some owe.

    So where none owes, which is most often, it is one read.
    """
    keys = itertools.islice(due, MOST_READ)
    while some := list(itertools.islice(keys, BATCH)):
        found = store.get_many(some)
        there = [(key, found[key.id]) for key in some if key.id in found]
        yield from there
        if not any(owes(key, task) for key, task in there):
            return


def owes(key: QueueKey, task: Task) -> bool:
    """Tell whether this task, read by this key, is in the queue only because it owes a follow-up."""
    return task.owes is not None and task.queued == key.queued
