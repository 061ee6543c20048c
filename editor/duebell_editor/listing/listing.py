"""Listing tasks by time, page by page: those in the queue by when they run next, others by when they ended.

Both are read from an index, so a page costs what it shows, however much is stored. Tasks whose ids begin with
the same text, a group, may be few in a long index. So a group is read in turns by the index and by its ids.
The way that comes to an end first makes the page.
"""

import heapq
import itertools
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import MILLISECOND
from duebell_shared.queue.places import Past, key_of
from duebell_shared.queue.task_queue import BATCH, PAGE, Queue, has_expired
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task, queue_key

from .filters import Filter
from .positions import IN_QUEUE, LAST, LONGEST_KEY, SOURCES, Key, Position, is_failing, wrong_cursor


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tasks; `cursor` gives the next one, and is None when this is the last."""

    tasks: tuple[Task, ...]
    cursor: str | None = None


#: Keys and tasks that the search for a page reads at most: it answers within seconds, however much is stored.
_MOST_KEYS, _MOST_TASKS = 5_000, 1_000

#: Keys that cost as much to read as a small task of a group.
_KEYS_PER_MEMBER = 4


#: Tasks read with the first call: from all lanes together, and of one lane at least.
_AT_FIRST, _OF_ONE_LANE = 400, 25

#: Tasks read of one lane at most with one call.
_AT_ONCE = 1_000

#: Bytes of a payload that count as one task more: what reading costs goes by bytes.
_PAYLOAD = 400


class Group:
    """The tasks of a group that the filter asks for, read in steps: of all lanes at once, more each time.

    read   the size of what was read, in small tasks
    found  the first tasks of it, in order: one more than the limit, if there are so many
    """

    def __init__(self, queue: Queue, which: Filter) -> None:
        self._queue = queue
        self._which = which
        self._sources = _sources(which)
        self.read = 0
        lanes = queue.lanes_now()
        self._begins: dict[int, str | None] = dict.fromkeys(range(lanes))
        self._step = max(_AT_FIRST // lanes, _OF_ONE_LANE)
        self.found: list[tuple[Key, Task]] = []

    def read_on(self) -> bool:
        """Read the next step; tell whether the group is read to its end."""
        lanes, prefix = list(self._begins), self._which.prefix
        read = self._queue.parallel.all(
            lambda lane: self._queue.store.named(
                lane, prefix, after=self._begins[lane], most=min(self._step, _AT_ONCE)
            ),
            lanes,
        )
        ends = dict(zip(lanes, (end for _, end in read), strict=True))
        self._begins = {lane: end for lane, end in ends.items() if end is not None}
        self._step *= 4
        now = self._queue.clock()
        for tasks, _ in read:
            self.read += sum(1 + len(task.payload_json) // _PAYLOAD for task in tasks)
            there = (self._queue.known(task) for task in tasks if not has_expired(task, now))
            self.found += ((key, task) for task in there for key in self._keys(task))
        pick = heapq.nlargest if self._which.latest_first else heapq.nsmallest
        self.found = pick(self._which.limit + 1, self.found, key=lambda one: Position.of(one[0]).order)
        return not self._begins

    def _keys(self, task: Task) -> Iterator[Key]:
        keys: list[Key | None] = [key_of(task)]
        if task.queued is not None:
            keys.append(queue_key(task))
        for key in keys:
            if key and self._is_asked_for(key) and self._which.wants(key, task):
                yield key

    def _is_asked_for(self, key: Key) -> bool:
        """Tell whether the key is of a source asked for, within its times, and after the cursor."""
        which, position = self._which, Position.of(key)
        within = is_failing(key) or which.after <= position.at <= which.before
        if position.source not in self._sources or not within:
            return False
        if which.start is None:
            return True
        here, start = position.order, which.start.order
        return here < start if which.latest_first else here > start


def list_tasks(queue: Queue, which: Filter, *, to_the_end: bool = False) -> Page:
    """The page of tasks that the filter asks for.

    A search for rare tasks in a long index ends early. The page then holds fewer tasks than were asked for,
    and its cursor goes on from there. The search for the first task goes on to the end: an empty page is the
    last. `to_the_end`: the page is full, unless it is the last.

    Within a page, tasks of the same moment are ordered by id. Between pages, the two ways to read a group
    order them differently. So all pages of a group are read by the way that made the first one.
    """
    if which.overdue:
        which = which.as_of(queue.record(), queue.clock())
    group = Group(queue, which) if which.prefix and (not which.start or which.start.by_id) else None
    is_read = group is not None and group.read_on()
    while group and which.start and not is_read:  # the page before was read by ids
        is_read = group.read_on()
    if group and is_read:
        return _page_of(group, which)
    keys = _keys(queue, which)
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
        # An empty page would look like the end.
        if found and not to_the_end and (seen >= _MOST_KEYS or read >= _MOST_TASKS):
            cursor = batch[-1] if next(keys, None) else None
            break
    return _page(found, which, cursor=None if cursor is None else Position.of(cursor))


def _page_of(group: Group, which: Filter) -> Page:
    found = group.found
    last = Position.of(found[which.limit - 1][0]) if len(found) > which.limit else None
    return _page(found, which, cursor=None if last is None else last._replace(by_id=True))


def _page(found: Sequence[tuple[Key, Task]], which: Filter, *, cursor: Position | None) -> Page:
    shown = sorted(
        found[: which.limit], key=lambda one: (Position.of(one[0]).at, one[1].id), reverse=which.latest_first
    )
    return Page(tasks=tuple(task for _, task in shown), cursor=None if cursor is None else str(cursor))


def find_tasks(queue: Queue, prefix: str, *, limit: int, cursor: str | None) -> Page:
    """A page of the tasks with this beginning, of any status, in order of their ids' UTF-8.

    Each lane is read with one call, which may end before the lane does. Then the page has only tasks before
    the first of these ends, and the cursor, an id, goes on from there.
    """
    if not prefix:
        raise InvalidQuery("prefix", "must not be empty: say how the ids begin")
    if cursor is not None and not 1 <= len(cursor.encode(errors="replace")) <= LONGEST_KEY:
        raise wrong_cursor()
    lanes = range(queue.lanes_now())
    found = queue.parallel.all(
        lambda lane: queue.store.named(lane, prefix, after=cursor, most=limit + 1), lanes
    )
    ends = [end.encode() for _, end in found if end is not None]
    now, known = queue.clock(), dict[bytes, Task]()
    for tasks, _ in found:
        known |= {task.id.encode(): queue.known(task) for task in tasks if not has_expired(task, now)}
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
        bounds["page_size"] = PAGE  # it reads far, and each call takes a while
    if source == IN_QUEUE:
        return queue.store.queued(lane, **bounds)
    return queue.store.past(lane, Past(source), **bounds)


def _with_first_page(stream: Iterator[Key]) -> Iterator[Key]:
    """Read the first page of the stream, so that this can be done for all streams in parallel."""
    return itertools.chain(list(itertools.islice(stream, 1)), stream)


def _bound(start: Position, stream: tuple[int, int], *, latest_first: bool) -> datetime | Key:
    """The bound from which a stream goes on after this position, with the order of streams in one moment."""
    if stream == start.stream:
        return start.key
    is_over = stream > start.stream if latest_first else stream < start.stream
    step = -MILLISECOND if latest_first else MILLISECOND
    return start.at + step if is_over else start.at


def _sources_of(status: Status) -> tuple[str, ...]:
    if status in {Status.SCHEDULED, Status.RUNNING, Status.RESERVED}:
        return (IN_QUEUE,)
    return (Past.PAUSED, Past.PAUSED_RECURRING) if status is Status.PAUSED else (status.value,)
