"""Counts of tasks in the queue at one moment: all, overdue, due tonight, running, with a follow-up owed.

It reads the first keys of each lane, and mostly one batch of tasks, to see which run or owe a follow-up.
"""

import bisect
import itertools
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE, ArmingRecord
from duebell_shared.errors import DuebellError
from duebell_shared.instants import MILLISECOND, NEVER, to_utc
from duebell_shared.queue.calls import KEYS_AT_ONCE
from duebell_shared.queue.places import Past
from duebell_shared.queue.store import Store
from duebell_shared.queue.task_queue import Queue
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import STARTS_WITHIN, QueueKey, Task


class PastCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of paused and of ended tasks, each at most 1,000. The status counts failed tasks."""

    paused: int
    done: int
    expired: int
    cancelled: int


#: The kinds to count, without failed tasks: the status counts them, and it would be over twenty calls.
#: Paused recurring tasks are a separate kind, which sorts next to the other paused tasks.
_KINDS = {Past.PAUSED: Past.PAUSED_RECURRING, Past.DONE: None, Past.EXPIRED: None, Past.CANCELLED: None}


def count_past(queue: Queue) -> PastCounts:
    """Count the keys of each kind in each lane. Raises NotDeployed where the table has no `past-index`."""
    streams = list(itertools.product(_KINDS, range(queue.lanes_now())))
    counts = queue.parallel.all(
        lambda stream: queue.store.count_past(
            stream[1], stream[0], last=_KINDS[stream[0]], most=MOST_COUNTED
        ),
        streams,
    )
    found = dict.fromkeys(_KINDS, 0)
    for (kind, _), count in zip(streams, counts, strict=True):
        found[kind] += count
    return PastCounts(**{kind.value: min(count, MOST_COUNTED) for kind, count in found.items()})


#: Keys read of each lane: one page of the store.
_KEYS = 200


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state at one moment; two snapshots that differ mean that something has changed.

    arming  the arming record's rev: every run and every new earliest task changes it
    busy    whether a run is at work
    keys    the first keys of each lane in this part of the queue
    """

    arming: int
    busy: bool
    keys: tuple[tuple[QueueKey, ...], ...]


def snapshot(queue: Queue, *, after: datetime | None = None, before: datetime = NEVER) -> Snapshot:
    """Read the arming record, and a page of each lane: one read each."""
    record, now = queue.record(), queue.clock()
    stretches = (queue.store.queued(lane, after=after, before=before) for lane in range(len(record.lanes)))
    return Snapshot(
        arming=record.rev,
        busy=any(not lane.is_free(now) for lane in record.lanes),
        keys=tuple(tuple(itertools.islice(keys, _KEYS)) for keys in stretches),
    )


#: The limit of each count, and the number of keys read from each lane: one page of DynamoDB.
MOST_COUNTED = 1_000

#: The most that DynamoDB counts in one answer.
_COUNTED_AT_ONCE = 10_000

#: The most times at which parked tasks are counted in a long queue. Ten paused actions have twenty times.
_PARKED_TIMES = 20

#: The night ends at this hour, by the clocks of the time zone asked for.
MORNING = 6

_LOG = logging.getLogger("duebell.editor")


class Waiting(NamedTuple):
    """A task in the queue: when it is to start, its lane, and whether a run is at work on it."""

    at: datetime
    lane: int
    is_under_way: bool


class FirstTasks(NamedTuple):
    """The first tasks of all lanes.

    waiting   tasks that wait or run; a recurring task that owes a follow-up, at its next time
    ended     tasks that have ended and owe a follow-up, among the first thousand due tasks
    running   the number of running tasks, among the same thousand
    known_to  all tasks that are due before this time are here
    lanes     the number of lanes
    """

    waiting: list[Waiting]
    ended: list[Task]
    running: int
    known_to: datetime
    lanes: int

    def overdue(self, late: datetime) -> list[Waiting]:
        """Returns the tasks that are due before `late` and not under way, the earliest first."""
        return sorted(one for one in self.waiting if one.at < late and not one.is_under_way)


