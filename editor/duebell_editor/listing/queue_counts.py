"""Counts of the queue at one moment: all of it, overdue, due tonight, running, owing a follow-up.

One read of each lane's first keys answers all of it, and one batch of tasks tells which of them run or owe.
"""

import itertools
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE, ArmingRecord
from duebell_shared.errors import DuebellError, UnreadableTask
from duebell_shared.instants import NEVER, to_utc
from duebell_shared.queue.places import Past
from duebell_shared.queue.store import Store
from duebell_shared.queue.task_queue import BATCH, Queue
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import STARTS_WITHIN, QueueKey, Task

#: Tasks that are read at most, to find those that owe.
MOST_READ = 1_000


def due_tasks(store: Store, due: Iterable[QueueKey]) -> Iterator[tuple[QueueKey, Task]]:
    """Yields the first due tasks with their keys, until in a batch no task owes and few run.

    Mostly one batch is read.
    """
    keys = itertools.islice(due, MOST_READ)
    while some := list(itertools.islice(keys, BATCH)):
        found = store.get_many(some)
        there = [(key, found[key.id]) for key in some if key.id in found]
        yield from there
        running = sum(task.status is Status.RUNNING for _, task in there)
        if 2 * running < BATCH and not any(owes(key, task) for key, task in there):
            return


def owes(key: QueueKey, task: Task) -> bool:
    """Tell whether this task, read by this key, is in the queue only because it owes a follow-up."""
    return task.owes is not None and task.queued == key.queued


class PastCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of paused and of ended tasks, each at most 1,000; the failed ones are the status's."""

    paused: int
    done: int
    expired: int
    cancelled: int


#: `failed` is counted by the status; with it, this would be more than twenty calls.
#: Paused ones that recur are a kind of their own, which sorts next to the others.
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

    arming  the arming record's rev: every run and every new head changes it
    busy    whether a run is at work
    keys    the first keys of each lane in this part of the queue
    revs    the revs of the tasks; None for one that does not exist
    """

    arming: int
    busy: bool
    keys: tuple[tuple[QueueKey, ...], ...]
    revs: tuple[int | None, ...]


def snapshot(
    queue: Queue, *, after: datetime | None = None, before: datetime = NEVER, ids: Sequence[str] = ()
) -> Snapshot:
    """Read the arming record, a page of each lane, and each task: one read each."""
    record, now = queue.record(), queue.clock()
    stretches = (queue.store.queued(lane, after=after, before=before) for lane in range(len(record.lanes)))
    return Snapshot(
        arming=record.rev,
        busy=any(not lane.is_free(now) for lane in record.lanes),
        keys=tuple(tuple(itertools.islice(keys, _KEYS)) for keys in stretches),
        revs=tuple(_rev(queue, id, now) for id in ids),
    )


def _rev(queue: Queue, id: str, now: datetime) -> int | None:
    try:
        task = queue.get(id, now=now)
    except UnreadableTask:
        return None
    return task.rev if task else None


#: The limit of each count; and the keys that are read of each lane, which are one page of DynamoDB.
MOST_COUNTED = 1_000

#: The most that DynamoDB counts in one answer.
COUNTED_AT_ONCE = 10_000

#: In a long queue, the times at which tasks of paused actions are counted: ten actions have twenty.
PARKED_TIMES = 20

#: The night ends at this hour, by the clocks of the time zone asked for.
MORNING = 6

_LOG = logging.getLogger("duebell.editor")


class QueueCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The next due time, the numbers of tasks, each at most 1,000, and the tasks that owe a follow-up.

    next_due     the time of the first task that waits or runs, or recurs and goes on; NEVER if there is none
    late         the times of overdue tasks, the first one first, with their lanes
    due_tonight  without tasks parked by a pause; `is_exact` is false where the first lane stands for all
    owing        the tasks that owe a follow-up; of the first thousand that are due
    """

    next_due: datetime
    queued: int
    overdue: int
    late: tuple[tuple[datetime, int], ...]
    due_tonight: int
    is_exact: bool
    running: int
    owing: tuple[Task, ...]


def next_morning(now: datetime, zone: ZoneInfo) -> datetime:
    """The next six o'clock in the morning of this time zone, in UTC."""
    local = now.astimezone(zone)
    morning = datetime(local.year, local.month, local.day, MORNING, tzinfo=zone)
    return to_utc(morning if morning > local else morning + timedelta(days=1))


