"""The order of the queue: by time, and within a millisecond by priority. Pure.

The sort key `queued` of a task without a priority is its time, `2026-12-31T00:00:00.000Z`. With a priority a
rank stands instead of the Z, `#1` for 9 to `#9` for 1: it sorts before the Z, and higher priorities first.
So the index itself has the tasks of a millisecond in order, and a key tells the priority without a read of
the task.
"""

from datetime import datetime

from duebell_shared.counts import MAX_PRIORITY
from duebell_shared.instants import parse, render

__all__ = ["parse_queued", "render_queued"]

#: Between the time and the rank.
_SEPARATOR = "#"


def render_queued(at: datetime, priority: int = 0) -> str:
    """The text of the attribute."""
    text = render(at)
    return f"{text[:-1]}{_SEPARATOR}{MAX_PRIORITY + 1 - priority}" if priority else text


def parse_queued(text: str) -> tuple[datetime, int]:
    """The time and the priority. Raises ValueError for text that duebell does not write."""
    time, separator, rank = text.partition(_SEPARATOR)
    at = parse(f"{time}Z" if separator else time)
    priority = MAX_PRIORITY + 1 - int(rank) if separator else 0
    if not 0 <= priority <= MAX_PRIORITY or render_queued(at, priority) != text:
        raise ValueError(f"{text} is no place in the queue")
    return at, priority
