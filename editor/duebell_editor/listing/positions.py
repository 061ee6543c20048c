"""Positions of tasks in a listing, and cursors: positions as text, which ask for the next page.

Tasks of the same moment are ordered by source: the queue, then each kind of the past. Then they are ordered
by lane, then as in the lane's index. Recurring tasks that fail have no time in their index. They are placed
after all times, so a listing with the latest first begins with them.
"""

import base64
from datetime import datetime
from typing import Annotated, NamedTuple, Self, TypeVar

import msgspec

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import FIRST, MILLISECOND, NEVER, to_json, to_utc
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.tasks.checks import Priority
from duebell_shared.tasks.task import QueueKey

#: Bytes of the longest key that DynamoDB takes.
LONGEST_KEY = 1024

_T = TypeVar("_T")


def wrong_cursor() -> InvalidQuery:
    """The error for a cursor that was made up, or cut."""
    return InvalidQuery("cursor", "is not one that a listing gave: start again without it")


def cursor_of(position: object) -> str:
    """The cursor of this position."""
    return base64.urlsafe_b64encode(to_json(position).encode()).decode()


def position_at(cursor: str, kind: type[_T]) -> _T:
    """The position of this cursor. Raises InvalidQuery."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode()), type=kind)
    except ValueError:  # from base64 and msgspec
        raise wrong_cursor() from None


#: A task's key in the index that it is found by.
Key = QueueKey | PastKey

#: The source of tasks in the queue; the other sources are kinds of the past.
IN_QUEUE = ""

#: All sources, in their order within one moment.
SOURCES = (IN_QUEUE, *(kind.value for kind in Past if kind.has_time), Past.FAILING.value)

#: The time of tasks that have no time in their index.
LAST = NEVER - MILLISECOND


class Position(NamedTuple):
    """A task's position in a listing: its time, source, lane and id; and whether its page was read by ids."""

    at: Annotated[datetime, msgspec.Meta(tz=True)]
    source: str
    lane: Annotated[int, msgspec.Meta(ge=0)]
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_KEY)]
    by_id: bool = False
    priority: Priority = 0

    @classmethod
    def of(cls, key: Key) -> Self:
        """The position of the task with this key."""
        source = key.kind.value if isinstance(key, PastKey) else IN_QUEUE
        priority = key.priority if isinstance(key, QueueKey) else 0
        return cls(at=key[0] or LAST, source=source, lane=key.lane, id=key.id, priority=priority)

    @property
    def key(self) -> Key:
        """The key of the task at this position."""
        if self.source == IN_QUEUE:
            return QueueKey(queued=self.at, id=self.id, lane=self.lane, priority=self.priority)
        kind = Past(self.source)
        return PastKey(at=self.at if kind.has_time else None, id=self.id, lane=self.lane, kind=kind)

    @property
    def stream(self) -> tuple[int, int]:
        """The task's stream, a lane of one source. Streams sort in their order within one moment."""
        return SOURCES.index(self.source), self.lane

    @property
    def order(self) -> tuple[datetime, tuple[int, int], str]:
        """The order of a listing: by time, stream and id."""
        return self.at, self.stream, self.id

    def __str__(self) -> str:
        """The cursor of this position."""
        return cursor_of(self)


def position_from(cursor: str) -> Position:
    """Decode a cursor: the position of the last task on its page. Raises InvalidQuery."""
    position = position_at(cursor, Position)
    try:
        position = position._replace(at=to_utc(position.at))
    except (ValueError, OverflowError):  # from the ends of the calendar
        raise wrong_cursor() from None
    if (
        not FIRST < position.at < NEVER
        or len(position.id.encode()) > LONGEST_KEY
        or position.source not in SOURCES
    ):
        raise wrong_cursor()
    return position


def is_failing(key: Key) -> bool:
    """Tell whether the key is that of a recurring task whose last occurrence failed."""
    return isinstance(key, PastKey) and key.kind is Past.FAILING