def first_tasks(
    store: Store, record: ArmingRecord, by_lane: Sequence[Sequence[QueueKey]], now: datetime, *, page: int
) -> FirstTasks:
    """Read due tasks by these keys, at most `page` of each lane, to see which run or owe a follow-up."""
    due = itertools.zip_longest(*([key for key in keys if key.queued <= now] for keys in by_lane))
    in_turns = filter(None, itertools.chain.from_iterable(due))  # a run claims the first of each lane first
    looked_at = dict(_due_tasks(store, in_turns))
    ended = {key: task for key, task in looked_at.items() if _owes(key, task)}
    under_way = {key for key, task in looked_at.items() if is_under_way(task, record, now)}
    waiting = [
        Waiting(key.queued, key.lane, key in under_way)
        for key in itertools.chain(*by_lane)
        if key not in ended
    ]
    waiting += [
        Waiting(task.owes.queued, key.lane, is_under_way=False)
        for key, task in ended.items()
        if task.owes and task.owes.queued
    ]
    return FirstTasks(
        waiting=waiting,
        ended=list(ended.values()),
        running=sum(task.status is Status.RUNNING for task in looked_at.values()),
        known_to=min((keys[-1].queued for keys in by_lane if len(keys) >= page), default=NEVER),
        lanes=len(by_lane),
    )


def _due_tasks(store: Store, due: Iterable[QueueKey]) -> Iterator[tuple[QueueKey, Task]]:
    """Yields the first due tasks with their keys. Ends after a batch in which none owes and few run.

    Mostly one batch is read.
    """
    keys = itertools.islice(due, MOST_COUNTED)
    while some := list(itertools.islice(keys, KEYS_AT_ONCE)):
        found = store.get_many(some)
        there = [(key, found[key.id]) for key in some if key.id in found]
        yield from there
        running = sum(task.status is Status.RUNNING for _, task in there)
        if 2 * running < KEYS_AT_ONCE and not any(_owes(key, task) for key, task in there):
            return


def _owes(key: QueueKey, task: Task) -> bool:
    """Tell whether this task, read by this key, is in the queue only because it owes a follow-up."""
    return task.owes is not None and task.queued == key.queued


class CountsByTime(NamedTuple):
    """Counts by bucket: of all tasks, of overdue tasks, and of tasks that a pause has put back.

    exact  this many of the first buckets are exact; the others are estimates from the first lane
    """

    counts: list[int]
    overdue: list[int]
    paused: list[int]
    exact: int


def count_by_time(
    store: Store, first: FirstTasks, borders: Sequence[datetime], late: datetime, parked: Collection[datetime]
) -> CountsByTime:
    """Count tasks between these times. DynamoDB counts the buckets that end after `first.known_to`.

    late    tasks that are due before this time are overdue, unless a run is at work on them
    parked  the times to which tasks of paused actions are put back
    """
    counts, overdue, paused = ([0] * (len(borders) - 1) for _ in range(3))

    def place(at: datetime) -> int:
        return bisect.bisect_right(borders, at) - 1

    for one in first.waiting:
        if borders[0] <= one.at < borders[-1]:
            counts[place(one.at)] += 1
            overdue[place(one.at)] += one.at < late and not one.is_under_way
            paused[place(one.at)] += one.at in parked
    exact = min(max(place(first.known_to), 0), len(counts))
    for begin, end in _stretches(exact, len(counts)):
        before = borders[end] - MILLISECOND
        found = first.lanes * store.count(0, after=borders[begin], before=before, most=_COUNTED_AT_ONCE)
        counts[begin:end] = _shared_out(found, borders[begin : end + 1])
        overdue[begin:end] = [count if borders[begin] < late else 0 for count in counts[begin:end]]
        paused[begin:end] = [0] * (end - begin)
    parked_later = [at for at in parked if borders[exact] <= at < borders[-1]]
    for at in parked_later[:_PARKED_TIMES]:
        paused[place(at)] += first.lanes * store.count(0, after=at, before=at, most=_COUNTED_AT_ONCE)
    return CountsByTime(counts, overdue, paused, exact)


