"""Listing tasks by time, page by page: queued tasks by when they run next, others by when they ended.

Both are read from an index, so the cost of a page depends on its length, not on how much is stored. But a
group, tasks whose ids begin with the same text, may be few in a long index: a small one is read by its ids.
"""

import heapq
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import MILLISECOND
from duebell_shared.queue.calls import KEYS_AT_ONCE
from duebell_shared.queue.places import Past, key_of
from duebell_shared.queue.store import LARGEST_PAGE
from duebell_shared.queue.task_queue import Queue
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task, queue_key

from .filters import QUEUED, Filter
from .positions import IN_QUEUE, LAST, LONGEST_KEY, SOURCES, Key, Position, is_failing, wrong_cursor


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tasks; `cursor` gives the next one, and is None when this is the last."""

    tasks: tuple[Task, ...]
    cursor: str | None = None


#: The most keys and tasks that the search for one page reads, so that it answers within seconds.
_MOST_KEYS, _MOST_TASKS = 5_000, 1_000

#: The most tasks that a group has in one lane to be read by ids. A larger group is read by the index.
_OF_A_LANE = 500


def list_tasks(queue: Queue, which: Filter, *, to_the_end: bool = False) -> Page:
    """The page of tasks that the filter asks for.

    A search for rare tasks in a long index ends early, once it has found a task. The page is then shorter
    than `limit`, and its cursor continues the search. Only the last page can be empty. With `to_the_end` no
    search ends early.

    Within a page, tasks of the same moment are ordered by id. Between pages, their order differs for the two
    ways to read a group, by ids and by index. So all pages of a group are read like its first page.
    """
    if which.overdue:
        which = which.as_of(queue.record(), queue.clock())
    if which.prefix and (which.start is None or which.start.by_id):
        group = _group(queue, which)
        if group is not None:
            last = Position.of(group[which.limit - 1][0]) if len(group) > which.limit else None
            return _page(group, which, cursor=None if last is None else last._replace(by_id=True))
    keys = _keys(queue, which)
    found: list[tuple[Key, Task]] = []
    seen = read = 0
    cursor: Key | None = None
    while batch := list(itertools.islice(keys, KEYS_AT_ONCE if seen else min(which.limit + 1, KEYS_AT_ONCE))):
        named = [key for key in batch if key.id.startswith(which.prefix)]
        found += ((key, task) for key, task in queue.tasks_at(named) if which.wants(key, task))
        if len(found) > which.limit:
            cursor = found[which.limit - 1][0]
            break
        seen, read = seen + len(batch), read + len(named)
        # Search on while nothing is found: an empty page would look like the end.
        if found and not to_the_end and (seen >= _MOST_KEYS or read >= _MOST_TASKS):
            cursor = batch[-1] if next(keys, None) else None
            break
    return _page(found, which, cursor=None if cursor is None else Position.of(cursor))


def _group(queue: Queue, which: Filter) -> list[tuple[Key, Task]] | None:
    """Read the group by its ids. Returns the first tasks that the filter asks for, one more than its limit.

    Returns None for a large group, unless the page before was read by its ids too.
    """
    sources, now = _sources(which), queue.clock()
    begins: dict[int, str | None] = dict.fromkeys(range(queue.lanes_now()))
    found: list[tuple[Key, Task]] = []
    while begins:

        def read(lane: int, begins: Mapping[int, str | None] = begins) -> tuple[list[Task], str | None]:
            return queue.store.named(lane, which.prefix, after=begins[lane], most=_OF_A_LANE)

        parts = dict(zip(begins, queue.parallel.all(read, begins), strict=True))
        for tasks, _ in parts.values():
            there = (queue.known(task) for task in tasks if not task.has_expired(now))
            found += ((key, task) for task in there for key in _keys_of(task, which, sources))
        begins = {lane: end for lane, (_, end) in parts.items() if end is not None}
        if begins and which.start is None:
            return None
    pick = heapq.nlargest if which.latest_first else heapq.nsmallest
    return pick(which.limit + 1, found, key=lambda one: Position.of(one[0]).order)


def _keys_of(task: Task, which: Filter, sources: Collection[str]) -> Iterator[Key]:
    """The keys of a task that are of these sources, within the filter's times, and after its cursor."""
    for key in (key_of(task), queue_key(task) if task.queued is not None else None):
        if key is None or not which.wants(key, task):
            continue
        position = Position.of(key)
        within = is_failing(key) or which.after <= position.at <= which.before
        if position.source in sources and within and _is_after(position, which):
            yield key


def _is_after(position: Position, which: Filter) -> bool:
    """Tell whether this position is after the filter's cursor."""
    if which.start is None:
        return True
    here, start = position.order, which.start.order
    return here < start if which.latest_first else here > start


