"""The queue in DynamoDB: the contract of `store.py`, kept by one table through pynamodb.

The table is created by the stack (`infra/template.yaml`), never here. Keys are `lane` and `id`; the *local*
index `due-index` sorts the tasks of a lane by `queued`. A local index, because only that can be read strongly
consistently (a global one can miss a task that was just added, and a missed task is a lost task).
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html

A write whose answer was lost may find its condition refused by itself (`refusals.py`). So after a refusal
that may be such a case, the stored item is compared.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from pynamodb.expressions.condition import Condition

from .arming import ArmingRecord
from .batch_read import BatchRead
from .batching import CHANGE, INSERT, BatchWrite, Written
from .errors import AwsRefused, DuebellError, UnreadableTask
from .instants import FIRST, NEVER, floor, render, to_utc
from .item_update import Item, ItemChange, ItemDeletion, ItemUpdate
from .items import ARMING, UNREADABLE, changes, item_of, items_of, task_of
from .packed_record import pack, unpack
from .past import THEN, Past, PastKey, parse_past, render_past
from .refusals import Made, calling, reading, try_write
from .relocation import relocate_item
from .task import QueueKey, Status, Task

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["DynamoTable"]

_LOG = logging.getLogger("duebell.table")

_T = TypeVar("_T")

#: Keys read at a time, at first and at most: most often few are looked at, and who looks at many goes on.
_PAGE, _LARGEST_PAGE = 200, 3_200


class DynamoTable:
    """The queue in the DynamoDB table of this name. The client brings time-outs, retries and credentials."""

    def __init__(
        self, name: str, client: "DynamoDBClient", *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.name = name
        self._client = client
        self._tasks, self._arming = items_of(name, client)
        self._insert_batch = BatchWrite(name, client, INSERT, sleep=sleep)
        self._change_batch = BatchWrite(name, client, CHANGE, sleep=sleep)
        self._get_batch = BatchRead(name, client, sleep=sleep)

    def read_record(self) -> ArmingRecord | None:
        with self._aws():
            try:
                item = self._arming.get(ARMING, ARMING, consistent_read=True)
            except self._arming.DoesNotExist:
                return None
        rev = int(item.rev or 0)  # beside the record, whatever the text says: it is what a swap compares
        try:
            return msgspec.structs.replace(unpack(item.record), rev=rev)
        except (ValueError, TypeError, RecursionError) as error:
            _LOG.error("the arming record cannot be read and is made anew: %s", error)
            return ArmingRecord(lanes=(), rev=rev)

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        new = msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)
        item = self._arming(record=pack(new), rev=new.rev)
        with self._aws():
            return new if try_write(lambda: item.save(self._is_as_read(old))) else None

    def insert(self, task: Task) -> bool:
        is_free = self._tasks.id.does_not_exist() | (self._tasks.expires_at <= task.created_at)
        with self._aws():
            if made := try_write(lambda: self._tasks.of(task).save(is_free)):
                return True
            return made.was_retried and self._has_added(task)

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        try:
            with self._aws():
                inserted = self._insert_batch([item_of(task) for task in tasks])
        except DuebellError as error:
            return [error] * len(tasks)
        if inserted is None:
            return [self._insert_alone(task) for task in tasks]
        came = list(zip(tasks, inserted.made, inserted.no_room, strict=True))
        left = [task for task, is_made, no_room in came if not (is_made or no_room)]
        became = iter(self._insert_left(left, is_sure=inserted.is_sure))
        return [no_room or is_made or next(became) for _, is_made, no_room in came]

    def save(self, old: Task, new: Task | None) -> bool:
        with self._aws():
            made = self._change(_change(old, new))
            return bool(made) or self.get(old.lane, old.id) == new

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        try:
            written = self._change_many([_change(old, new) for old, new in changes])
        except DuebellError as error:
            return [error] * len(changes)
        return [
            (is_made or _or_error(partial(self.save, old, new))) if no_room is None else no_room
            for (old, new), is_made, no_room in zip(changes, written.made, written.no_room, strict=True)
        ]

    def get(self, lane: int, id: str) -> Task | None:
        with self._aws(), reading(id):
            try:
                return self._tasks.get(str(lane), id, consistent_read=True).to_task()
            except self._tasks.DoesNotExist:
                return None

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        try:
            with self._aws():
                asked = {(key.lane, key.id): _key(key.lane, key.id) for key in keys}
                tasks = [task_of(item) for item in self._get_batch(list(asked.values()))]
            return {task.id: task for task in tasks}
        except (UnreadableTask, AwsRefused):  # one is odd, or one at a time is all that a policy allows
            found = (self._get_if_readable(key) for key in keys)
            return {task.id: task for task in found if task}

    def claim(
        self, key: QueueKey, *, run: str, now: datetime, status: Status, may_be_made: bool = False
    ) -> Task | None:
        """`may_be_made`: this very claim was tried before, and nobody knows what came of it."""
        with self._aws(key.id):
            if made := self._change(_start(key, run=run, now=now, status=status)):
                return task_of(made.answer["Attributes"])
            there = self.get(key.lane, key.id) if made.was_retried or may_be_made else None
            is_ours = there and there.run == run and there.started_at == to_utc(now)
            return there if is_ours else None

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        try:
            written = self._change_many([_start(key, run=run, now=now, status=status) for key in keys])
        except DuebellError as error:
            return [error] * len(keys)
        claim = partial(self.claim, run=run, now=now, status=status)
        return [
            no_room
            or _or_error(
                partial(task_of, item)
                if is_made and item
                else partial(claim, key, may_be_made=is_made or not written.is_sure)
            )
            for key, is_made, item, no_room in zip(
                keys, written.made, written.items, written.no_room, strict=True
            )
        ]

    def queued(
        self,
        lane: int,
        *,
        after: datetime | QueueKey | None = None,
        before: datetime | QueueKey = NEVER,
        latest_first: bool = False,
    ) -> Iterator[QueueKey]:
        begin, begin_place = (after.queued, after) if isinstance(after, QueueKey) else (after, None)
        end, end_place = (before.queued, before) if isinstance(before, QueueKey) else (before, None)
        within = self._within(begin, end)
        if within is None:
            return
        place = end_place if latest_first else begin_place
        with self._aws():
            yield from self._keys(lane, within, behind=place, latest_first=latest_first, page_size=_PAGE)

    def past(
        self,
        lane: int,
        kind: Past,
        *,
        after: datetime | PastKey | None = None,
        before: datetime | PastKey = NEVER,
        latest_first: bool = False,
    ) -> Iterator[PastKey]:
        begin, begin_place = (after.at, after) if isinstance(after, PastKey) else (after, None)
        end, end_place = (before.at or NEVER, before) if isinstance(before, PastKey) else (before, None)
        place = end_place if latest_first else begin_place
        past: Any = self._tasks.past
        low, high = render_past(kind, begin or FIRST), render_past(kind, floor(end))
        within = past == kind.value
        if kind.has_time:
            if low > high:
                return
            within = past.between(low, high)
        with self._aws():
            items = self._tasks.past_index.query(
                str(lane),
                within,
                page_size=_PAGE,
                scan_index_forward=not latest_first,
                last_evaluated_key=place and _place_in_past(place),
            )
            for item in _in_growing_pages(items):
                try:
                    found, at = parse_past(item.past)
                except ValueError as error:
                    _LOG.warning("left out of a listing: the item %r: %s", item.id, error)
                else:
                    yield PastKey(at=at, id=item.id, lane=lane, kind=found)

    def relocate(self, keys: Sequence[QueueKey], *, lanes: int, now: datetime) -> list[bool | DuebellError]:
        try:
            with self._aws():
                there = self._get_batch([_key(key.lane, key.id) for key in keys])
                items = {(item["lane"]["S"], item["id"]["S"]): item for item in there}
        except DuebellError as error:
            return [error] * len(keys)
        found = (items.get((str(key.lane), key.id)) for key in keys)
        return [item is not None and _or_error(partial(self._relocate, item, lanes, now)) for item in found]

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        within = self._within(after, before)
        if within is None:
            return 0
        with self._aws():
            count = self._tasks.due_index.count(str(lane), within, consistent_read=True, limit=most)
        return min(count, most)

    def count_past(self, lane: int, kind: Past, *, most: int) -> int:
        past: Any = self._tasks.past
        within = past.startswith(kind.value + THEN) if kind.has_time else past == kind.value
        with self._aws():
            return min(self._tasks.past_index.count(str(lane), within, limit=most), most)

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        with self._aws():
            keys = self._keys(lane, page_size=1 + len(skipping))
            return next((key.queued for key in keys if key not in skipping), NEVER)

    def _aws(self, id: str | None = None) -> AbstractContextManager[None]:
        return calling(self.name, self._client, id=id)

    def _relocate(self, item: Item, lanes: int, now: datetime) -> bool:
        with self._aws():
            return relocate_item(self._client, self.name, item, lanes=lanes, now=now)

    def _change(self, change: ItemChange) -> Made:
        """Made by the client itself: pynamodb takes as long to build the call as the client to make it."""
        deletes = isinstance(change, ItemDeletion)
        write: Any = self._client.delete_item if deletes else self._client.update_item
        return try_write(lambda: write(TableName=self.name, **change.call()))

    def _change_many(self, changes: Sequence[ItemChange]) -> Written:
        """What one batch makes of them. Whatever it does not make, and had room for, is to be tried alone.

        Raises AwsUnavailable, NotDeployed: then it is no use to try.
        """
        items = {(change.key["lane"]["S"], change.key["id"]["S"]) for change in changes}
        is_for_one = any(isinstance(change, ItemUpdate) and change.unless for change in changes)
        if len(changes) == 1 or len(items) < len(changes) or is_for_one:
            return Written.nothing(len(changes), is_sure=True)
        try:
            with self._aws():
                return self._change_batch(changes) or Written.nothing(len(changes), is_sure=True)
        except AwsRefused as error:
            _LOG.info("many writes at once were refused, so each is made alone: %s", error)
            return Written.nothing(len(changes), is_sure=False)

    def _insert_alone(self, task: Task) -> bool | DuebellError:
        try:
            return self.insert(task)
        except UnreadableTask:  # whatever it is, the id is taken
            return False
        except DuebellError as error:
            return error

    def _insert_left(self, tasks: Sequence[Task], *, is_sure: bool) -> list[bool | DuebellError]:
        """Insert those that a batch did not: an id is taken, or history, or DynamoDB had no room for it.

        Unless it is sure that the batch did not, what is stored may be its own write.
        """
        keys = [QueueKey(queued=task.due, id=task.id, lane=task.lane) for task in tasks]
        try:
            found = self.get_many(keys) if keys else {}
        except DuebellError as error:
            return [error] * len(tasks)
        return [self._insert_after(task, found.get(task.id), is_sure=is_sure) for task in tasks]

    def _insert_after(self, task: Task, there: Task | None, *, is_sure: bool) -> bool | DuebellError:
        is_taken = there and not (there.expires_at and there.expires_at <= task.created_at)
        became = False if is_taken else self._insert_alone(task)
        return became or (not is_sure and _or_error(partial(self._has_added, task)))

    def _has_added(self, task: Task) -> bool:
        """Whether it is this one that is stored, be it that a run has had it since."""
        there = self.get(task.lane, task.id)
        return there is not None and _as_added(there) == _as_added(task)

    def _keys(
        self,
        lane: int,
        within: Any = None,
        *,
        behind: QueueKey | None = None,
        latest_first: bool = False,
        page_size: int,
    ) -> Iterator[QueueKey]:
        items = self._tasks.due_index.query(
            str(lane),
            within,
            consistent_read=True,
            page_size=page_size,
            scan_index_forward=not latest_first,
            last_evaluated_key=behind and _place(behind),
        )
        for item in _in_growing_pages(items):
            if item.queued == UNREADABLE:
                _LOG.warning("the item %r is not run: its `queued` is no time as duebell writes it", item.id)
            else:
                yield QueueKey(queued=item.queued, id=item.id, lane=lane)

    def _within(self, after: datetime | None, before: datetime) -> Condition | None:
        """Queued from the one to the other; None when nothing can be, for DynamoDB refuses such bounds."""
        queued: Any = self._tasks.queued
        before = floor(before)  # rendering rounds up
        if after and after > before:
            return None
        condition: Condition = queued.between(after, before) if after else queued <= before
        return condition

    def _is_as_read(self, old: ArmingRecord | None) -> Condition:
        rev: Any = self._arming.rev
        condition: Condition = rev.does_not_exist()
        if old and old.rev > 0:
            condition = rev == old.rev
        elif old:  # someone took it away, or made it something that is none
            condition = ~rev.is_type() | (rev <= 0)
        return condition

    def _get_if_readable(self, key: QueueKey) -> Task | None:
        try:
            return self.get(key.lane, key.id)
        except UnreadableTask as error:
            _LOG.warning("left out of a listing: %s", error)
            return None


def _start(key: QueueKey, *, run: str, now: datetime, status: Status) -> ItemUpdate:
    """What a claim makes of a task.

    A running task looks the same after a claim as before. If the answer to a claim is lost, the SDK makes
    it again, and that must not count another attempt: so a claim is refused where it has been made.
    """
    mark = {"run": {"S": run}, "started_at": {"S": render(now)}}
    return ItemUpdate(
        key=_key(key.lane, key.id),
        where={"status": {"S": status.value}, "queued": {"S": render(key.queued)}},
        sets={
            "status": {"S": Status.RUNNING.value},
            **mark,
            "lateness_ms": {"N": str(round((now - key.queued).total_seconds() * 1000))},
        },
        adds={"attempt": {"N": "1"}, "rev": {"N": "1"}},
        returns=True,
        unless=mark if status is Status.RUNNING else {},
    )


def _change(old: Task, new: Task | None) -> ItemChange:
    """What makes `new` of `old`, if that is still what is stored."""
    key = _key(old.lane, old.id)
    where = {"rev": {"N": str(old.rev)}, "created_at": {"S": render(old.created_at)}}
    if new is None:
        return ItemDeletion(key, where)
    sets, removes = changes(old, new)
    return ItemUpdate(key=key, where=where, sets=sets, removes=removes)


def _key(lane: int, id: str) -> Item:
    return {"lane": {"S": str(lane)}, "id": {"S": id}}


def _as_added(task: Task) -> tuple[object, ...]:
    """What no run changes of a task."""
    when = task.recurrence.schedule if task.recurrence else task.due
    return task.created_at, task.action, task.payload_json, when, task.spread, task.expires_after


def _place(key: QueueKey) -> dict[str, dict[str, str]]:
    """A place in the index, whether an item is there or not."""
    return {"lane": {"S": str(key.lane)}, "id": {"S": key.id}, "queued": {"S": render(key.queued)}}


def _in_growing_pages(items: Any) -> Iterator[Any]:
    """The items of a query, each page four times as large as the one before, up to the largest."""
    pages = items.page_iter
    for number, item in enumerate(items, start=1):
        yield item
        if number >= pages.page_size and pages.page_size < _LARGEST_PAGE:
            pages.page_size = min(pages.page_size * 4, _LARGEST_PAGE)


def _place_in_past(key: PastKey) -> dict[str, dict[str, str]]:
    """The same in the index of the past."""
    past = render_past(key.kind, key.at)
    return {"lane": {"S": str(key.lane)}, "id": {"S": key.id}, "past": {"S": past}}


def _or_error(call: Callable[[], _T]) -> _T | DuebellError:
    try:
        return call()
    except DuebellError as error:
        return error
