"""Counts of ended tasks by time: done, failed, skipped, and how late they started.

Ended tasks are counted by their keys in the index of the past, up to a limit. Lateness is known only of the
tasks that are read in full, up to another limit; so are past occurrences, which are stored in their task.
"""

import bisect
import itertools
import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.instants import MILLISECOND, NEVER, Instant
from duebell_shared.past_index import Past, PastKey
from duebell_shared.recurrence import Result

from .queue import Queue
from .timeline import Step, edges

__all__ = ["Ended", "TaskHistory", "history"]

#: Keys read of each kind in each lane, and tasks read in full.
_KEYS, _READ = 2_000, 1_000

#: The result of each kind of ended task.
_RESULTS = {Past.DONE: Result.DONE, Past.FAILED: Result.FAILED, Past.EXPIRED: Result.SKIPPED}

#: The kinds of tasks that have not ended but may have past occurrences.
_RECUR = (Past.RECURRING, Past.FAILING, Past.PAUSED)


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that ended from `start` on and before `end`, and how late they started, in milliseconds."""

    start: Instant
    end: Instant
    done: int
    failed: int
    skipped: int
    lateness_median_ms: int | None
    lateness_max_ms: int | None


class TaskHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that ended, by time; `is_all` is false when there are more than were counted.

    Lateness is that of the first thousand tasks, and of the occurrences of the recurring ones among them.
    """

    buckets: tuple[Ended, ...]
    is_all: bool


class _End(msgspec.Struct, frozen=True):
    at: datetime
    result: Result
    lateness_ms: int | None


def history(queue: Queue, start: datetime, step: Step, count: int, *, zone: ZoneInfo) -> TaskHistory:
    """`count` buckets; the first is the step that `start` is in. Cancelled tasks are left out.

    Raises InvalidQuery.
    """
    borders = edges(start, step, count, zone)
    ended = _keys(queue, list(_RESULTS), after=borders[0], before=borders[-1] - MILLISECOND)
    recurring = _keys(queue, _RECUR)
    buckets: list[list[_End]] = [[] for _ in borders[1:]]
    for end in itertools.chain(_ends(queue, ended), _ends(queue, recurring)):
        if borders[0] <= end.at < borders[-1]:
            buckets[bisect.bisect_right(borders, end.at) - 1].append(end)
    return TaskHistory(
        buckets=tuple(
            _summed(begin, stop, ends)
            for (begin, stop), ends in zip(itertools.pairwise(borders), buckets, strict=True)
        ),
        is_all=all(len(keys) < _KEYS for keys in ended) and sum(map(len, recurring)) <= _READ,
    )


def _keys(
    queue: Queue, kinds: Sequence[Past], *, after: datetime | None = None, before: datetime = NEVER
) -> list[list[PastKey]]:
    """Read the first keys of each kind in each lane."""

    def read(stream: tuple[int, Past]) -> list[PastKey]:
        return list(itertools.islice(queue.store.past(*stream, after=after, before=before), _KEYS))

    return queue.parallel.all(read, itertools.product(range(queue.lanes_now()), kinds))


def _ends(queue: Queue, keys: list[list[PastKey]]) -> Iterator[_End]:
    """Ended tasks and occurrences: in full for the first tasks, without lateness for the others."""
    in_order = sorted(itertools.chain(*keys), key=lambda key: (key.kind is Past.PAUSED, key.at or NEVER))
    for key, task in queue.tasks_at(in_order[:_READ]):
        for occurrence in task.occurrences:
            yield _End(occurrence.finished_at, occurrence.result, occurrence.lateness_ms)
        if task.recurrence is None and task.finished_at and isinstance(key, PastKey) and key.kind in _RESULTS:
            yield _End(task.finished_at, _RESULTS[key.kind], task.lateness_ms)
    for key in in_order[_READ:]:
        if key.at and key.kind in _RESULTS:
            yield _End(key.at, _RESULTS[key.kind], None)


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
