"""Counts of ended tasks by time: done, failed, skipped, and how late they started.

Ended tasks are counted by their keys in the index of the past: the latest keys of each lane and result. Past
occurrences and lateness are only in the tasks, so a limited number of tasks is read in full.
"""

import bisect
import itertools
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.instants import MILLISECOND, NEVER, Instant
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.queue.store import LARGEST_PAGE
from duebell_shared.queue.task_queue import Queue, evenly
from duebell_shared.tasks.history import Result

from .recurring import recurring_keys
from .timeline import Step, edges

#: Tasks that are read in full: first recurring ones, then those that have ended.
_READ = 300

#: The result of each kind of ended task.
_RESULTS = {Past.DONE: Result.DONE, Past.FAILED: Result.FAILED, Past.EXPIRED: Result.SKIPPED}


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that ended from `start` on and before `end`, and how late they started at most.

    lateness_max_ms  in milliseconds, of the tasks that were read in full; None if it is not known
    is_estimate      whether the counts are extrapolated from some of the recurring tasks
    """

    start: Instant
    end: Instant
    done: int
    failed: int
    skipped: int
    lateness_max_ms: int | None
    is_estimate: bool = False


class PastTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that ended, by time; `is_all` is false when earlier tasks were left out.

    Lateness is known of at most 300 tasks, evenly spaced, and of the occurrences of the recurring tasks among
    them.
    """

    buckets: tuple[Ended, ...]
    is_all: bool


class _End(NamedTuple):
    """The end of a task or an occurrence; it counts as `number` of them."""

    at: datetime
    result: Result
    lateness_ms: int | None
    number: float = 1


def past_timeline(queue: Queue, start: datetime, step: Step, count: int, *, zone: ZoneInfo) -> PastTimeline:
    """Do what `Editor.past_timeline` does."""
    borders = edges(start, step, count, zone)
    lanes = queue.lanes_now()
    recurring = recurring_keys(queue, lanes)

    def read(place: tuple[Past, int]) -> list[PastKey]:
        kind, lane = place
        before = borders[-1] - MILLISECOND
        keys = queue.store.past(
            lane, kind, after=borders[0], before=before, latest_first=True, page_size=LARGEST_PAGE
        )
        return list(itertools.islice(keys, LARGEST_PAGE))

    ended = queue.parallel.all(read, [*itertools.product(_RESULTS, range(lanes))])
    in_order = sorted(itertools.chain(*ended), key=lambda key: key.at or NEVER)
    buckets: list[list[_End]] = [[] for _ in borders[1:]]
    for end in _ends(queue, recurring, in_order):
        if borders[0] <= end.at < borders[-1]:
            buckets[bisect.bisect_right(borders, end.at) - 1].append(end)
    return PastTimeline(
        buckets=tuple(
            _summed(begin, stop, ends, is_estimate=len(recurring) > _READ)
            for (begin, stop), ends in zip(itertools.pairwise(borders), buckets, strict=True)
        ),
        is_all=all(len(keys) < LARGEST_PAGE for keys in ended),
    )


def _ends(queue: Queue, recurring: Sequence[PastKey], ended: Sequence[PastKey]) -> Iterator[_End]:
    """Yields the ends of tasks, and of occurrences of recurring tasks. Only some have their lateness."""
    to_read = evenly(recurring, _READ)
    share = len(recurring) / max(1, len(to_read))
    in_full = dict(queue.tasks_of([*to_read, *evenly(ended, _READ - len(to_read))]))
    for key, task in in_full.items():
        number = 1 if key.kind in _RESULTS else share
        for occurrence in task.occurrences:
            yield _End(occurrence.finished_at, occurrence.result, occurrence.lateness_ms, number)
    for key in ended:
        read = in_full.get(key)
        if key.at and not (read and read.occurrences):
            yield _End(key.at, _RESULTS[key.kind], read.lateness_ms if read else None)


def _summed(start: datetime, end: datetime, ends: list[_End], *, is_estimate: bool) -> Ended:
    counts = {result: round(sum(one.number for one in ends if one.result is result)) for result in Result}
    return Ended(
        start=start,
        end=end,
        done=counts[Result.DONE],
        failed=counts[Result.FAILED],
        skipped=counts[Result.SKIPPED],
        lateness_max_ms=max((one.lateness_ms for one in ends if one.lateness_ms is not None), default=None),
        is_estimate=is_estimate,
    )