def _page(found: Sequence[tuple[Key, Task]], which: Filter, *, cursor: Position | None) -> Page:
    shown = sorted(
        found[: which.limit], key=lambda one: (Position.of(one[0]).at, one[1].id), reverse=which.latest_first
    )
    return Page(tasks=tuple(task for _, task in shown), cursor=None if cursor is None else str(cursor))


def find_tasks(queue: Queue, prefix: str, *, limit: int, cursor: str | None) -> Page:
    """A page of the tasks whose ids start with `prefix`, of any status, in order of their ids' UTF-8.

    A page is only empty if no task is left.
    """
    if not prefix:
        raise InvalidQuery("prefix", "must not be empty: say how the ids begin")
    if cursor is not None and not 1 <= len(cursor.encode(errors="replace")) <= LONGEST_KEY:
        raise wrong_cursor()
    page = _named(queue, prefix, limit, cursor)
    while not page.tasks and page.cursor is not None:  # all that was read has expired
        page = _named(queue, prefix, limit, page.cursor)
    return page


def _named(queue: Queue, prefix: str, limit: int, cursor: str | None) -> Page:
    """The next page, read with one call of each lane, which may stop before the lane's last task.

    Then the page ends at the earliest id at which a call stopped, and the cursor is that id.
    """
    lanes = range(queue.lanes_now())
    found = queue.parallel.all(
        lambda lane: queue.store.named(lane, prefix, after=cursor, most=limit + 1), lanes
    )
    ends = [end.encode() for _, end in found if end is not None]
    now, known = queue.clock(), dict[bytes, Task]()
    for tasks, _ in found:
        known |= {task.id.encode(): queue.known(task) for task in tasks if not task.has_expired(now)}
    ids = sorted(id for id in known if not ends or id <= min(ends))
    last = ids[limit - 1] if len(ids) > limit else min(ends, default=None)
    return Page(tasks=tuple(known[id] for id in ids[:limit]), cursor=None if last is None else last.decode())


def _keys(queue: Queue, which: Filter) -> Iterator[Key]:
    lanes = range(queue.lanes_now())
    sources = sorted(_sources(which), key=SOURCES.index)
    streams = [_stream(queue, which, source, lane) for source in sources for lane in lanes]
    begun = queue.parallel.all(_with_first_page, streams)
    return heapq.merge(*begun, key=lambda key: Position.of(key).order[:2], reverse=which.latest_first)


def _sources(which: Filter) -> set[str]:
    asked = {source for status in which.statuses for source in _sources_of(status)}
    return asked | {Past.FAILING.value} if which.failing else asked


def _failing(queue: Queue, which: Filter, lane: int) -> Iterator[Key]:
    """The keys of the lane's failing tasks, after the filter's cursor."""
    bounds: Any = {"latest_first": which.latest_first}
    if start := which.start:
        here, there = (LAST, (SOURCES.index(Past.FAILING.value), lane)), (start.at, start.stream)
        if here == there:
            bounds["before" if which.latest_first else "after"] = start.key
        elif (here > there) is which.latest_first:
            return iter(())  # the cursor is beyond them
    return queue.store.past(lane, Past.FAILING, **bounds)


def _stream(queue: Queue, which: Filter, source: str, lane: int) -> Iterator[Key]:
    if source == Past.FAILING.value:
        return _failing(queue, which, lane)
    begin: datetime | Key = which.after
    end: datetime | Key = which.before
    if which.start:
        bound = _bound(which.start, (SOURCES.index(source), lane), latest_first=which.latest_first)
        at = bound if isinstance(bound, datetime) else which.start.at
        if which.latest_first and at <= which.before:
            end = bound
        elif not which.latest_first and at >= which.after:
            begin = bound
    bounds: Any = {"after": begin, "before": end, "latest_first": which.latest_first}
    if which.prefix:
        bounds["page_size"] = LARGEST_PAGE  # few keys may match, and each call takes a while
    if source == IN_QUEUE:
        return queue.store.queued(lane, **bounds)
    return queue.store.past(lane, Past(source), **bounds)


def _with_first_page(stream: Iterator[Key]) -> Iterator[Key]:
    """Read the first page of the stream, so that this can be done for all streams in parallel."""
    return itertools.chain(list(itertools.islice(stream, 1)), stream)


def _bound(start: Position, stream: tuple[int, int], *, latest_first: bool) -> datetime | Key:
    """The bound from which a stream continues after this position. In one moment, streams have an order."""
    if stream == start.stream:
        return start.key
    is_over = stream > start.stream if latest_first else stream < start.stream
    step = -MILLISECOND if latest_first else MILLISECOND
    return start.at + step if is_over else start.at


def _sources_of(status: Status) -> tuple[str, ...]:
    if status in QUEUED:
        return (IN_QUEUE,)
    return (Past.PAUSED, Past.PAUSED_RECURRING) if status is Status.PAUSED else (status.value,)
