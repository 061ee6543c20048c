"""Listing tasks in due order across lanes, page by page, without a Scan.

What waits or runs stands in the index, so a page of it costs what it shows. Paused and finished tasks have
left the index: they are found by reading their lanes through, and a page of them costs what history holds.
"""

import base64
import binascii
import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated, NamedTuple

import msgspec

from duebell_shared.errors import InvalidQuery
from duebell_shared.instants import NEVER, to_utc
from duebell_shared.store import Store
from duebell_shared.task import QueueKey, Status, Task

__all__ = ["Filter", "Page", "list_tasks", "make_filter"]

MAX_LIMIT = 1000

_QUEUED = frozenset({Status.SCHEDULED, Status.RUNNING})

#: Tasks fetched at a time from their keys: DynamoDB's limit for one BatchGetItem.
_BATCH = 100


#: Before every other instant.
_FIRST = datetime.min.replace(tzinfo=UTC)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tasks; `cursor` gives the next one, and is None when this is the last."""

    tasks: tuple[Task, ...]
    cursor: str | None = None


class Place(NamedTuple):
    """Where a page ended: the time listed by, and the id."""

    at: Annotated[datetime, msgspec.Meta(tz=True)]
    id: str


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks to list, checked."""

    statuses: frozenset[Status]
    action: str | None
    after: datetime
    before: datetime
    limit: int
    start: Place | None


def make_filter(
    *,
    status: Status | str | Iterable[Status | str] | None,
    action: str | None,
    after: datetime | None,
    before: datetime | None,
    limit: int,
    cursor: str | None,
) -> Filter:
    """The filter that these arguments mean. Raises InvalidQuery with the field and the reason."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidQuery("limit", f"must be 1 to {MAX_LIMIT}, not {limit}")
    return Filter(
        statuses=_statuses(status),
        action=action,
        after=_FIRST if after is None else to_utc(_aware("after", after)),
        before=NEVER if before is None else _floor(_aware("before", before)),
        limit=limit,
        start=None if cursor is None else _decode(cursor),
    )


def list_tasks(store: Store, lanes: int, which: Filter, *, now: datetime) -> Page:
    """The page of tasks that the filter asks for."""
    waiting = _waiting(store, lanes, which) if which.statuses & _QUEUED else iter(())
    others = _others(store, lanes, which, now) if which.statuses - _QUEUED else iter(())
    found = list(itertools.islice(heapq.merge(waiting, others, key=_place), which.limit + 1))
    tasks = tuple(found[: which.limit])
    return Page(tasks=tasks, cursor=_encode(_place(tasks[-1])) if found[which.limit :] else None)


def _place(task: Task) -> Place:
    """Tasks are listed by when they are next looked at, and those that are not any more by their due date."""
    return Place(task.due if task.queued is None else task.queued, task.id)


def _is_wanted(task: Task, which: Filter) -> bool:
    has_action = which.action is None or task.action == which.action
    is_in_time = which.after <= _place(task).at <= which.before
    is_still_to_come = which.start is None or _place(task) > which.start
    return task.status in which.statuses and has_action and is_in_time and is_still_to_come


def _waiting(store: Store, lanes: int, which: Filter) -> Iterator[Task]:
    after = max(which.after, which.start.at) if which.start else which.after
    keys = heapq.merge(*(store.queued(lane, after=after, before=which.before) for lane in range(lanes)))
    # Tasks of the same moment come in any order from a lane; sorted by id, a page can start between them.
    in_order = (key for _, same in itertools.groupby(keys, lambda key: key.queued) for key in sorted(same))
    to_come = (key for key in in_order if which.start is None or Place(key.queued, key.id) > which.start)
    for batch in _batched(to_come, min(which.limit + 1, _BATCH)):
        tasks = store.get_many(batch)
        for key in batch:
            task = tasks.get(key.id)
            if task and task.queued == key.queued and _is_wanted(task, which):
                yield task


def _others(store: Store, lanes: int, which: Filter, now: datetime) -> Iterator[Task]:
    statuses = which.statuses - _QUEUED
    tasks = itertools.chain.from_iterable(store.unqueued(lane, statuses, now=now) for lane in range(lanes))
    wanted = (task for task in tasks if _is_wanted(task, which))
    return iter(heapq.nsmallest(which.limit + 1, wanted, key=_place))


def _batched(keys: Iterable[QueueKey], size: int) -> Iterator[Collection[QueueKey]]:
    iterator = iter(keys)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def _statuses(status: Status | str | Iterable[Status | str] | None) -> frozenset[Status]:
    if status is None:
        return _QUEUED
    try:
        return frozenset(map(Status, [status] if isinstance(status, str) else status))
    except ValueError as error:
        raise InvalidQuery("status", f"{error}; it is one of {', '.join(Status)}") from None


def _aware(field: str, instant: object) -> datetime:
    """`instant` in UTC; what lies beyond the ends of the calendar there, as they are."""
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        raise InvalidQuery(field, f"must be a datetime with a time zone, not {instant!r}")
    try:
        return min(instant.astimezone(UTC), NEVER)
    except OverflowError:
        return _FIRST if instant.year == 1 else NEVER


def _floor(instant: datetime) -> datetime:
    """In whole milliseconds, as tasks are, and nothing after `instant`."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def _encode(place: Place) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode()


def _decode(cursor: str) -> Place:
    wrong = InvalidQuery("cursor", "is not one that a listing gave: start again without it")
    try:
        place = msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode()), type=Place)
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise wrong from None
    if place.at > NEVER:
        raise wrong
    return place
