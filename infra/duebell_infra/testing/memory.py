"""The queue in memory: the same contract as the DynamoDB table, and it passes the same tests."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from duebell_shared.arming import ArmingRecord
from duebell_shared.errors import DuebellError
from duebell_shared.instants import NEVER, to_utc
from duebell_shared.task import QueueKey, Status, Task

__all__ = ["MemoryStore"]

_FIRST = datetime.min.replace(tzinfo=UTC)


class MemoryStore:
    """Tasks and the arming record in dictionaries; each verb is one atomic step."""

    def __init__(self) -> None:
        self.tasks: dict[tuple[int, str], Task] = {}
        self.record: ArmingRecord | None = None
        self._queues: defaultdict[int, list[QueueKey]] = defaultdict(list)  # by lane, in order

    def read_record(self) -> ArmingRecord | None:
        return self.record

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        stored_rev = self.record.rev if self.record else None
        if stored_rev != (old.rev if old else None):
            return None
        self.record = msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)
        return self.record

    def insert(self, task: Task) -> bool:
        there = self.tasks.get((task.lane, task.id))
        has_expired = there and there.expires_at and there.expires_at <= task.created_at
        if there and not has_expired:
            return False
        self._put(task)
        return True

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        return [self.insert(task) for task in tasks]

    def save(self, old: Task, new: Task) -> bool:
        there = self.tasks.get((old.lane, old.id))
        if there is None or there.rev != old.rev:
            return there == new
        self._put(new)
        return True

    def save_many(self, changes: Sequence[tuple[Task, Task]]) -> list[bool | DuebellError]:
        return [self.save(old, new) for old, new in changes]

    def get(self, lane: int, id: str) -> Task | None:
        return self.tasks.get((lane, id))

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        found = (self.tasks.get((key.lane, key.id)) for key in keys)
        return {task.id: task for task in found if task}

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        task = self.tasks.get((key.lane, key.id))
        if task is None or task.status is not status or task.queued != key.queued:
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
        self, lane: int, *, after: datetime | QueueKey | None = None, before: datetime = NEVER
    ) -> Iterator[QueueKey]:
        yield from self._keys(lane, after or _FIRST, before)

    def unqueued(self, lane: int, statuses: Collection[Status], *, now: datetime) -> Iterator[Task]:
        return (task for task in self._kept(lane, now) if task.status in statuses)

    def past(self, lane: int, *, now: datetime) -> Iterator[Task]:
        return (task for task in self._kept(lane, now) if task.finished_at or task.occurrences)

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return min(most, len(self._keys(lane, after or _FIRST, before)))

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        return next((key.queued for key in self._queues[lane] if key not in skipping), NEVER)

    def _kept(self, lane: int, now: datetime) -> Iterator[Task]:
        for (its_lane, _), task in sorted(self.tasks.items()):
            if its_lane == lane and (task.expires_at is None or task.expires_at > now):
                yield task

    def _keys(self, lane: int, after: datetime | QueueKey, before: datetime) -> list[QueueKey]:
        queue = self._queues[lane]
        if isinstance(after, QueueKey):
            first = bisect_right(queue, after)
        else:
            first = bisect_left(queue, after, key=_queued)
        return queue[first : bisect_right(queue, before, lo=first, key=_queued)]

    def _put(self, task: Task) -> None:
        queue = self._queues[task.lane]
        before, key = _key(self.tasks.get((task.lane, task.id))), _key(task)
        self.tasks[task.lane, task.id] = task
        if before != key and before:
            del queue[bisect_left(queue, before)]
        if before != key and key:
            insort(queue, key)


def _key(task: Task | None) -> QueueKey | None:
    return QueueKey(queued=task.queued, id=task.id, lane=task.lane) if task and task.queued else None


def _queued(key: QueueKey) -> datetime:
    return key.queued
