"""Listing tasks by time, page by page: when they are looked at next, or when they ended.

Each stands in an index, so a page costs what it shows, however much is stored.
"""

import itertools
from collections.abc import Iterator

import msgspec

from duebell_shared.task import Task

from .filtering import Filter
from .places import Key, Place, places
from .reading import BATCH, Queue

__all__ = ["QUICKLY", "Page", "list_tasks", "search"]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tasks; `cursor` gives the next one, and is None when this is the last."""

    tasks: tuple[Task, ...]
    cursor: str | None = None


#: Entries of the indexes that are looked at for someone who waits for the answer.
QUICKLY = 5_000

#: For so many entries that may be looked at, one task may be read in full.
_KEYS_PER_TASK = 5


def list_tasks(queue: Queue, which: Filter, *, most_keys: int | None = None) -> Page:
    """The page of tasks that the filter asks for: full, unless these are the last.

    With `most_keys`, what is rare among many is not looked for to the end: a page may then hold fewer tasks
    than were asked for, or none, and its cursor goes on where it stopped.

    Tasks of the same moment stand by id, those that are on the same page.
    """
    keys = places(queue, which)
    found: list[tuple[Key, Task]] = []
    seen = read = 0
    cursor: Key | None = None
    while batch := list(itertools.islice(keys, min(which.limit + 1, BATCH))):
        named = [key for key in batch if key.id.startswith(which.prefix)]
        found += _wanted(queue, which, named)
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


def search(queue: Queue, which: Filter) -> Page:
    """The same for someone who waits for the answer: within seconds, however much is stored."""
    return list_tasks(queue, which, most_keys=QUICKLY)


def _wanted(queue: Queue, which: Filter, keys: list[Key]) -> Iterator[tuple[Key, Task]]:
    return ((key, task) for key, task in queue.tasks_at(keys) if which.wants(task))
