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
from duebell_shared.instants import MILLISECOND, NEVER, to_utc
from duebell_shared.queue.places import Past
from duebell_shared.queue.store import Store
from duebell_shared.queue.task_queue import BATCH, Queue
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import STARTS_WITHIN, QueueKey, Task

#: Tasks that are read at most, to find those that owe.
MOST_READ = 1_000


def due_tasks(store: Store, due: Iterable[QueueKey]) -> Iterator[tuple[QueueKey, Task]]:
    """The tasks of the first keys of those that are due: a batch, and one more after each in which some owe.

    So where none owes, which is most often, it is one read.
    """
    keys = itertools.islice(due, MOST_READ)
    while some := list(itertools.islice(keys, BATCH)):
        found = store.get_many(some)
        there = [(key, found[key.id]) for key in some if key.id in found]
        yield from there
        if not any(owes(key, task) for key, task in there):
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
    """The times of the lanes' first tasks, the numbers of tasks, each at most 1,000, and those that owe.

    heads        of each lane the time of its first task that waits or runs; NEVER if there is none
    next_due     the first of these times, and of those at which recurring tasks that owe go on
    due_tonight  without tasks parked by a pause; `is_exact` is false where the first lane stands for all
    owing        the tasks that owe a follow-up; of the first thousand that are due
    """

    heads: tuple[datetime, ...]
    next_due: datetime
    queued: int
    overdue: int
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
    """Return the time up to which all tasks should have started: now, if the ring for them brought no run."""
    is_missed = record.rings_at is not None and record.rings_at + GRACE < now
    return now if is_missed else now - STARTS_WITHIN


def read_queue(
    backend: Backend,
    lanes: int,
    *,
    now: datetime,
    overdue_before: datetime,
    tonight: datetime,
    parked: Collection[datetime] = (),
) -> QueueCounts:
    """Read the first keys of each lane. Tasks that are queued up to `overdue_before` should have started.

    A lane that cannot be read counts as due now, as for the armer.

    Raises AwsError, NotDeployed when none can be read.
    """
    found = backend.parallel(lambda lane: _first_keys(backend, lane), range(lanes))
    failed = [keys for keys in found if isinstance(keys, DuebellError)]
    if failed and len(failed) == lanes:
        raise failed[0]
    for lane, keys in enumerate(found):
        if isinstance(keys, DuebellError):
            _LOG.warning("lane %d cannot be read, so it counts as due: %s", lane, keys)
    by_lane = [[] if isinstance(keys, DuebellError) else keys for keys in found]
    running, owing = _look_at_due(backend, by_lane, now)
    heads = [
        now if isinstance(keys, DuebellError) else _head(key for key in keys if key not in owing)
        for keys in found
    ]
    waiting = [key.queued for key in itertools.chain(*by_lane) if key not in owing]
    # A task that recurs and owes waits for its next time, as one in the queue once.
    going_on = [task.owes.queued for task in owing.values() if task.owes and task.owes.queued]
    dues = [*waiting, *going_on]
    within = overdue_before + MILLISECOND, tonight
    # As in the timeline: where the first lane is long, it stands for all.
    is_exact = not (_is_cut(by_lane[0]) and by_lane[0][-1].queued <= tonight)
    by_hand = [
        _count_within(backend.store, keys, within, parked=parked, owing=owing)
        for keys in (by_lane if is_exact else by_lane[:1])
    ]
    tonight_going_on = sum(overdue_before < due <= tonight for due in going_on)
    return QueueCounts(
        heads=tuple(heads),
        next_due=min([*heads, *going_on]),
        queued=_most(len(dues)),
        overdue=_most(sum(due <= overdue_before for due in dues)),
        due_tonight=sum(by_hand) * (1 if is_exact else lanes) + tonight_going_on,
        is_exact=is_exact,
        running=running,
        owing=tuple(owing.values()),
    )


def _first_keys(backend: Backend, lane: int) -> list[QueueKey]:
    return list(itertools.islice(backend.store.queued(lane, page_size=MOST_COUNTED), MOST_COUNTED))


def _is_cut(keys: Sequence[QueueKey]) -> bool:
    return len(keys) >= MOST_COUNTED


def _count_within(
    store: Store,
    keys: Sequence[QueueKey],
    within: tuple[datetime, datetime],
    *,
    parked: Collection[datetime],
    owing: Collection[QueueKey],
) -> int:
    """Count the tasks of a lane between two times, both included, but for those parked by a pause or owing.

    keys  the first of the lane; DynamoDB counts what is behind them, unless they are all
    """
    first, last = within
    begin = max(first, keys[-1].queued) if _is_cut(keys) else NEVER  # from then on, DynamoDB counts
    shown = (key.queued for key in keys if key not in owing)
    count = sum(first <= at <= last and at < begin and at not in parked for at in shown)
    if begin <= last:
        lane = keys[0].lane
        count += store.count(lane, after=begin, before=last, most=COUNTED_AT_ONCE)
        for at in [at for at in parked if begin <= at <= last][:PARKED_TIMES]:
            count -= store.count(lane, after=at, before=at, most=COUNTED_AT_ONCE)
    return count


def _head(keys: Iterator[QueueKey]) -> datetime:
    first = next(keys, None)
    return first.queued if first else NEVER


def _most(count: int) -> int:
    return min(count, MOST_COUNTED)


def _look_at_due(
    backend: Backend, by_lane: Sequence[Sequence[QueueKey]], now: datetime
) -> tuple[int, dict[QueueKey, Task]]:
    """Count the running ones among the first of the due tasks, and find those that owe.

    A run claims the first of each lane first.
    """
    due = _in_turns((key for key in keys if key.queued <= now) for keys in by_lane)
    running, owing = 0, {}
    for key, task in due_tasks(backend.store, due):
        running += task.status is Status.RUNNING
        if owes(key, task):
            owing[key] = task
    return running, owing


def _in_turns(lanes: Iterable[Iterator[QueueKey]]) -> Iterator[QueueKey]:
    """The first key of each lane, then the second of each, and so on."""
    for row in itertools.zip_longest(*lanes):
        yield from (key for key in row if key)
