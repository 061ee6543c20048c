"""The queue in memory: the same contract as the DynamoDB table, and it passes the same tests."""

import threading
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, Generic, TypeVar, cast

import msgspec

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import DuebellError, ItemRefusal
from duebell_shared.instants import FIRST, NEVER, to_utc
from duebell_shared.queue.changes import TaskWrite, Transacted, UserWrite
from duebell_shared.queue.places import Past, PastKey, key_of, lane_of
from duebell_shared.queue.records import Record
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task, queue_key

_K = TypeVar("_K", QueueKey, PastKey)
_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def _atomic(verb: _Verb) -> _Verb:
    """The verb as one step among threads."""

    @wraps(verb)
    def locked(self: "MemoryStore", *given: Any, **named: Any) -> Any:
        with self._lock:
            return verb(self, *given, **named)

    return cast("_Verb", locked)


class MemoryStore:
    """Tasks in dictionaries, and the records; each verb is one atomic step, in whatever thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.tasks: dict[tuple[int, str], Task] = {}
        self.record: ArmingRecord | None = None
        self.records: dict[tuple[type, str], Any] = {}  # the others, by their types and names
        #: The writes of transactions to other tables, in order; their conditions count as true.
        self.others: list[UserWrite] = []
        self._changes: defaultdict[str, list[bytes]] = defaultdict(list)  # by month
        self._committed: set[str] = set()  # the tokens of transactions
        self._queues: defaultdict[int, _Index[QueueKey]] = defaultdict(_Index)  # by lane
        self._pasts: defaultdict[tuple[int, Past], _Index[PastKey]] = defaultdict(_Index)  # by lane and kind

    def read_record(self) -> ArmingRecord | None:
        return self.record

    @_atomic
    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        swapped = _swapped(self.record, old, new)
        self.record = swapped or self.record
        return swapped

    def read(self, kind: type[Record], name: str = "", *, consistent: bool = True) -> Record | None:
        return self.records.get((kind, name))

    @_atomic
    def swap(self, old: Record | None, new: Record, name: str = "") -> Record | None:
        if swapped := _swapped(self.read(type(new), name), old, new):
            self.records[type(new), name] = swapped
        return swapped

    @_atomic
    def insert(self, task: Task) -> bool:
        there = self.tasks.get((task.lane, task.id))
        if there and not there.has_expired(task.created_at):
            return False
        self._put(task)
        return True

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        return [self.insert(task) for task in tasks]

    @_atomic
    def save(self, old: Task, new: Task | None) -> bool:
        there = self.tasks.get((old.lane, old.id))
        if there is None or _version_of(there) != _version_of(old):
            return there == new
        if new is None:
            self._take_from_indexes(there)
            del self.tasks[there.lane, there.id]
        else:
            self._put(new)
        return True

    @_atomic
    def delete(self, task: Task) -> bool:
        return self._is_as(task) and self.save(task, None)

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        return [self.save(old, new) for old, new in changes]

    def relocate(
        self, keys: Sequence[QueueKey], *, lanes: int, now: datetime, only_new: bool = False
    ) -> list[bool | DuebellError]:
        return [self._relocate(key, lane_of(key.id, lanes), now, only_new=only_new) for key in keys]

    def get(self, lane: int, id: str) -> Task | None:
        return self.tasks.get((lane, id))

    @_atomic
    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        found = (self.tasks.get((key.lane, key.id)) for key in keys)
        return {task.id: task for task in found if task}

    @_atomic
    def named(
        self, lane: int, prefix: str, *, after: str | None = None, most: int
    ) -> tuple[list[Task], str | None]:
        begin = prefix if after is None else after
        there = sorted(
            (id for (place, id) in self.tasks if place == lane and id.startswith(prefix) and id >= begin),
            key=str.encode,
        )
        ids = [id for id in there if id != after][: most + 1]
        tasks = [self.tasks[lane, id] for id in ids[:most]]
        return tasks, ids[most - 1] if len(ids) > most else None

    @_atomic
    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        task = self.tasks.get((key.lane, key.id))
        if task is None or task.status is not status or queue_key(task) != key:
            return None
        claimed = msgspec.structs.replace(
            task,
            status=Status.RUNNING,
            attempt=task.attempt + 1,
            rev=task.rev + 1,
            started_at=to_utc(now),
            run=run,
            lateness_ms=round((now - key.queued).total_seconds() * 1000),
        )
        self._put(claimed)
        return claimed

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        return [self.claim(key, run=run, now=now, status=status) for key in keys]

    def queued(
        self,
        lane: int,
        *,
        after: datetime | QueueKey | None = None,
        before: datetime | QueueKey = NEVER,
        latest_first: bool = False,
        page_size: int = 200,
    ) -> Iterator[QueueKey]:
        with self._lock:
            found = self._queues[lane].within(after or FIRST, before, latest_first=latest_first)
        yield from found

    def past(
        self,
        lane: int,
        kind: Past,
        *,
        last: Past | None = None,
        after: datetime | PastKey | None = None,
        before: datetime | PastKey = NEVER,
        latest_first: bool = False,
        page_size: int = 200,
    ) -> Iterator[PastKey]:
        for one in _kinds(kind, last):
            with self._lock:
                found = self._pasts[lane, one].within(after or FIRST, before, latest_first=latest_first)
            yield from found

    @_atomic
    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return min(most, len(self._queues[lane].within(after or FIRST, before)))

    @_atomic
    def count_past(self, lane: int, kind: Past, *, last: Past | None = None, most: int) -> int:
        return min(most, sum(len(self._pasts[lane, one]) for one in _kinds(kind, last)))

    @_atomic
    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        return next((key.queued for key in self._queues[lane] if key not in skipping), NEVER)

    @_atomic
    def transact(self, writes: Sequence[TaskWrite | UserWrite], *, token: str) -> Transacted:
        if token in self._committed:
            return Transacted()
        changes = {index: write for index, write in enumerate(writes) if isinstance(write, TaskWrite)}
        refused = [index for index, write in changes.items() if not self._is_as(write.old)]
        if refused:
            return Transacted(
                refusals=tuple(ItemRefusal(index=index, code="ConditionalCheckFailed") for index in refused)
            )
        for write in writes:
            if isinstance(write, TaskWrite):
                self._put(write.new)
            else:
                self.others.append(write)
        self._committed.add(token)
        return Transacted()

    @_atomic
    def note(self, changes: Sequence[tuple[str, bytes]], *, expires_at: datetime) -> None:
        del expires_at
        for key, text in changes:
            self._changes[key].append(text)

    def noted(self, key: str, *, behind: str | None = None) -> Iterator[tuple[str, bytes]]:
        last = int(behind.split(" ")[0]) if behind else len(self._changes[key])
        for place in reversed(range(last)):
            yield f"{place:020} {0:08}", self._changes[key][place]

    def lane_sizes(self) -> dict[int, int]:
        return {}

    def _is_as(self, old: Task) -> bool:
        there = self.tasks.get((old.lane, old.id))
        return there is not None and _version_of(there) == _version_of(old)

    @_atomic
    def _relocate(self, key: QueueKey, lane: int, now: datetime, *, only_new: bool) -> bool:
        there, taken = self.tasks.get((key.lane, key.id)), self.tasks.get((lane, key.id))
        if there is None or (only_new and there.rev > 1):
            return False
        if taken and not taken.has_expired(now):
            return False
        del self.tasks[key.lane, key.id]
        self._take_from_indexes(there)
        self._put(msgspec.structs.replace(there, lane=lane))
        return True

    def _put(self, task: Task) -> None:
        if there := self.tasks.get((task.lane, task.id)):
            self._take_from_indexes(there)
        self.tasks[task.lane, task.id] = task
        if task.queued:
            self._queues[task.lane].add(queue_key(task))
        if key := key_of(task):
            self._pasts[task.lane, key.kind].add(key)

    def _take_from_indexes(self, task: Task) -> None:
        if task.queued:
            self._queues[task.lane].remove(queue_key(task))
        if key := key_of(task):
            self._pasts[task.lane, key.kind].remove(key)


class _Index(Generic[_K]):
    """Keys by their time, and by id within a moment."""

    def __init__(self) -> None:
        self._keys: list[_K] = []

    def __iter__(self) -> Iterator[_K]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: _K) -> None:
        insort(self._keys, key, key=_order)

    def remove(self, key: _K) -> None:
        del self._keys[bisect_left(self._keys, _order(key), key=_order)]

    def within(self, after: datetime | _K, before: datetime | _K, *, latest_first: bool = False) -> list[_K]:
        first = (
            bisect_left(self._keys, after, key=_time)
            if isinstance(after, datetime)
            else bisect_right(self._keys, _order(after), key=_order)
        )
        end = (
            bisect_right(self._keys, before, lo=first, key=_time)
            if isinstance(before, datetime)
            else bisect_left(self._keys, _order(before), lo=first, key=_order)
        )
        found = self._keys[first:end]
        return found[::-1] if latest_first else found


def _kinds(first: Past, last: Past | None) -> list[Past]:
    return sorted(one for one in Past if first <= one <= (last or first))


def _version_of(task: Task) -> tuple[object, ...]:
    """The fields that tell whether the stored task is still the one that was read."""
    return task.rev, task.created_at, task.reservation


def _swapped(there: Record | None, old: Record | None, new: Record) -> Record | None:
    """The record with its next rev; None if the stored record is not the old one."""
    if (there and there.rev) != (old and old.rev):
        return None
    return msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)


def _time(key: QueueKey | PastKey) -> datetime:
    return key[0] or FIRST


def _order(key: QueueKey | PastKey) -> tuple[tuple[datetime, int], str]:
    return (key.order if isinstance(key, QueueKey) else (_time(key), 0)), key.id
