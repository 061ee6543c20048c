"""Listing tasks in due order across lanes, page by page, without a Scan.

What waits or runs stands in the index, so a page of it costs what it shows. Paused and finished tasks have
left the index: they are found by reading their lanes through, and a page of them costs what history holds.
"""

import heapq
import itertools
from typing import NamedTuple

import msgspec

from duebell_shared.task import Status, Task

from .filtering import QUEUED, Filter, Place, place_from
from .reading import BATCH, Queue

__all__ = ["Page", "Patience", "list_tasks", "search"]

_OTHERS = frozenset(Status) - QUEUED


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tasks; `cursor` gives the next one, and is None when this is the last."""

    tasks: tuple[Task, ...]
    cursor: str | None = None


class Patience(NamedTuple):
    """How many keys of the queue are looked at for one page, and how many tasks are read in full."""

    keys: int
    tasks: int


#: What someone who waits for an answer may want to wait for.
_PATIENCE = Patience(keys=5_000, tasks=1_000)


def list_tasks(queue: Queue, which: Filter, *, patience: Patience | None = None) -> Page:
    """The page of tasks that the filter asks for: full, unless these are the last.

    With `patience`, what is rare in a long queue is not looked for to its end: a page may then hold fewer
    tasks than were asked for, or none, and its cursor goes on where it stopped.

    Tasks of the same moment stand by id, those that are on the same page.
    """
    page = _page_of(queue, which, patience)
    tasks = sorted(
        page.tasks, key=lambda task: (which.place_of(task).at, task.id), reverse=which.latest_first
    )
    return msgspec.structs.replace(page, tasks=tuple(tasks))


def search(queue: Queue, which: Filter) -> Page:
    """The same for someone who waits for the answer: within seconds, however long the queue is."""
    return list_tasks(queue, which, patience=_PATIENCE)


def _page_of(queue: Queue, which: Filter, patience: Patience | None) -> Page:
    """The page in the order that its cursor goes on in, which is the queue's own."""
    pages = []
    if which.statuses & QUEUED:
        pages.append(_in_queue(queue, which.only(QUEUED), patience))
    if which.statuses & _OTHERS:
        pages.append(_in_history(queue, which.only(_OTHERS)))
    return pages[0] if len(pages) == 1 else _merged(which, pages)


def _in_queue(queue: Queue, which: Filter, patience: Patience | None) -> Page:
    keys = queue.keys(after=which.begin, before=which.before)
    found: list[Task] = []
    seen = read = 0
    while batch := list(itertools.islice(keys, min(which.limit + 1, BATCH))):
        named = [key for key in batch if key.id.startswith(which.prefix)]
        found += (task for task in queue.tasks(named) if which.wants(task))
        if len(found) > which.limit:
            break
        seen, read = seen + len(batch), read + len(named)
        if patience and (seen >= patience.keys or read >= patience.tasks):
            is_all = next(keys, None) is None
            return Page(tasks=tuple(found), cursor=None if is_all else str(Place.of_key(batch[-1])))
    return _page(which, found)


def _in_history(queue: Queue, which: Filter) -> Page:
    every = queue.unqueued(which.statuses)
    wanted = (task for task in every if which.wants(task) and which.is_to_come(task))
    first = heapq.nlargest if which.latest_first else heapq.nsmallest
    return _page(which, first(which.limit + 1, wanted, key=which.place_of))


def _merged(which: Filter, pages: list[Page]) -> Page:
    """What is in the queue and what has left it, as far as both were looked at."""
    tasks = sorted(
        (task for page in pages for task in page.tasks), key=lambda task: which.place_of(task).stage
    )
    ends = [place_from(page.cursor) for page in pages if page.cursor]
    if not ends:
        return _page(which, tasks)
    page = _page(which, [task for task in tasks if which.place_of(task).stage <= min(ends).stage])
    return page if page.cursor else msgspec.structs.replace(page, cursor=str(min(ends)))


def _page(which: Filter, tasks: list[Task]) -> Page:
    shown = tuple(tasks[: which.limit])
    is_all = len(tasks) <= which.limit
    return Page(tasks=shown, cursor=None if is_all else str(which.place_of(shown[-1])))