def overdue_before(record: ArmingRecord, now: datetime) -> datetime:
    """Return the time before which all tasks should have started: now, if the ring for them brought no run.

    A task is late, or overdue, if it is queued for a time before that, has not ended, and is not under way.
    """
    is_missed = record.rings_at is not None and record.rings_at + GRACE < now
    return now if is_missed else now - STARTS_WITHIN


def is_under_way(task: Task, record: ArmingRecord, now: datetime) -> bool:
    """Tell whether the task runs, in a run that still holds its lane."""
    is_held = task.lane < len(record.lanes) and not record.lanes[task.lane].is_free(now)
    return is_held and task.status is Status.RUNNING


def is_overdue(task: Task, record: ArmingRecord, now: datetime) -> bool:
    """Tell whether the task should have started; one that owes a follow-up goes on at its next time."""
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

    Raises AwsError, NotDeployed when none can be read.
    """
    late_before = overdue_before(record, now)
    found = backend.parallel(lambda lane: _first_keys(backend.store, lane), range(len(record.lanes)))
    unread = {lane: error for lane, error in enumerate(found) if isinstance(error, DuebellError)}
    if len(unread) == len(found):
        raise unread[0]
    for lane, error in unread.items():
        _LOG.warning("lane %d cannot be read, so it counts as due: %s", lane, error)
    by_lane = [[] if isinstance(keys, DuebellError) else keys for keys in found]
    due = itertools.zip_longest(*([key for key in keys if key.queued <= now] for keys in by_lane))
    in_turns = filter(None, itertools.chain.from_iterable(due))  # a run claims the first of each lane first
    looked_at = dict(due_tasks(backend.store, in_turns))
    owing = {key: task for key, task in looked_at.items() if owes(key, task)}
    under_way = {key for key, task in looked_at.items() if is_under_way(task, record, now)}
    there = [key for key in itertools.chain(*by_lane) if key not in owing]
    # A task that recurs and owes waits for its next time, as one in the queue once.
    going_on = [(task.owes.queued, key.lane) for key, task in owing.items() if task.owes and task.owes.queued]
    waiting = [(key.queued, key.lane) for key in there if key not in under_way]
    dues = sorted(waiting + going_on)
    late = [(at, lane) for at, lane in dues if at < late_before]
    heads = [key.queued for key in there] + [at for at, _ in going_on] + [now] * len(unread)
    # As in the timeline: where the first lane is long, it stands for all.
    is_exact = not (_is_cut(by_lane[0]) and by_lane[0][-1].queued <= tonight)
    counted = range(len(found) if is_exact else 1)
    tonight_by_lane = [
        _count_within(backend.store, lane, by_lane[lane], first=late_before, last=tonight, parked=parked)
        for lane in counted
    ]
    only_owing = sum(late_before <= key.queued <= tonight and key.lane in counted for key in owing)
    going_on_tonight = sum(late_before <= at <= tonight for at, _ in going_on)
    factor = 1 if is_exact else len(found)
    return QueueCounts(
        next_due=min(heads, default=NEVER),
        queued=min(len(dues) + len(under_way), MOST_COUNTED),
        overdue=min(len(late), MOST_COUNTED),
        late=tuple(late),
        due_tonight=(sum(tonight_by_lane) - only_owing) * factor + going_on_tonight,
        is_exact=is_exact,
        running=sum(task.status is Status.RUNNING for task in looked_at.values()),
        owing=tuple(owing.values()),
    )


def _first_keys(store: Store, lane: int) -> list[QueueKey]:
    return list(itertools.islice(store.queued(lane, page_size=MOST_COUNTED), MOST_COUNTED))


def _is_cut(keys: Sequence[QueueKey]) -> bool:
    return len(keys) >= MOST_COUNTED


def _count_within(
    store: Store,
    lane: int,
    keys: Sequence[QueueKey],
    *,
    first: datetime,
    last: datetime,
    parked: Collection[datetime],
) -> int:
    """Count the tasks of a lane between two times, both included, but for those parked by a pause.

    keys  the first of the lane; DynamoDB counts if they may not be all
    """
    if not _is_cut(keys) or keys[-1].queued > last:
        return sum(first <= key.queued <= last and key.queued not in parked for key in keys)
    times = [at for at in parked if first <= at <= last][:PARKED_TIMES]
    within = store.count(lane, after=first, before=last, most=COUNTED_AT_ONCE)
    return within - sum(store.count(lane, after=at, before=at, most=COUNTED_AT_ONCE) for at in times)
