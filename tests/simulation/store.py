"""The store as one simulated process has it: each verb is a call over the network."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable, DuebellError, ItemRefusal
from duebell_shared.instants import NEVER
from duebell_shared.queue.changes import Other, TaskWrite, Transacted
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.queue.records import Record
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

from .aws import Aws
from .world import Process

__all__ = ["NO_VERSION", "StoreOverNetwork"]

_T = TypeVar("_T")

_PAGE = 3

#: A value that no item of a user has.
NO_VERSION = {"S": "never"}


class StoreOverNetwork:
    """The store as one process has it: every verb a call."""

    def __init__(self, aws: Aws, process: Process) -> None:
        self._aws = aws
        self._process = process
        self._store = aws.store

    def read_record(self) -> ArmingRecord | None:
        return self._call("read_record", self._store.read_record)

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        return self._call("swap_record", lambda: self._store.swap_record(old, new))

    def read(self, kind: type[Record], name: str = "", *, consistent: bool = True) -> Record | None:
        what = f"read {kind.__name__}"
        return self._call(what, lambda: self._store.read(kind, name, consistent=consistent))

    def swap(self, old: Record | None, new: Record, name: str = "") -> Record | None:
        return self._call(f"swap {type(new).__name__}", lambda: self._store.swap(old, new, name))

    def insert(self, task: Task) -> bool:
        return self._call(f"insert {task.id}", lambda: self._store.insert(task), lane=task.lane)

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        try:
            return self._call("insert_many", lambda: self._store.insert_many(tasks))
        except AwsUnavailable as error:
            return [error] * len(tasks)

    def save(self, old: Task, new: Task | None) -> bool:
        what = f"save {old.id} {new and new.status}"
        return self._call(what, lambda: self._store.save(old, new), lane=old.lane)

    def delete(self, task: Task) -> bool:
        return self._call(f"delete {task.id}", lambda: self._store.delete(task), lane=task.lane)

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        saves = [(old.lane, partial(self._store.save, old, new)) for old, new in changes]
        return self._many("save_many", saves)

    def relocate(
        self, keys: Sequence[QueueKey], *, lanes: int, now: datetime, only_new: bool = False
    ) -> list[bool | DuebellError]:
        def relocate(key: QueueKey) -> bool | DuebellError:
            [moved] = self._store.relocate([key], lanes=lanes, now=now, only_new=only_new)
            return moved

        return self._many("relocate", [(key.lane, partial(relocate, key)) for key in keys])

    def get(self, lane: int, id: str) -> Task | None:
        return self._call(f"get {id}", lambda: self._store.get(lane, id), lane=lane)

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        return self._call("get_many", lambda: self._store.get_many(keys))

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        claim = partial(self._store.claim, key, run=run, now=now, status=status)
        return self._call(f"claim {key.id}, {status}", claim, lane=key.lane)

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        claim = partial(self._store.claim, run=run, now=now, status=status)
        return self._many(f"claim_many, {status}", [(key.lane, partial(claim, key)) for key in keys])

    def queued(
        self, lane: int, *, after: datetime | QueueKey | None = None, **bounds: Any
    ) -> Iterator[QueueKey]:
        while True:  # page by page, and the queue may change between two
            keys = self._store.queued(lane, after=after, **bounds)
            read = partial(list[QueueKey], islice(keys, _PAGE))
            page = self._call(f"queued {lane}", read, lane=lane)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1]

    def past(self, lane: int, kind: Past, **bounds: Any) -> Iterator[PastKey]:
        yield from self._call(f"past {lane}", lambda: list(self._store.past(lane, kind, **bounds)))

    def named(
        self, lane: int, prefix: str, *, after: str | None = None, most: int
    ) -> tuple[list[Task], str | None]:
        return self._call(f"named {lane}", lambda: self._store.named(lane, prefix, after=after, most=most))

    def recurring(self, lane: int, *, page_size: int = 200) -> Iterator[PastKey]:
        read = partial(list[PastKey], self._store.recurring(lane, page_size=page_size))
        yield from self._call(f"recurring {lane}", read)

    def count_past(self, lane: int, kind: Past, **bounds: Any) -> int:
        return self._call(f"count past {lane}", lambda: self._store.count_past(lane, kind, **bounds))

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return min(most, sum(1 for _ in self.queued(lane, after=after, before=before)))

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        return self._call(f"head {lane}", lambda: self._store.head(lane, skipping=skipping), lane=lane)

    def transact(self, writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        """Refused if another write is on condition of NO_VERSION: the twin takes all conditions for true."""

        def transact() -> Transacted:
            others = [write["Put"] for write in writes if isinstance(write, Mapping)]
            if any(NO_VERSION in put.get("ExpressionAttributeValues", {}).values() for put in others):
                return Transacted(refusals=(ItemRefusal(index=0, code="ConditionalCheckFailed"),))
            return self._store.transact(writes, token=token)

        return self._call(f"transact {len(writes)}", transact)

    def note(self, changes: Sequence[tuple[str, bytes]], *, expires_at: datetime) -> None:
        self._store.note(changes, expires_at=expires_at)

    def noted(self, key: str, *, behind: str | None = None) -> Iterator[tuple[str, bytes]]:
        return self._store.noted(key, behind=behind)

    def lane_sizes(self) -> dict[int, int]:
        return self._store.lane_sizes()

    def _many(self, what: str, effects: Sequence[tuple[int, Callable[[], _T]]]) -> list[_T | DuebellError]:
        """One call; each of its statements, which is for a lane, may be refused by itself."""

        def execute() -> list[_T | DuebellError]:
            return [
                AwsUnavailable("throttled") if self._aws.refuses(lane) else effect()
                for lane, effect in effects
            ]

        try:
            return self._call(f"{what} {len(effects)}", execute)
        except AwsUnavailable as error:
            return [error] * len(effects)

    def _call(self, what: str, effect: Callable[[], _T], *, lane: int | None = None) -> _T:
        refusal = AwsUnavailable("simulated throttling")
        try:
            return self._aws.call(self._process, what, effect, time_out=20, refusal=refusal, lane=lane)
        except TimeoutError:
            raise AwsUnavailable("simulated time-out") from None
