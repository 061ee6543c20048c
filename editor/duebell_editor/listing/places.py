"""Places of tasks in a listing, and merging the lanes of both indexes by time.

Tasks of the same moment are ordered by source (the queue, then each kind of the past), then by lane, then as
in the lane's index. So a page goes on exactly where the one before ended. Recurring tasks that fail have no
time in their index: they stand behind all times, so that the latest first begins with them.
"""

import heapq
import itertools
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import msgspec

from duebell_shared.counts import Priority
from duebell_shared.instants import FIRST, MILLISECOND, NEVER, to_utc
from duebell_shared.queue.past_index import Past, PastKey
from duebell_shared.tasks.task import QueueKey, Status

from .cursors import LONGEST_KEY, cursor_of, place_at, wrong_cursor

if TYPE_CHECKING:
    from .filters import Filter
    from .queue import Queue

__all__ = ["Key", "Place", "is_failing", "place_from", "places", "sources_of"]

#: A task's key in the index that it is found by.
Key = QueueKey | PastKey

#: The source of tasks in the queue; the other sources are kinds of the past.
_QUEUE = ""

#: All sources, in their order within one moment.
_SOURCES = (_QUEUE, *(kind.value for kind in Past if kind.has_time), Past.FAILING.value)

#: The time of what has none in its index.
_LAST = NEVER - MILLISECOND


class Place(NamedTuple):
    """A task's place in a listing: its time, source, lane and id; and whether that was read by ids."""

    at: Annotated[datetime, msgspec.Meta(tz=True)]
    source: str
    lane: Annotated[int, msgspec.Meta(ge=0)]
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_KEY)]
    by_id: bool = False
    priority: Priority = 0

    @classmethod
    def of(cls, key: Key) -> Self:
        """The place of the task with this key."""
        source = key.kind.value if isinstance(key, PastKey) else _QUEUE
        priority = key.priority if isinstance(key, QueueKey) else 0
        return cls(at=key[0] or _LAST, source=source, lane=key.lane, id=key.id, priority=priority)

    @property
    def key(self) -> Key:
        """The key of the task that stands here."""
        if self.source == _QUEUE:
            return QueueKey(queued=self.at, id=self.id, lane=self.lane, priority=self.priority)
        kind = Past(self.source)
        return PastKey(at=self.at if kind.has_time else None, id=self.id, lane=self.lane, kind=kind)

    @property
    def stream(self) -> tuple[int, int]:
        """The task's stream, a lane of one source. Streams sort in their order within one moment."""
        return _SOURCES.index(self.source), self.lane

    def __str__(self) -> str:
        """The cursor of this place."""
        return cursor_of(self)


def place_from(cursor: str) -> Place:
    """Decode a cursor: the place of the last task on its page. Raises InvalidQuery."""
    place = place_at(cursor, Place)
    try:
        place = place._replace(at=to_utc(place.at))
    except (ValueError, OverflowError):  # from the ends of the calendar
        raise wrong_cursor() from None
    if not FIRST < place.at < NEVER or len(place.id.encode()) > LONGEST_KEY or place.source not in _SOURCES:
        raise wrong_cursor()
    return place


def places(queue: "Queue", which: "Filter") -> Iterator[Key]:
    """The keys of tasks that may match the filter, in its order, after its cursor."""
    lanes = range(queue.lanes_now())
    sources = sorted(sources_of(which), key=_SOURCES.index)
    streams = [_stream(queue, which, source, lane) for source in sources for lane in lanes]
    begun = queue.parallel.all(_with_first_page, streams)
    return heapq.merge(*begun, key=_order, reverse=which.latest_first)


def sources_of(which: "Filter") -> set[str]:
    """The sources of tasks that may match the filter."""
    asked = {source for status in which.statuses for source in _sources_of(status)}
    return asked | {Past.FAILING.value} if which.failing else asked


def is_failing(key: Key) -> bool:
    """Tell whether the key is that of a recurring task whose last occurrence failed."""
    return isinstance(key, PastKey) and key.kind is Past.FAILING


def _failing(queue: "Queue", which: "Filter", lane: int) -> Iterator[Key]:
    """The keys of the lane's failing tasks, after the filter's cursor."""
    bounds: Any = {"latest_first": which.latest_first}
    if start := which.start:
        here, there = (_LAST, (_SOURCES.index(Past.FAILING.value), lane)), (start.at, start.stream)
        if here == there:
            bounds["before" if which.latest_first else "after"] = start.key
        elif (here > there) is which.latest_first:
            return iter(())  # the cursor is beyond them
    return queue.store.past(lane, Past.FAILING, **bounds)


def _stream(queue: "Queue", which: "Filter", source: str, lane: int) -> Iterator[Key]:
    if source == Past.FAILING.value:
        return _failing(queue, which, lane)
    begin: datetime | Key = which.after
    end: datetime | Key = which.before
    if which.start:
        bound = _bound(which.start, (_SOURCES.index(source), lane), latest_first=which.latest_first)
        at = bound if isinstance(bound, datetime) else which.start.at
        if which.latest_first and at <= which.before:
            end = bound
        elif not which.latest_first and at >= which.after:
            begin = bound
    bounds: Any = {"after": begin, "before": end, "latest_first": which.latest_first}
    if source == _QUEUE:
        return queue.store.queued(lane, **bounds)
    return queue.store.past(lane, Past(source), **bounds)


def _with_first_page(stream: Iterator[Key]) -> Iterator[Key]:
    """Read the first page of the stream, so that this can be done for all streams in parallel."""
    return itertools.chain(list(itertools.islice(stream, 1)), stream)


def _bound(start: Place, stream: tuple[int, int], *, latest_first: bool) -> datetime | Key:
    """The bound from which a stream goes on after this place, with the order of streams in one moment."""
    if stream == start.stream:
        return start.key
    is_over = stream > start.stream if latest_first else stream < start.stream
    step = -MILLISECOND if latest_first else MILLISECOND
    return start.at + step if is_over else start.at


def _order(key: Key) -> tuple[datetime, tuple[int, int]]:
    place = Place.of(key)
    return place.at, place.stream


def _sources_of(status: Status) -> tuple[str, ...]:
    """The sources of tasks with this status."""
    if status in {Status.SCHEDULED, Status.RUNNING, Status.RESERVED}:
        return (_QUEUE,)
    return (Past.PAUSED, Past.PAUSED_RECURRING) if status is Status.PAUSED else (status.value,)
