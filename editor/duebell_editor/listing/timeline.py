"""Counts of future runs of tasks, by minute, hour or day, without reading the whole queue.

The first keys of all lanes are read, and counted exactly. Later keys are counted in the first lane, and
multiplied by the number of lanes. A recurring task is in the queue once; its schedule gives its later
occurrences. A timeline costs 20 calls at most in a queue of four lanes, however long the queue is. Paused
actions cost one read and up to 20 counts more.
"""

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import MILLISECOND, Instant, to_utc
from duebell_shared.limits.limits import Limits
from duebell_shared.queue.places import Past
from duebell_shared.queue.store import LARGEST_PAGE
from duebell_shared.queue.task_queue import Queue, evenly
from duebell_shared.tasks.task import QueueKey

from .filters import check_instant, check_limit
from .queue_counts import count_by_time, first_tasks, overdue_before
from .recurring import coming, recurring_keys

MAX_BUCKETS = 100

#: The most recurring tasks that are read to count their occurrences. Of more tasks, counts are extrapolated.
_RECURRING = 300


class Step(StrEnum):
    """The length of a bucket; days are those of a time zone."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """The number of tasks and occurrences that are to run from `start` on and before `end`.

    count        tasks in the queue, and later occurrences of recurring tasks
    occurrences  how many of these are later occurrences
    overdue      how many of these should have started and have not, by the rule of the status
    paused       how many of these wait because their action is paused; a run then only checks them
    is_estimate  whether it is extrapolated from one lane, or from some of the recurring tasks
    """

    start: Instant
    end: Instant
    count: int
    occurrences: int = 0
    overdue: int = 0
    paused: int = 0
    is_estimate: bool = False


def timeline(queue: Queue, start: datetime, step: Step, count: int, *, zone: ZoneInfo) -> tuple[Bucket, ...]:
    """Do what `Editor.timeline` does."""
    borders, now, record = edges(start, step, count, zone), queue.clock(), queue.record()
    limits = queue.store.read(Limits) if record.limits else None
    parked = limits.parked(now) if limits else ()

    def keys_of(lane: int) -> list[QueueKey]:
        before = borders[-1] - MILLISECOND
        keys = queue.store.queued(lane, after=borders[0], before=before, page_size=LARGEST_PAGE)
        return list(itertools.islice(keys, LARGEST_PAGE))

    by_lane = queue.parallel.all(keys_of, range(record.counts[0]))
    first = first_tasks(queue.store, record, by_lane, now, page=LARGEST_PAGE)
    waiting = count_by_time(queue.store, first, borders, overdue_before(record, now), parked)
    more, is_all = _occurrences(queue, len(by_lane), borders, now)
    return tuple(
        Bucket(
            start=borders[n],
            end=borders[n + 1],
            count=waiting.counts[n] + more[n],
            occurrences=more[n],
            overdue=waiting.overdue[n],
            paused=waiting.paused[n],
            is_estimate=n >= waiting.exact or not is_all,
        )
        for n in range(count)
    )


def edges(start: datetime, step: Step, count: int, zone: ZoneInfo) -> list[datetime]:
    """The borders of the buckets in UTC: each start, and the last end. Raises InvalidQuery."""
    check_limit(count, field="count", most=MAX_BUCKETS)
    start = check_instant("start", start)
    try:
        return [to_utc(border) for border in _borders(start.astimezone(zone), step, count, zone)]
    except (OverflowError, ValueError):
        raise InvalidQuery("start", f"{start} is too near an end of the calendar") from None


def _borders(start: datetime, step: Step, count: int, zone: ZoneInfo) -> list[datetime]:
    match step:
        case Step.MINUTE | Step.HOUR:  # elapsed time, whatever clocks are set to
            length = timedelta(minutes=1) if step is Step.MINUTE else timedelta(hours=1)
            begin = start.replace(second=0, microsecond=0)
            begin = begin.replace(minute=0) if step is Step.HOUR else begin
            first = to_utc(begin)
            return [first + n * length for n in range(count + 1)]
        case Step.DAY:
            return [
                datetime(start.year, start.month, start.day, tzinfo=zone) + timedelta(days=n)
                for n in range(count + 1)
            ]


def _occurrences(
    queue: Queue, lanes: int, borders: Sequence[datetime], now: datetime
) -> tuple[list[int], bool]:
    """Count the later occurrences of recurring tasks; tell whether all recurring tasks were read."""
    if borders[-1] <= now:
        return [0] * (len(borders) - 1), True
    keys = [key for key in recurring_keys(queue, lanes) if key.kind is not Past.PAUSED_RECURRING]
    read = evenly(keys, _RECURRING)
    counts = coming((task for _, task in queue.tasks_of(read)), borders, now)
    return [count * len(keys) // max(1, len(read)) for count in counts], len(read) == len(keys)
