"""Counts of what is to run, by minute, hour, day or month, without reading the whole queue.

In a short queue the keys of all lanes are read, and the counts are exact. In a long queue one lane is counted
and multiplied. A recurring task is in the queue once; its later occurrences are counted by its schedule. A
timeline costs 20 calls at most in a queue of four lanes, however long the queue is. Overdue tasks cost one
call more for each lane, to leave out tasks that only owe a follow-up. Paused actions cost one read and up to
20 counts more.
"""

import bisect
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import MILLISECOND, NEVER, Instant, to_utc
from duebell_shared.limits.limits import Limits
from duebell_shared.queue.places import Past
from duebell_shared.queue.task_queue import PAGE, Queue, evenly, first_keys, sample_lanes

from .filters import check_instant, check_limit
from .queue_counts import (
    COUNTED_AT_ONCE,
    MOST_COUNTED,
    PARKED_TIMES,
    due_tasks,
    is_under_way,
    overdue_before,
    owes,
)
from .recurring import coming, recurring_keys

MAX_BUCKETS = 100

#: Recurring tasks that are read in full, to count their occurrences; of more, these stand for all.
_RECURRING = 300


class Step(StrEnum):
    """The length of a bucket; days and months are those of a time zone."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """The number of tasks and occurrences that are to run from `start` on and before `end`.

    count        tasks in the queue, and occurrences of recurring tasks after their next
    occurrences  how many of these are such occurrences
    overdue      how many of these should have started, as the status counts them, and have not ended
    paused       how many of these were put back to then while their action is paused: they are only looked at
    is_estimate  whether one lane was counted for all, or some recurring tasks for all
    """

    start: Instant
    end: Instant
    count: int
    occurrences: int = 0
    overdue: int = 0
    paused: int = 0
    is_estimate: bool = False


class _Waiting(NamedTuple):
    """The numbers of tasks of one lane in each bucket, overdue and paused ones, and keys read."""

    counts: list[int]
    overdue: list[int]
    paused: list[int]
    read: int
    is_exact: bool


def timeline(queue: Queue, start: datetime, step: Step, count: int, *, zone: ZoneInfo) -> tuple[Bucket, ...]:
    """Do what `Editor.timeline` does."""
    borders, now = edges(start, step, count, zone), queue.clock()
    record = queue.record()
    lanes, late = record.counts[0], overdue_before(record, now)
    limits = queue.store.read(Limits) if record.limits else None
    parked = limits.parked(now) if limits else ()

    def waiting_in(borders: Sequence[datetime]) -> Callable[[int], _Waiting]:
        return lambda lane: _waiting(queue, record, lane, borders, late=late, parked=parked, now=now)

    counted, factor = sample_lanes(
        queue,
        lanes,
        waiting_in(borders),
        size=lambda lane: lane.read,
    )
    more, is_all = _occurrences(queue, lanes, borders, now)
    late_lanes = counted
    if factor > 1 and sum(counted[0].overdue) <= MOST_COUNTED:  # few: counted as exactly as by the status
        until = [border for border in borders if border < late]
        until += [late] if len(until) < len(borders) else []
        others = queue.parallel.all(waiting_in(until), range(1, lanes if until[1:] else 1))
        late_lanes = [*counted, *others]
    exact = len(late_lanes) == lanes
    late_by_lane = itertools.zip_longest(*(lane.overdue for lane in late_lanes), fillvalue=0)
    overdue = [sum(column) * (1 if exact else factor) for column in late_by_lane]
    due = [[a - b for a, b in zip(lane.counts, lane.overdue, strict=True)] for lane in counted]
    waiting = [factor * sum(column) + n for column, n in zip(zip(*due, strict=True), overdue, strict=True)]
    paused = [factor * sum(column) for column in zip(*(lane.paused for lane in counted), strict=True)]
    is_exact = is_all and factor == 1 and all(lane.is_exact for lane in counted)
    return tuple(
        Bucket(
            start=borders[n],
            end=borders[n + 1],
            count=waiting[n] + more[n],
            occurrences=more[n],
            overdue=overdue[n],
            paused=paused[n],
            is_estimate=not is_exact,
        )
        for n in range(count)
    )


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


def _waiting(
    queue: Queue,
    record: ArmingRecord,
    lane: int,
    borders: Sequence[datetime],
    *,
    late: datetime,
    parked: Collection[datetime],
    now: datetime,
) -> _Waiting:
    """Count a lane's tasks by their keys; behind the last key that is read, DynamoDB counts.

    Tasks that were due before `late` and are not under way are overdue, and tasks at times of `parked` are
    paused. A task that has ended and owes a follow-up counts only if it recurs, at its next time.
    """
    store = queue.store
    keys = store.queued(lane, after=borders[0], before=borders[-1] - MILLISECOND, page_size=PAGE)
    read, is_cut = first_keys(keys)
    first_late = itertools.takewhile(lambda key: key.queued < late, read)
    looked_at = dict(due_tasks(store, first_late))
    owing = {key: task.owes for key, task in looked_at.items() if owes(key, task)}
    under_way = {key for key, task in looked_at.items() if is_under_way(task, record, now)}
    dues = [(key.queued, key in under_way) for key in read if key not in owing]
    dues += [(owed.queued, False) for owed in owing.values() if owed and owed.queued]
    counts, overdue, paused = ([0] * (len(borders) - 1) for _ in range(3))
    for due, has_started in dues:
        if borders[0] <= due < borders[-1]:
            place = bisect.bisect_right(borders, due) - 1
            counts[place] += 1
            overdue[place] += due < late and not has_started
            paused[place] += due in parked
    if is_cut:
        last = read[-1].queued
        for at in [at for at in parked if last < at < borders[-1]][:PARKED_TIMES]:
            paused[bisect.bisect_right(borders, at) - 1] += store.count(
                lane, after=at, before=at, most=COUNTED_AT_ONCE
            )
        first = bisect.bisect_right(borders, last) - 1
        for begin, end in _stretches(first, len(counts)):
            bounds = {"after": borders[begin], "before": borders[end] - MILLISECOND}
            found = store.count(lane, **bounds, most=COUNTED_AT_ONCE)
            counts[begin:end] = _shared_out(found, borders[begin : end + 1])
            overdue[begin:end] = [n if borders[begin] < late else 0 for n in counts[begin:end]]
    return _Waiting(counts, overdue, paused, len(read), not is_cut)


def _stretches(first: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of buckets, each twice as long as the one before: eight of them for a hundred buckets."""
    length = 1
    while first < end:
        yield first, min(first + length, end)
        first, length = first + length, 2 * length


def _shared_out(count: int, borders: Sequence[datetime]) -> list[int]:
    whole = borders[-1] - borders[0]
    up_to = [round(count * ((border - borders[0]) / whole)) for border in borders]
    return [after - before for before, after in itertools.pairwise(up_to)]


def _occurrences(
    queue: Queue, lanes: int, borders: Sequence[datetime], now: datetime
) -> tuple[list[int], bool]:
    """Count the occurrences of recurring tasks after their next; tell whether all such tasks were read."""
    if borders[-1] <= now:
        return [0] * (len(borders) - 1), True
    keys = [key for key in recurring_keys(queue, lanes) if key.kind is not Past.PAUSED_RECURRING]
    read = evenly(keys, _RECURRING)
    counts = coming((task for _, task in queue.tasks_of(read)), borders, now)
    return [count * len(keys) // max(1, len(read)) for count in counts], len(read) == len(keys)
