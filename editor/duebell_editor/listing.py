"""Listing tasks by time, page by page: those in the queue by when they run next, others by when they ended.

Both are read from an index, so a page costs what it shows, however much is stored.
"""

import itertools

import msgspec

from duebell_shared.task import Task

from .filters import Filter
from .places import Key, Place, places
from .queue import BATCH, Queue

__all__ = ["QUICKLY", "Page", "list_tasks"]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tasks; `cursor` gives the next one, and is None when this is the last."""

    tasks: tuple[Task, ...]
    cursor: str | None = None


#: `most_keys` for an answer within seconds, however much is stored.
QUICKLY = 5_000

#: Keys per task: with `most_keys`, only a fifth as many tasks are read in full.
_KEYS_PER_TASK = 5


def list_tasks(queue: Queue, which: Filter, *, most_keys: int | None = None) -> Page:
    """The page of tasks that the filter asks for: full, unless it is the last.

    `most_keys` limits the search for rare tasks in a long index: the page may then hold fewer tasks than were
    asked for, or none, and its cursor goes on where the search stopped.

    Within a page, tasks of the same moment are ordered by id.
    """
    keys = places(queue, which)
    found: list[tuple[Key, Task]] = []
    seen = read = 0
    cursor: Key | None = None
    while batch := list(itertools.islice(keys, BATCH if seen else min(which.limit + 1, BATCH))):
        named = [key for key in batch if key.id.startswith(which.prefix)]
        found += ((key, task) for key, task in queue.tasks_at(named) if which.wants(key, task))
        if len(found) > which.limit:
            cursor = found[which.limit - 1][0]
            break
        seen, read = seen + len(batch), read + len(named)
        if most_keys and (seen >= most_keys or read >= most_keys // _KEYS_PER_TASK):
            cursor = batch[-1] if next(keys, None) else None
            break
    shown = sorted(
        found[: which.limit], key=lambda one: (Place.of(one[0]).at, one[1].id), reverse=which.latest_first
    )
    return Page(
        tasks=tuple(task for _, task in shown), cursor=None if cursor is None else str(Place.of(cursor))
    )
