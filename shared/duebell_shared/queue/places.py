"""The places of a task: its lane, by its id, and its key in past-index. Pure.

Tasks that have left the queue have the attribute `past`, the sort key of that index, and so have all that
recur. It begins with the kind and goes on with a time: `failed#2026-…Z`. A recurring task in the queue has
one of two constants there, so that an occurrence rarely changes the index. Recurring kinds sort next to each
other: one query finds them all.
"""

import zlib
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from duebell_shared.instants import parse, render
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task


def lane_of(id: str, lanes: int) -> int:
    """The lane of the task with this id: a hash that is the same everywhere and for ever."""
    return zlib.crc32(id.encode()) % lanes


def places_of(id: str, counts: Sequence[int]) -> list[int]:
    """The lanes that a task with this id may be in, by these numbers of lanes: each once, in their order."""
    return list(dict.fromkeys(lane_of(id, lanes) for lanes in counts))


#: Between the kind and the time.
_SEPARATOR = "#"


class Past(StrEnum):
    """The kinds of tasks in the index. Ended tasks are sorted by their end, others by their due date."""

    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"
    PAUSED = "paused"
    PAUSED_RECURRING = "paused-recurring"
    RECURRING = "recurring"
    FAILING = "recurring-failing"

    @property
    def has_time(self) -> bool:
        """Tell whether tasks of this kind are sorted by time."""
        return self not in {Past.RECURRING, Past.FAILING}


#: The kinds that are left out when only failed tasks are listed.
_UNLISTED = {Past.DONE, Past.CANCELLED}


class PastKey(NamedTuple):
    """A task's place in the index of the past; `at` is None for kinds that are not sorted by time."""

    at: datetime | None
    id: str
    lane: int
    kind: Past


def key_of(task: Task) -> PastKey | None:
    """The task's place in the index of the past, if it is there."""
    if task.status is Status.PAUSED:
        kind, at = (Past.PAUSED_RECURRING if task.recurrence else Past.PAUSED), task.due
    elif task.status is Status.BLOCKED:
        kind, at = Past.BLOCKED, task.due
    elif task.has_ended:
        kind, at = Past(task.status.value), task.finished_at or task.due
    elif task.recurrence:
        kind, at = (Past.FAILING if task.consecutive_failures else Past.RECURRING), None
    else:
        return None
    is_hidden = task.unlisted and kind in _UNLISTED
    return None if is_hidden else PastKey(at=at, id=task.id, lane=task.lane, kind=kind)


def render_past(kind: Past, at: datetime | None) -> str:
    return kind.value if at is None or not kind.has_time else kind.value + _SEPARATOR + render(at)


def parse_past(text: str) -> tuple[Past, datetime | None]:
    """Parse the attribute. Raises ValueError for a value that duebell does not write."""
    kind, _, at = text.partition(_SEPARATOR)
    return Past(kind), parse(at) if at else None
