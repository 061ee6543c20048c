"""Counts of tasks to come, by minute, hour, day or month, without reading the whole queue.

An index has no counts, so counting means reading keys. In a short queue the keys of all lanes are read, and
the counts are exact. In a long queue one lane is counted and multiplied: a hash spreads ids evenly over the
lanes. A timeline costs some ten calls, however long the queue is.
"""

import bisect
import itertools
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import MILLISECOND, NEVER, Instant, to_utc
from duebell_shared.quoting import quoted
from duebell_shared.store import Store

from .filters import check_instant, check_limit
from .queue import Queue

__all__ = ["MAX_BUCKETS", "Bucket", "Step", "check_step", "edges", "timeline"]

MAX_BUCKETS = 100

#: Keys that are read of each lane at first; and then of the one lane that is counted for all.
_FEW, _MANY = 200, 10_000


class Step(StrEnum):
    """The length of a bucket; days and months are those of a time zone."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """The number of tasks that are to run from `start` on and before `end`, exact or estimated."""

    start: Instant
    end: Instant
    count: int
    is_estimate: bool = False


def timeline(queue: Queue, start: datetime, step: Step, count: int, *, zone: ZoneInfo) -> tuple[Bucket, ...]:
    """`count` buckets; the first is the step that `start` is in. Overdue tasks count when they were due.

    Raises InvalidQuery.
    """
    borders = edges(start, step, count, zone)
    lanes = queue.lanes_now()
    by_lane = queue.parallel.all(lambda lane: _dues(queue.store, lane, borders, most=_FEW), range(lanes))
    if all(len(dues) < _FEW for dues in by_lane):
        counts, is_estimate = _counted(itertools.chain(*by_lane), borders), False
    else:
        counts, is_estimate = [lanes * n for n in _count_lane(queue.store, 0, borders)], lanes > 1
    return tuple(
        Bucket(start=begin, end=end, count=count, is_estimate=is_estimate)
        for (begin, end), count in zip(itertools.pairwise(borders), counts, strict=True)
    )


def check_step(given: object) -> Step:
    """A step of a timeline. Raises InvalidQuery."""
    if isinstance(given, str) and given in set(Step):
        return Step(given)
    raise InvalidQuery("step", f"{quoted(given)} is no step: it is one of {', '.join(Step)}")


def edges(start: datetime, step: Step, count: int, zone: ZoneInfo) -> list[datetime]:
    """The borders of the buckets in UTC: each start, and the last end. Raises InvalidQuery."""
    check_limit(count, field="count", most=MAX_BUCKETS)
    start = check_instant("start", start)
    try:
        borders = [to_utc(border) for border in _borders(start.astimezone(zone), step, count, zone)]
    except (OverflowError, ValueError):
        raise InvalidQuery("start", f"{start} is too near an end of the calendar") from None
    if borders[-1] > NEVER:
        raise InvalidQuery("start", f"{start} is too near the end of the calendar")
    return borders


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
        case Step.MONTH:
            months = range(start.year * 12 + start.month - 1, start.year * 12 + start.month + count)
            return [datetime(month // 12, month % 12 + 1, 1, tzinfo=zone) for month in months]


def _dues(store: Store, lane: int, borders: Sequence[datetime], *, most: int) -> list[datetime]:
    """The times of a lane's first tasks within the borders, at most `most`."""
    keys = store.queued(lane, after=borders[0], before=borders[-1] - MILLISECOND)
    return [key.queued for key in itertools.islice(keys, most)]


def _counted(dues: Iterable[datetime], borders: Sequence[datetime]) -> list[int]:
    counts = [0] * (len(borders) - 1)
    for due in dues:
        counts[bisect.bisect_right(borders, due) - 1] += 1
    return counts


def _count_lane(store: Store, lane: int, borders: Sequence[datetime]) -> list[int]:
    """The number of a lane's tasks in each bucket; buckets beyond its first keys are counted one by one."""
    dues = _dues(store, lane, borders, most=_MANY)
    counts = _counted(dues, borders)
    if len(dues) == _MANY:
        for number in range(bisect.bisect_right(borders, dues[-1]) - 1, len(counts)):
            begin, end = borders[number], borders[number + 1] - MILLISECOND
            counts[number] = store.count(lane, after=begin, before=end, most=_MANY)
    return counts
