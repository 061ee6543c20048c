"""Counts of the queue at one moment: all of it, overdue, due tonight, running.

One read of each lane's first keys answers all of it, and one batch of tasks tells which of them run.
"""

import itertools
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError
from duebell_shared.instants import NEVER, to_utc
from duebell_shared.task import QueueKey, Status

from .queue import BATCH

__all__ = ["MORNING", "MOST_COUNTED", "QueueCounts", "next_morning", "read_queue"]

#: The limit of each count; and the keys that are read of each lane, which are one page of DynamoDB.
MOST_COUNTED = 1_000

#: The night ends at this hour, by the clocks of the time zone asked for.
MORNING = 6

_LOG = logging.getLogger("duebell.editor")


class QueueCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The times of the lanes' first tasks, and the numbers of tasks, each at most 1,000."""

    heads: tuple[datetime, ...]
    queued: int
    overdue: int
    due_tonight: int
    running: int


def next_morning(now: datetime, zone: ZoneInfo) -> datetime:
    """The next six o'clock in the morning of this time zone, in UTC."""
    local = now.astimezone(zone)
    morning = datetime(local.year, local.month, local.day, MORNING, tzinfo=zone)
    return to_utc(morning if morning > local else morning + timedelta(days=1))


def read_queue(
    backend: Backend, lanes: int, *, now: datetime, overdue_before: datetime, tonight: datetime
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
    dues = [key.queued for key in itertools.chain(*by_lane)]
    return QueueCounts(
        heads=tuple(now if isinstance(keys, DuebellError) else _head(keys) for keys in found),
        queued=_most(len(dues)),
        overdue=_most(sum(due <= overdue_before for due in dues)),
        due_tonight=_most(sum(overdue_before < due <= tonight for due in dues)),
        running=_count_running(backend, by_lane, now),
    )


def _first_keys(backend: Backend, lane: int) -> list[QueueKey]:
    return list(itertools.islice(backend.store.queued(lane, page_size=MOST_COUNTED), MOST_COUNTED))


def _head(keys: Sequence[QueueKey]) -> datetime:
    return keys[0].queued if keys else NEVER


def _most(count: int) -> int:
    return min(count, MOST_COUNTED)


def _count_running(backend: Backend, by_lane: Sequence[Sequence[QueueKey]], now: datetime) -> int:
    """The running ones among a batch of the due tasks: a run claims the first of each lane first."""
    due = ((key for key in keys if key.queued <= now) for keys in by_lane)
    some = list(itertools.islice(_in_turns(due), BATCH))
    found = backend.store.get_many(some) if some else {}
    return sum(task.status is Status.RUNNING for task in found.values())


def _in_turns(lanes: Iterator[Iterator[QueueKey]]) -> Iterator[QueueKey]:
    """The first key of each lane, then the second of each, and so on."""
    for row in itertools.zip_longest(*lanes):
        yield from (key for key in row if key)
