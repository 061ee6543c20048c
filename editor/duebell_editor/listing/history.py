"""Counts of ended tasks by time: done, failed, skipped, and how late they started.

Ended tasks are counted by their keys in the index of the past, in a long history by those of one lane. Each
result is counted by itself: failures are mostly few, and then exact. Past occurrences are stored in their
task, which is read in full, up to a limit; so is lateness.
"""

import bisect
import itertools
import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.instants import MILLISECOND, NEVER, Instant
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.queue.task_queue import PAGE, Queue, evenly, first_keys, sample_lanes
from duebell_shared.tasks.history import Result

from .recurring import recurring_keys
from .timeline import Step, edges

#: Tasks that are read in full: first recurring ones, then those that have ended.
_READ = 300

#: The result of each kind of ended task.
_RESULTS = {Past.DONE: Result.DONE, Past.FAILED: Result.FAILED, Past.EXPIRED: Result.SKIPPED}


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that ended from `start` on and before `end`, and how late they started, in milliseconds."""

    start: Instant
    end: Instant
    done: int
    failed: int
    skipped: int
    lateness_median_ms: int | None
    lateness_max_ms: int | None
    is_estimate: bool = False


class PastTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that ended, by time; `is_all` is false when there are more than were counted, before these.

    Lateness is that of 300 tasks at most, evenly spaced, and of the occurrences of the recurring ones among
    them.
    """

    buckets: tuple[Ended, ...]
    is_all: bool


class _Keys(NamedTuple):
    """Keys of one kind; each stands for so many tasks. `is_cut` when there are more, earlier ones."""

    keys: list[PastKey]
    factor: int
    is_cut: bool


class _End(NamedTuple):
    at: datetime
    result: Result
    lateness_ms: int | None
    number: float


def past_timeline(queue: Queue, start: datetime, step: Step, count: int, *, zone: ZoneInfo) -> PastTimeline:
    """Do what `Editor.past_timeline` does."""
    borders = edges(start, step, count, zone)
    lanes = queue.lanes_now()
    recurring = recurring_keys(queue, lanes)
    ended = [_ended(queue, lanes, kind, borders) for kind in _RESULTS]
    buckets: list[list[_End]] = [[] for _ in borders[1:]]
    for end in _ends(queue, recurring, ended):
        if borders[0] <= end.at < borders[-1]:
            buckets[bisect.bisect_right(borders, end.at) - 1].append(end)
    is_estimate = len(recurring) > _READ or any(found.factor > 1 for found in ended)
    return PastTimeline(
        buckets=tuple(
            _summed(begin, stop, ends, is_estimate=is_estimate)
            for (begin, stop), ends in zip(itertools.pairwise(borders), buckets, strict=True)
        ),
        is_all=not any(found.is_cut for found in ended),
    )


def _ended(queue: Queue, lanes: int, kind: Past, borders: Sequence[datetime]) -> _Keys:
    """Read the latest keys of a kind: of all lanes, or of one for all of them."""

    def read(lane: int) -> tuple[list[PastKey], bool]:
        before = borders[-1] - MILLISECOND
        keys = queue.store.past(
            lane, kind, after=borders[0], before=before, latest_first=True, page_size=PAGE
        )
        return first_keys(keys)

    by_lane, factor = sample_lanes(queue, lanes, read, size=lambda found: len(found[0]))
    keys = list(itertools.chain(*(keys for keys, _ in by_lane)))
    return _Keys(keys, factor, is_cut=any(is_cut for _, is_cut in by_lane))


def _ends(queue: Queue, recurring: list[PastKey], ended: list[_Keys]) -> Iterator[_End]:
    """Ends of tasks, and of the occurrences of those that recur: some of them with their lateness."""
    factor_of = {found.keys[0].kind: found.factor for found in ended if found.keys}
    in_order = sorted(itertools.chain(*(found.keys for found in ended)), key=lambda key: key.at or NEVER)
    to_read: list[PastKey] = evenly(recurring, _READ)
    share = len(recurring) / max(1, len(to_read))
    to_read += evenly(in_order, _READ - len(to_read))
    in_full = dict(queue.tasks_of(to_read))
    for key, task in in_full.items():
        factor = factor_of.get(key.kind, share)
        for occurrence in task.occurrences:
            yield _End(occurrence.finished_at, occurrence.result, occurrence.lateness_ms, factor)
    for key in in_order:
        read = in_full.get(key)
        if key.at and not (read and read.occurrences):
            lateness = read.lateness_ms if read else None
            yield _End(key.at, _RESULTS[key.kind], lateness, factor_of[key.kind])


def _summed(start: datetime, end: datetime, ends: list[_End], *, is_estimate: bool) -> Ended:
    late = [one.lateness_ms for one in ends if one.lateness_ms is not None]
    counts = {result: round(sum(one.number for one in ends if one.result is result)) for result in Result}
    return Ended(
        start=start,
        end=end,
        done=counts[Result.DONE],
        failed=counts[Result.FAILED],
        skipped=counts[Result.SKIPPED],
        lateness_median_ms=round(statistics.median(late)) if late else None,
        lateness_max_ms=max(late, default=None),
        is_estimate=is_estimate,
    )
