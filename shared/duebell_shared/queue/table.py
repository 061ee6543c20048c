"""The queue in DynamoDB: the contract of `store.py`, kept by one table through pynamodb.

The table is created by the stack (`infra/template.yaml`), never here. Keys are `lane` and `id`; the *local*
index `due-index` sorts the tasks of a lane by `queued`. A local index, because only that can be read strongly
consistently (a global one can miss a task that was just added, and a missed task is a lost task).
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html

Here are the records and the indexes; what concerns single tasks is in `table_items.py`.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from pynamodb.expressions.condition import Condition

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.counts import MAX_PRIORITY
from duebell_shared.instants import FIRST, NEVER, floor, to_json
from duebell_shared.limits.gauge import Gauge
from duebell_shared.limits.limits import Limits
from duebell_shared.tasks.task import QueueKey
from duebell_shared.tasks.worker_record import WorkerRecord

from .models import ARMING, GAUGE, LIMITS, UNREADABLE, WORKER, StoredRecord, stored
from .packed_record import pack, unpack
from .past_index import RECURRING_KINDS, Past, PastKey
from .refusals import try_write
from .store import LARGEST_PAGE
from .table_items import TableItems
from .transactions import Other, TaskWrite, Transacted, transact

__all__ = ["DynamoTable"]

_Record = TypeVar("_Record", WorkerRecord, Limits, Gauge)

_LOG = logging.getLogger("duebell.table")

#: Keys read at a time at first: most callers look at few, and the others go on.
_PAGE = 200


class DynamoTable(TableItems):
    """The queue in the DynamoDB table of this name. The client brings time-outs, retries and credentials."""

    def read_record(self) -> ArmingRecord | None:
        item = self._read_named((ARMING, ARMING))
        if item is None:
            return None
        rev = item.rev  # beside the text, for a swap compares it
        try:
            return msgspec.structs.replace(unpack(item.record or ""), rev=rev)
        except (ValueError, TypeError, RecursionError) as error:
            _LOG.error("the arming record cannot be read and is made anew: %s", error)
            return ArmingRecord(lanes=(), rev=rev)

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        new = msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)
        return new if self._swap_named((ARMING, ARMING), old, pack(new), new.rev) else None

    def read_worker(self, *, consistent: bool) -> WorkerRecord | None:
        what = "the worker record cannot be read; the worker's next start makes it anew"
        return self._read_json((WORKER, WORKER), WorkerRecord, what, consistent=consistent)

    def swap_worker(self, old: WorkerRecord | None, new: WorkerRecord) -> WorkerRecord | None:
        return self._swap_json((WORKER, WORKER), old, new)

    def read_limits(self) -> Limits | None:
        what = "the limits that were set cannot be read, so those that code declares hold"
        return self._read_json((LIMITS, LIMITS), Limits, what)

    def swap_limits(self, old: Limits | None, new: Limits) -> Limits | None:
        return self._swap_json((LIMITS, LIMITS), old, new)

    def read_gauge(self, action: str) -> Gauge | None:
        return self._read_json((GAUGE, action), Gauge, "an action's gauge cannot be read and is made anew")

    def swap_gauge(self, action: str, old: Gauge | None, new: Gauge) -> Gauge | None:
        return self._swap_json((GAUGE, action), old, new)

    def queued(
        self,
        lane: int,
        *,
        after: datetime | QueueKey | None = None,
        before: datetime | QueueKey = NEVER,
        latest_first: bool = False,
        page_size: int = _PAGE,
    ) -> Iterator[QueueKey]:
        begin = after.queued if isinstance(after, QueueKey) else after
        end = before.queued if isinstance(before, QueueKey) else before
        is_all = begin is None and end == NEVER  # also what sorts behind all times, so that it is told
        within = None if is_all else self._queued_within(begin, end)
        if within is None and not is_all:
            return
        place = before if latest_first else after
        behind = None
        if isinstance(place, QueueKey):
            behind = stored(lane=place.lane, id=place.id, queued=(place.queued, place.priority))
        with self._aws():
            yield from self._keys(lane, within, behind=behind, latest_first=latest_first, page_size=page_size)

    def past(
        self,
        lane: int,
        kind: Past,
        *,
        after: datetime | PastKey | None = None,
        before: datetime | PastKey = NEVER,
        latest_first: bool = False,
        page_size: int = _PAGE,
    ) -> Iterator[PastKey]:
        begin = after.at if isinstance(after, PastKey) else after
        end = (before.at or NEVER) if isinstance(before, PastKey) else before
        if (within := self._past_within(kind, begin, end)) is None:
            return
        place = before if latest_first else after
        behind = None
        if isinstance(place, PastKey):
            behind = stored(lane=place.lane, id=place.id, past=(place.kind, place.at))
        yield from self._past_keys(
            lane, within, behind=behind, latest_first=latest_first, page_size=page_size
        )

    def recurring(self, lane: int, *, page_size: int = _PAGE) -> Iterator[PastKey]:
        past: Any = self._tasks.past
        within = past.between((RECURRING_KINDS[0], None), (RECURRING_KINDS[-1], None))
        yield from self._past_keys(lane, within, page_size=page_size)

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        within = self._queued_within(after, before)
        if within is None:
            return 0
        with self._aws():
            return self._count("due-index", lane, within, most=most, consistent_read=True)

    def count_past(self, lane: int, kind: Past, *, last: Past | None = None, most: int) -> int:
        within = self._past_within(kind, None, NEVER, last=last)
        with self._aws():
            return self._count("past-index", lane, within, most=most, consistent_read=False)

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        with self._aws():
            keys = self._keys(lane, page_size=1 + len(skipping))
            return next((key.queued for key in keys if key not in skipping), NEVER)

    def transact(self, writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        with self._aws():
            return transact(self._client, self.name, writes, token)

    def _count(self, index: str, lane: int, within: Any, *, most: int, consistent_read: bool) -> int:
        """Count page by page: pynamodb's own count goes on beyond its limit, through the whole lane."""
        connection: Any = self._tasks._get_connection()  # noqa: SLF001
        counted, start = 0, None
        while counted < most:
            page = connection.query(
                str(lane),
                within,
                index_name=index,
                select="COUNT",
                limit=most - counted,
                consistent_read=consistent_read,
                exclusive_start_key=start,
            )
            counted += page["Count"]
            if (start := page.get("LastEvaluatedKey")) is None:
                break
        return counted

    def _keys(
        self,
        lane: int,
        within: Any = None,
        *,
        behind: dict[str, Any] | None = None,
        latest_first: bool = False,
        page_size: int,
    ) -> Iterator[QueueKey]:
        items = self._tasks.due_index.query(
            lane,
            within,
            consistent_read=True,
            page_size=page_size,
            scan_index_forward=not latest_first,
            last_evaluated_key=behind,
        )
        for item in _in_growing_pages(items):
            queued, priority = item.queued
            if queued == UNREADABLE:
                _LOG.warning("the item %r is not run: its `queued` is no time as duebell writes it", item.id)
            else:
                yield QueueKey(queued=queued, id=item.id, lane=lane, priority=priority)

    def _past_keys(
        self,
        lane: int,
        within: Condition,
        *,
        behind: dict[str, Any] | None = None,
        latest_first: bool = False,
        page_size: int,
    ) -> Iterator[PastKey]:
        with self._aws():
            items = self._tasks.past_index.query(
                lane,
                within,
                page_size=page_size,
                scan_index_forward=not latest_first,
                last_evaluated_key=behind,
            )
            for item in _in_growing_pages(items):
                if item.past is None:
                    _LOG.warning("left out of a listing: the item %r has an odd `past`", item.id)
                else:
                    kind, at = item.past
                    yield PastKey(at=at, id=item.id, lane=lane, kind=kind)

    def _queued_within(self, after: datetime | None, before: datetime) -> Condition | None:
        """The condition for these bounds; None if nothing is between them, which DynamoDB would refuse."""
        queued: Any = self._tasks.queued
        before = floor(before)  # rendering rounds up
        if after and after > before:
            return None
        first = (after, MAX_PRIORITY)  # of its millisecond
        condition: Condition = queued.between(first, before) if after else queued <= before
        return condition

    def _past_within(
        self, kind: Past, after: datetime | None, before: datetime, *, last: Past | None = None
    ) -> Condition | None:
        """The condition for these kinds and bounds; None likewise."""
        past: Any = self._tasks.past
        before = floor(before)
        if kind.has_time and after and after > before:
            return None
        condition: Condition = past == (kind, None)
        return past.between((kind, after or FIRST), (last or kind, before)) if kind.has_time else condition

    def _read_json(
        self, place: tuple[str, str], type: type[_Record], what: str, *, consistent: bool = True
    ) -> _Record | None:
        """The record that is stored as JSON; an empty one, with an error in the log, if it cannot be read."""
        item = self._read_named(place, consistent=consistent)
        if item is None:
            return None
        try:
            record = msgspec.json.decode(item.record or "", type=type)
        except (ValueError, TypeError, RecursionError) as error:
            _LOG.error("%s: %s", what, error)
            record = type()
        return msgspec.structs.replace(record, rev=item.rev)

    def _swap_json(self, place: tuple[str, str], old: _Record | None, new: _Record) -> _Record | None:
        new = msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)
        text = to_json(msgspec.structs.replace(new, rev=0))
        return new if self._swap_named(place, old, text, new.rev) else None

    def _read_named(self, place: tuple[str, str], *, consistent: bool = True) -> StoredRecord | None:
        """Read with the client itself, as tasks are: each add reads the arming record."""
        key = {"lane": {"S": place[0]}, "id": {"S": place[1]}}
        with self._aws():
            answer = self._client.get_item(TableName=self.name, Key=key, ConsistentRead=consistent)
            return StoredRecord.of(answer["Item"]) if "Item" in answer else None

    def _swap_named(
        self, place: tuple[str, str], old: ArmingRecord | _Record | None, text: str, rev: int
    ) -> bool:
        item = self._records(*place, record=text, rev=rev)
        with self._aws():
            return bool(try_write(lambda: item.save(self._is_as_read(old))))

    def _is_as_read(self, old: ArmingRecord | _Record | None) -> Condition:
        rev: Any = self._records.rev
        condition: Condition = rev.does_not_exist()
        if old and old.rev > 0:
            condition = rev == old.rev
        elif old:  # an edit removed it, or made it something else than a number
            condition = ~rev.is_type() | (rev <= 0)
        return condition


def _in_growing_pages(items: Any) -> Iterator[Any]:
    """The items of a query, each page four times as large as the one before, up to the largest."""
    pages = items.page_iter
    for number, item in enumerate(items, start=1):
        yield item
        if number >= pages.page_size and pages.page_size < LARGEST_PAGE:
            pages.page_size = min(pages.page_size * 4, LARGEST_PAGE)
