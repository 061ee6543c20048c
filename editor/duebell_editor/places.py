"""Places of tasks in the two indexes, and the merging of lanes of both in order of time.

Within one moment those in the queue come first, then those of each kind that has left it; within these lane
by lane, and within a lane in the order of its index. So a page goes on exactly where the one before ended.
"""

import base64
import heapq
import itertools
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

import msgspec

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import FIRST, MILLISECOND, NEVER, to_utc
from duebell_shared.past_index import Past, PastKey
from duebell_shared.task import QueueKey, Status

if TYPE_CHECKING:
    from .filtering import Filter
    from .reading import Queue

__all__ = ["Key", "Place", "place_from", "places"]

#: A task's key in the index that it is found by.
Key = QueueKey | PastKey

#: Bytes of the longest key that DynamoDB takes.
_LONGEST_KEY = 1024

#: In the queue; all else is a kind of the past.
_QUEUE = ""

#: The indexes, and kinds of the past, in their order within one moment.
_SOURCES = (_QUEUE, *(kind.value for kind in Past if kind.has_time))


class Place(NamedTuple):
    """A task's place in a listing: its time, the index or kind of the past, the lane, the id."""

    at: Annotated[datetime, msgspec.Meta(tz=True)]
    source: str
    lane: Annotated[int, msgspec.Meta(ge=0)]
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]

    @classmethod
    def of(cls, key: Key) -> Self:
        """The place of the task with this key."""
        source = key.kind.value if isinstance(key, PastKey) else _QUEUE
        return cls(at=key[0] or NEVER, source=source, lane=key.lane, id=key.id)

    @property
    def key(self) -> Key:
        """The key of the task that stands here."""
        if self.source == _QUEUE:
            return QueueKey(queued=self.at, id=self.id, lane=self.lane)
        return PastKey(at=self.at, id=self.id, lane=self.lane, kind=Past(self.source))

    @property
    def stream(self) -> tuple[int, int]:
        """The stream of the task, a lane of an index or kind. They sort in their order within one moment."""
        return _SOURCES.index(self.source), self.lane

    def __str__(self) -> str:
        """As a cursor."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()


def place_from(cursor: str) -> Place:
    """Decode a cursor: the place of the last task on its page. Raises InvalidQuery."""
    wrong = InvalidQuery("cursor", "is not one that a listing gave: start again without it")
    try:
        place = msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode()), type=Place)
        place = place._replace(at=to_utc(place.at))
    except (ValueError, OverflowError):  # of base64, msgspec and the calendar
        raise wrong from None
    if not FIRST < place.at < NEVER or len(place.id.encode()) > _LONGEST_KEY or place.source not in _SOURCES:
        raise wrong
    return place


def places(queue: "Queue", which: "Filter") -> Iterator[Key]:
    """The keys of the tasks that the filter may want, in its order, from where the page before ended."""
    lanes = range(queue.lanes_now())
    sources = sorted({_source(status) for status in which.statuses}, key=_SOURCES.index)
    streams = [_stream(queue, which, source, lane) for source in sources for lane in lanes]
    return heapq.merge(*queue.parallel.all(_begun, streams), key=_when, reverse=which.latest_first)


def _stream(queue: "Queue", which: "Filter", source: str, lane: int) -> Iterator[Key]:
    begin: datetime | Key = which.after
    end: datetime | Key = which.before
    if which.start:
        bound = _bound(which.start, (_SOURCES.index(source), lane), latest_first=which.latest_first)
        at = bound if isinstance(bound, datetime) else which.start.at
        if which.latest_first and at <= which.before:
            end = bound
        elif not which.latest_first and at >= which.after:
            begin = bound
    store = queue.store
    first = which.latest_first
    if source == _QUEUE:
        return store.queued(lane, after=begin, before=end, latest_first=first)  # type: ignore[arg-type]
    return store.past(lane, Past(source), after=begin, before=end, latest_first=first)  # type: ignore[arg-type]


def _begun(stream: Iterator[Key]) -> Iterator[Key]:
    """The same stream, with its first page read."""
    return itertools.chain(list(itertools.islice(stream, 1)), stream)


def _bound(start: Place, stream: tuple[int, int], *, latest_first: bool) -> datetime | Key:
    """The bound at which a stream goes on behind this place: within one moment stream follows stream."""
    if stream == start.stream:
        return start.key
    is_over = stream > start.stream if latest_first else stream < start.stream
    step = -MILLISECOND if latest_first else MILLISECOND
    return start.at + step if is_over else start.at


def _when(key: Key) -> tuple[datetime, tuple[int, int]]:
    place = Place.of(key)
    return place.at, place.stream


def _source(status: Status) -> str:
    return _QUEUE if status in {Status.SCHEDULED, Status.RUNNING} else status.value
