"""What has been, by time: done, failed, and how late; read from the tasks that have something behind them.

History has no index by time, so this reads all of it once: for when someone asks, never for a first look.
"""

import bisect
import itertools
import statistics
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.recurrence import Result
from duebell_shared.task import Status, Task

from .reading import Queue
from .timeline import Step, edges

__all__ = ["Ended", "History", "history"]

#: Tasks of one lane that are looked at.
_READ = 5_000

_RESULTS = {Status.DONE: Result.DONE, Status.FAILED: Result.FAILED, Status.EXPIRED: Result.SKIPPED}


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What ended from `start` on and before `end`, and how late it was started, in milliseconds."""

    start: datetime
    end: datetime
    done: int
    failed: int
    skipped: int
    lateness_median_ms: int | None
    lateness_max_ms: int | None


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What has been; `is_all` is false when there is more history than was looked at."""

    buckets: tuple[Ended, ...]
    is_all: bool


class _End(msgspec.Struct, frozen=True):
    at: datetime
    result: Result
    lateness_ms: int | None


def history(queue: Queue, start: datetime, step: Step, count: int, *, zone: ZoneInfo) -> History:
    """So many buckets from the step that `start` is in. Cancelled tasks did not run and are left out.

    Raises InvalidQuery.
    """
    borders = edges(start, step, count, zone)
    by_lane = [_past(queue, lane) for lane in range(queue.lanes)]
    buckets: list[list[_End]] = [[] for _ in borders[1:]]
    for end in itertools.chain.from_iterable(map(_ends, itertools.chain(*by_lane))):
        if borders[0] <= end.at < borders[-1]:
            buckets[bisect.bisect_right(borders, end.at) - 1].append(end)
    return History(
        buckets=tuple(
            _summed(begin, stop, ends)
            for (begin, stop), ends in zip(itertools.pairwise(borders), buckets, strict=True)
        ),
        is_all=all(len(tasks) < _READ for tasks in by_lane),
    )


def _past(queue: Queue, lane: int) -> list[Task]:
    return list(itertools.islice(queue.store.past(lane, now=queue.clock()), _READ))


def _ends(task: Task) -> Iterator[_End]:
    """What of this task is over: its occurrences, or itself."""
    for occurrence in task.occurrences:
        yield _End(occurrence.finished_at, occurrence.result, occurrence.lateness_ms)
    if task.recurrence is None and task.finished_at and task.status in _RESULTS:
        yield _End(task.finished_at, _RESULTS[task.status], task.lateness_ms)


def _summed(start: datetime, end: datetime, ends: list[_End]) -> Ended:
    late = [one.lateness_ms for one in ends if one.lateness_ms is not None]
    counts = {result: sum(one.result is result for one in ends) for result in Result}
    return Ended(
        start=start,
        end=end,
        done=counts[Result.DONE],
        failed=counts[Result.FAILED],
        skipped=counts[Result.SKIPPED],
        lateness_median_ms=round(statistics.median(late)) if late else None,
        lateness_max_ms=max(late, default=None),
    )