def _stretches(first: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of buckets, each four times as long as the one before: five of them for a hundred buckets."""
    length = 1
    while first < end:
        yield first, min(first + length, end)
        first, length = first + length, 4 * length


def _shared_out(count: int, borders: Sequence[datetime]) -> list[int]:
    whole = borders[-1] - borders[0]
    up_to = [round(count * ((border - borders[0]) / whole)) for border in borders]
    return [after - before for before, after in itertools.pairwise(up_to)]


class QueueCounts(NamedTuple):
    """The next due time, the numbers of tasks, each at most 1,000, and the tasks that owe a follow-up.

    next_due     the next time of the first task that waits, runs or recurs; NEVER if there is none
    late         the overdue tasks, the earliest first
    due_tonight  without tasks parked by a pause; `is_exact` is false for an estimate from the first lane
    """

    next_due: datetime
    queued: int
    late: Sequence[Waiting]
    due_tonight: int
    is_exact: bool
    running: int
    ended: Sequence[Task]


def next_morning(now: datetime, zone: ZoneInfo) -> datetime:
    """The next six o'clock in the morning of this time zone, in UTC."""
    local = now.astimezone(zone)
    morning = datetime(local.year, local.month, local.day, MORNING, tzinfo=zone)
    return to_utc(morning if morning > local else morning + timedelta(days=1))


def overdue_before(record: ArmingRecord, now: datetime) -> datetime:
    """Return the time before which all tasks should have started. It is now if the last ring started no run.

    A task is late, or overdue, if it is queued for an earlier time, has not ended, and is not under way.
    """
    is_missed = record.rings_at is not None and record.rings_at + GRACE < now
    return now if is_missed else now - STARTS_WITHIN


def is_under_way(task: Task, record: ArmingRecord, now: datetime) -> bool:
    """Tell whether the task runs, in a run that still holds its lane."""
    is_held = task.lane < len(record.lanes) and not record.lanes[task.lane].is_free(now)
    return is_held and task.status is Status.RUNNING


def is_overdue(task: Task, record: ArmingRecord, now: datetime) -> bool:
    """Tell whether the task should have started. A task that owes a follow-up counts at its next time."""
    queued = task.owes.queued if task.owes else task.queued
    is_late = queued is not None and queued < overdue_before(record, now)
    return is_late and not is_under_way(task, record, now)


def read_queue(
    backend: Backend,
    record: ArmingRecord,
    *,
    now: datetime,
    tonight: datetime,
    parked: Collection[datetime] = (),
) -> QueueCounts:
    """Read the first keys of each lane, and the first tasks that are due.

    A lane that cannot be read counts as due now, as for the armer.

    Raises AwsError or NotDeployed when no lane can be read.
    """
    found = backend.parallel(lambda lane: _first_keys(backend.store, lane), range(len(record.lanes)))
    unread = {lane: error for lane, error in enumerate(found) if isinstance(error, DuebellError)}
    if len(unread) == len(found):
        raise unread[0]
    for lane, error in unread.items():
        _LOG.warning("lane %d cannot be read, so it counts as due: %s", lane, error)
    by_lane = [[] if isinstance(keys, DuebellError) else keys for keys in found]
    first = first_tasks(backend.store, record, by_lane, now, page=MOST_COUNTED)
    late = overdue_before(record, now)
    to_come = count_by_time(backend.store, first, [late, tonight + MILLISECOND], late, parked)
    return QueueCounts(
        next_due=min([one.at for one in first.waiting] + [now] * len(unread), default=NEVER),
        queued=min(len(first.waiting), MOST_COUNTED),
        late=first.overdue(late),
        due_tonight=to_come.counts[0] - to_come.paused[0],
        is_exact=to_come.exact == 1,
        running=first.running,
        ended=first.ended,
    )


def _first_keys(store: Store, lane: int) -> list[QueueKey]:
    return list(itertools.islice(store.queued(lane, page_size=MOST_COUNTED), MOST_COUNTED))
