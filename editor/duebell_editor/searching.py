"""A listing for people: by the start of an id too, the latest first if wanted, and never without an end.

What is asked for may be rare in a long queue. So a search looks at so many tasks and no more; a page may then
hold fewer than were asked for, or none, and its cursor goes on where the search stopped.
"""

import heapq
import itertools
from collections.abc import Iterator

import msgspec

from duebell_shared.instants import NEVER
from duebell_shared.task import QueueKey, Status, Task

from .editor import Editor
from .inside import Inside, inside
from .listing import _FIRST, _QUEUED, Filter, Page, Place, _decode, _encode, _is_wanted, _place

__all__ = ["Search", "search"]

#: Keys of the queue that one search looks at.
_LOOKED_AT = 5_000

#: Tasks of the queue that one search reads in full.
_READ = 1_000

_BATCH = 100


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for: a listing's filter, what the id starts with, and whether the latest come first.

    `latest_first` is for tasks that have left the queue: they are then ordered, and bounded, by when they
    ended. With tasks that are in it the earliest come first all the same.
    """

    which: Filter
    prefix: str = ""
    latest_first: bool = False


def search(editor: Editor, wanted: Search) -> Page:
    """The tasks that are found, in order, with a cursor unless there is nothing more to look at."""
    its = inside(editor)
    statuses = wanted.which.statuses
    if statuses <= _QUEUED:
        return _in_queue(its, wanted)
    if not statuses & _QUEUED:
        return _in_history(its, wanted)
    return _in_both(its, wanted)


def _in_queue(its: Inside, wanted: Search) -> Page:
    which = wanted.which
    found: list[Task] = []
    end: Place | None = None
    read = 0
    for keys in _batches(its, which):
        named = [key for key in keys if key.id.startswith(wanted.prefix)]
        tasks = its.store.get_many(named) if named else {}
        for key in named:
            task = tasks.get(key.id)
            if task and task.queued == key.queued and _is_wanted(task, which):
                found.append(task)
                if len(found) > which.limit:
                    return _page(found, which.limit)
        read += len(named)
        end = Place(keys[-1].queued, keys[-1].id)
        if read >= _READ:
            return Page(tasks=tuple(found), cursor=_encode(end))
    looked_at_all = end is None or next(iter(_keys(its, which, after=end)), None) is None
    return Page(tasks=tuple(found), cursor=None if looked_at_all or end is None else _encode(end))


def _batches(its: Inside, which: Filter) -> Iterator[list[QueueKey]]:
    keys = itertools.islice(_keys(its, which, after=which.start), _LOOKED_AT)
    while batch := list(itertools.islice(keys, min(which.limit + 1, _BATCH))):
        yield batch


def _keys(its: Inside, which: Filter, *, after: Place | None) -> Iterator[QueueKey]:
    """The keys of all lanes in order, those of one moment by id, from the place after the last one."""
    begin = max(which.after, after.at) if after else which.after
    lanes = (its.store.queued(lane, after=begin, before=which.before) for lane in range(its.lanes))
    moments = itertools.groupby(heapq.merge(*lanes), lambda key: key.queued)
    in_order = (key for _, same in moments for key in sorted(same))
    return (key for key in in_order if after is None or Place(key.queued, key.id) > after)


def _in_history(its: Inside, wanted: Search) -> Page:
    """One pass over what has left the queue: its costs are those of history."""
    which, start = wanted.which, wanted.which.start
    place = _ended if wanted.latest_first else _place
    boundless = msgspec.structs.replace(which, start=None, after=_FIRST, before=NEVER)
    tasks = (
        task
        for lane in range(its.lanes)
        for task in its.store.unqueued(lane, which.statuses, now=its.clock())
        if task.id.startswith(wanted.prefix) and _is_wanted(task, boundless)
        if which.after <= place(task).at <= which.before
    )
    if wanted.latest_first:
        to_come = (task for task in tasks if start is None or _ended(task) < start)
        return _page(heapq.nlargest(which.limit + 1, to_come, key=_ended), which.limit, latest_first=True)
    to_come = (task for task in tasks if start is None or _place(task) > start)
    return _page(heapq.nsmallest(which.limit + 1, to_come, key=_place), which.limit)


def _in_both(its: Inside, wanted: Search) -> Page:
    """What is in the queue and what has left it, merged: as far as the queue was looked at."""
    which = wanted.which
    pages = (
        _in_queue(its, _only(wanted, which.statuses & _QUEUED)),
        _in_history(its, _only(wanted, which.statuses - _QUEUED)),
    )
    tasks = sorted((task for page in pages for task in page.tasks), key=_place)
    ends = [_decode(page.cursor) for page in pages if page.cursor]
    if not ends:
        return _page(tasks, which.limit)
    known = [task for task in tasks if _place(task) <= min(ends)]
    page = _page(known, which.limit)
    return page if page.cursor else msgspec.structs.replace(page, cursor=_encode(min(ends)))


def _only(wanted: Search, statuses: frozenset[Status]) -> Search:
    which = msgspec.structs.replace(wanted.which, statuses=statuses)
    return msgspec.structs.replace(wanted, which=which, latest_first=False)


def _ended(task: Task) -> Place:
    """When it was over; the paused have not ended, and stand at their due date."""
    return Place(task.finished_at or task.due, task.id)


def _page(tasks: list[Task], limit: int, *, latest_first: bool = False) -> Page:
    shown = tuple(tasks[:limit])
    last = (_ended if latest_first else _place)(shown[-1]) if tasks[limit:] else None
    return Page(tasks=shown, cursor=None if last is None else _encode(last))
