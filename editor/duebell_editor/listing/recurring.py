"""Recurring tasks: lists them without reading the whole queue, and counts their future occurrences.

All recurring tasks are together in the index of the past. Each query reads up to 3,200 keys of one lane.
"""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, NamedTuple

import msgspec

from duebell_shared.instants import MILLISECOND
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.queue.store import LARGEST_PAGE
from duebell_shared.queue.task_queue import Queue
from duebell_shared.schedules.schedule import Schedule
from duebell_shared.tasks.recurrence import delay_of
from duebell_shared.tasks.task import Task

from .listing import Page
from .positions import cursor_of, position_at

#: The order of a listing: first the tasks that need attention.
_ORDER = (Past.FAILING, Past.RECURRING, Past.PAUSED_RECURRING)


class _Position(NamedTuple):
    """A task's position in the listing."""

    kind: Annotated[int, msgspec.Meta(ge=0, lt=len(_ORDER))]
    id: str

    @classmethod
    def of(cls, key: PastKey) -> "_Position":
        return cls(_ORDER.index(key.kind), key.id)


def recurring_keys(queue: Queue, lanes: int) -> list[PastKey]:
    """The keys of all tasks that recur and have not ended."""

    def read(lane: int) -> list[PastKey]:
        keys = queue.store.past(lane, Past.PAUSED_RECURRING, last=Past.FAILING, page_size=LARGEST_PAGE)
        return list(keys)

    return list(itertools.chain(*queue.parallel.all(read, range(lanes))))


def recurring_tasks(queue: Queue) -> list[Task]:
    """All tasks that recur and have not ended, read."""
    return [task for _, task in _recurring(queue, recurring_keys(queue, queue.lanes_now()))]


def list_recurring(queue: Queue, *, prefix: str, limit: int, cursor: str | None) -> Page:
    """A page of recurring tasks: failing tasks first, paused tasks last, and by id within each kind."""
    start = None if cursor is None else position_at(cursor, _Position)
    keys = (key for key in recurring_keys(queue, queue.lanes_now()) if key.id.startswith(prefix))
    positions = {_Position.of(key): key for key in keys}
    left = sorted(position for position in positions if start is None or position > start)
    found = list(itertools.islice(_recurring(queue, map(positions.__getitem__, left)), limit))
    last = _Position.of(found[-1][0]) if found else None
    return Page(
        tasks=tuple(task for _, task in found),
        cursor=None if last is None or last == left[-1] else cursor_of(last),
    )


def _recurring(queue: Queue, keys: Iterable[PastKey]) -> Iterator[tuple[PastKey, Task]]:
    """The tasks that still recur, as they are now.

    The index may be a second behind the table: a task that was paused just now is found by its former key.
    """
    ids = set()
    for key, task in queue.tasks_of(keys):
        if task.recurrence and not task.has_ended and task.id not in ids:
            ids.add(task.id)
            yield key, task


def coming(tasks: Iterable[Task], borders: Sequence[datetime], now: datetime) -> list[int]:
    """The number of occurrences in each bucket, without the current occurrence of each task.

    Schedules calculate the counts, so a thousand occurrences in a bucket cost no more than two.
    """
    counts = [0] * (len(borders) - 1)

    @cache  # many tasks share a schedule
    def counted(schedule: Schedule, delay: timedelta, begin: datetime) -> list[int]:
        return _counted(schedule, delay, begin, borders)

    for task in tasks:
        if (recurrence := task.recurrence) is None or task.queued is None:
            continue
        for extra in recurrence.pending:
            if borders[0] <= extra.queued < borders[-1]:
                counts[bisect.bisect_right(borders, extra.queued) - 1] += 1
        if recurrence.next_due is None:
            continue
        schedule, left = recurrence.schedule, recurrence.runs_left
        delay = delay_of(task.id, task.spread)
        begin = max(recurrence.next_due, now - delay)
        if left is not None:  # some of these runs may come before the first bucket
            left = max(0, left - schedule.count(begin - MILLISECOND, borders[0] - delay - MILLISECOND))
        for number, count in enumerate(_at_most(counted(schedule, delay, begin), left)):
            counts[number] += count
    return counts


def _counted(schedule: Schedule, delay: timedelta, begin: datetime, borders: Sequence[datetime]) -> list[int]:
    """Count the schedule's occurrences from `begin` on by bucket. Each starts `delay` after its time."""
    borders = [max(border - delay, begin) - MILLISECOND for border in borders]
    counts = [0] * (len(borders) - 1)
    if schedule.count(borders[0], borders[-1]) > len(counts):
        return [schedule.count(after, until) for after, until in itertools.pairwise(borders)]
    for due in itertools.takewhile(lambda due: due <= borders[-1], schedule.occurrences(borders[0])):
        counts[bisect.bisect_left(borders, due) - 1] += 1
    return counts


def _at_most(counts: Iterable[int], most: int | None) -> Iterator[int]:
    """The counts, reduced so that their sum is `most` at most."""
    left = most
    for count in counts:
        yield count if left is None else min(count, left)
        left = None if left is None else left - min(count, left)
