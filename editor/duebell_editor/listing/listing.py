"""Listing tasks by time, page by page: those in the queue by when they run next, others by when they ended.

Both are read from an index, so a page costs what it shows, however much is stored. Tasks whose ids begin with
the same text, a group, may be few in a long index. So they are read by their ids as well, in turns, and
whichever comes to an end first makes the page.
"""

import itertools
import sys
from collections.abc import Sequence

import msgspec

from duebell_shared.tasks.task import Task

from .filters import Filter
from .group import Group
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

#: How many times `most_keys` are read to find a first task: about as long as a person waits.
_SEARCH = 20

#: Keys that cost as much to read as a small task of a group.
_KEYS_PER_MEMBER = 4


def list_tasks(queue: Queue, which: Filter, *, most_keys: int | None = None) -> Page:
    """The page of tasks that the filter asks for: full, unless it is the last.

    `most_keys` limits the search for rare tasks in a long index: the page may then hold fewer tasks than were
    asked for, and its cursor goes on where the search stopped. The search for the first task goes on 20 times
    as far, and with a prefix to the end. Only after that a page is empty and has a cursor.

    Within a page, tasks of the same moment are ordered by id. A listing of a group goes on by the way that
    made its first page: between pages, only a way of reading keeps to its own order of the same moment.
    """
    group = Group(queue, which) if which.prefix and (not which.start or which.start.by_id) else None
    if group and (group.read_on() or (which.start and group.read_all())):
        return _page_of(group, which)
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
        if group and seen >= group.read * _KEYS_PER_MEMBER and group.read_on():
            return _page_of(group, which)
        limit = most_keys or sys.maxsize
        if not found:  # an empty page would look like the end
            limit = sys.maxsize if which.prefix else limit * _SEARCH
        if seen >= limit or read >= limit // _KEYS_PER_TASK:
            cursor = batch[-1] if next(keys, None) else None
            break
    return _page(found, which, cursor=None if cursor is None else Place.of(cursor))


def _page_of(group: Group, which: Filter) -> Page:
    """The page of a group that was read to its end."""
    found = group.found
    last = Place.of(found[which.limit - 1][0]) if len(found) > which.limit else None
    return _page(found, which, cursor=None if last is None else last._replace(by_id=True))


def _page(found: Sequence[tuple[Key, Task]], which: Filter, *, cursor: Place | None) -> Page:
    shown = sorted(
        found[: which.limit], key=lambda one: (Place.of(one[0]).at, one[1].id), reverse=which.latest_first
    )
    return Page(tasks=tuple(task for _, task in shown), cursor=None if cursor is None else str(cursor))
