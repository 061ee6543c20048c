"""Listing tasks by time, page by page: when they are looked at next, or when they ended.

Each stands in an index, so a page costs what it shows, however much is stored.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from duebell_shared.task import Task

from .filtering import Filter
from .places import Key, Place, places
from .reading import BATCH, Queue

__all__ = ["Page", "Patience", "list_tasks", "search"]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tasks; `cursor` gives the next one, and is None when this is the last."""

    tasks: tuple[Task, ...]
    cursor: str | None = None


class Patience(NamedTuple):
    """Bounds for one page: keys of the indexes that are looked at, and tasks that are read in full."""

    keys: int
    tasks: int


#: What someone who waits for an answer may want to wait for.
_PATIENCE = Patience(keys=5_000, tasks=1_000)


def list_tasks(queue: Queue, which: Filter, *, patience: Patience | None = None) -> Page:
    """The page of tasks that the filter asks for: full, unless these are the last.

    With `patience`, what is rare among many is not looked for to the end: a page may then hold fewer tasks
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
        if patience and (seen >= patience.keys or read >= patience.tasks):
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
    return list_tasks(queue, which, patience=_PATIENCE)


def _wanted(queue: Queue, which: Filter, keys: list[Key]) -> Iterator[tuple[Key, Task]]:
    return ((key, task) for key, task in queue.tasks_at(keys) if which.wants(task))
