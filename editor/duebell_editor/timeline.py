"""How many tasks are to come, by minute, hour, day or month, without walking the queue.

The index knows order, not numbers, so counting means reading keys, up to so many in each bucket: one with
more holds "at least so many". What a timeline costs is thus bounded by how many buckets it has, however long
the queue is. Where tasks are few, one page of keys covers many buckets; where they are many, DynamoDB counts
and sends no keys.
"""

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import MILLISECOND, NEVER, to_utc
from duebell_shared.store import Store

from .reading import Queue
from .side_by_side import each

__all__ = ["MAX_BUCKETS", "Bucket", "Step", "edges", "timeline"]

MAX_BUCKETS = 100

#: Tasks of one lane that are counted in one bucket; and keys that the store reads at a time.
_COUNTED = 200


class Step(StrEnum):
    """How much time a bucket of a timeline spans; days and months are those of a time zone."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that are looked at from `start` on and before `end`: so many, or at least so many."""

    start: datetime
    end: datetime
    count: int
    is_all: bool = True


def timeline(queue: Queue, start: datetime, step: Step, count: int, *, zone: ZoneInfo) -> tuple[Bucket, ...]:
    """So many buckets from the step that `start` is in. What is overdue counts where it was due.

    Raises InvalidQuery.
    """
    borders = edges(start, step, count, zone)
    by_lane = each(lambda lane: _count_lane(queue.store, lane, borders), range(queue.lanes_now()))
    return tuple(
        Bucket(start=begin, end=end, count=sum(counts), is_all=all(n < _COUNTED for n in counts))
        for (begin, end), counts in zip(itertools.pairwise(borders), zip(*by_lane, strict=True), strict=True)
    )


def edges(start: datetime, step: Step, count: int, zone: ZoneInfo) -> list[datetime]:
    """Where the buckets of a timeline begin, and where the last one ends, in UTC. Raises InvalidQuery."""
    if not 1 <= count <= MAX_BUCKETS:
        raise InvalidQuery("count", f"must be 1 to {MAX_BUCKETS}, not {count}")
    try:
        borders = [to_utc(border) for border in _borders(start.astimezone(zone), step, count, zone)]
    except (OverflowError, ValueError):
        raise InvalidQuery("start", f"{start} is too near an end of the calendar") from None
    if borders[-1] > NEVER:
        raise InvalidQuery("start", f"{start} is too near the end of the calendar")
    return borders


def _borders(start: datetime, step: Step, count: int, zone: ZoneInfo) -> list[datetime]:
    match step:
        case Step.MINUTE | Step.HOUR:  # as time passes, whatever clocks are set to
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


def _count_lane(store: Store, lane: int, borders: Sequence[datetime]) -> list[int]:
    """Tasks of the lane in each bucket, counted up to _COUNTED: what is beyond that is skipped, not read."""
    counts = [0] * (len(borders) - 1)
    is_crowded = False
    at = 0
    while at < len(counts):
        if is_crowded:  # after one bucket that holds more than a page, the next most likely does too
            end = borders[at + 1] - MILLISECOND
            counts[at] = store.count(lane, after=borders[at], before=end, most=_COUNTED)
        else:
            for key in store.queued(lane, after=borders[at], before=borders[-1] - MILLISECOND):
                while key.queued >= borders[at + 1]:
                    at += 1
                counts[at] += 1
                if counts[at] == _COUNTED:
                    break
            else:
                return counts
        is_crowded = counts[at] == _COUNTED
        at += 1
    return counts
