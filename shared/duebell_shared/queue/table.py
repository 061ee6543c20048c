"""The queue in DynamoDB: the contract of `store.py`, kept by one table, which the stack creates.

Keys are `lane` and `id`; the *local* index `due-index` sorts the tasks of a lane by `queued`. A global index
cannot be read strongly consistently: it can miss a task that was just added, and so lose it.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html

If the answer to a write is lost, the SDK repeats the call, and the write itself may make its condition fail.
So after a refusal of a repeated call the stored item is compared. A nearly full lane (`lane_sizes.py`) takes
no new items. A full one takes no item that is larger than before: an outcome gets a shorter form
(`items.py`).
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import uuid4

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsRefused, AwsUnavailable, DuebellError, QueueFull, UnreadableTask
from duebell_shared.instants import FIRST, NEVER, floor
from duebell_shared.parallel import result_or_error
from duebell_shared.queue.lane_sizes import MEASURED, LaneSizes
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import MAX_PRIORITY
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task, queue_key

from .calls import Answer, BatchRead, BatchWrite, Made, Written, calling, insertion, try_write
from .changes import (
    ItemChange,
    ItemDeletion,
    ItemUpdate,
    Other,
    TaskWrite,
    Transacted,
    as_added,
    change_of,
    claim_of,
    is_claim,
    put_if_free,
    relocate_item,
    statement_of,
    transact,
    update_of,
)
from .items import Item, item_of, leaner_forms, parse_queued, render_queued, stored, task_of
from .places import RECURRING_KINDS, Past, PastKey, lane_of, parse_past, render_past
from .records import Record, Records

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_LOG = logging.getLogger("duebell.table")

_T = TypeVar("_T")
_W = TypeVar("_W")

#: Keys read at a time at first: most callers look at few, and the others go on.
_PAGE = 200

#: Keys in the later pages of a long reading. A page is parsed whole, and takes 2 KB of memory for each key.
_GROWN_PAGE = 800


#: The index that has this sort key.
_INDEXES = {"queued": "due-index", "past": "past-index"}


class _Range(NamedTuple):
    """A range of a sort key, both bounds included; without `low`, from the first."""

    sort: str
    low: str | None
    high: str


#: The ids of changes that are kept: nanoseconds before this, in twenty digits, so that the latest is first.
_LATEST_FIRST = 10**19
_NOTED = "0"

#: All of a lane, also what is no time and so sorts behind: it is logged.
_ALL = _Range("queued", None, "\U0010ffff")


class DynamoTable:
    """The queue in the DynamoDB table of this name. The client brings time-outs, retries and credentials."""

    def __init__(
        self, name: str, client: "DynamoDBClient", *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.name = name
        self._client = client
        self._records = Records(name, client)
        self._insert_batch = BatchWrite(name, client, insertion, sleep=sleep)
        self._change_batch = BatchWrite(name, client, statement_of, sleep=sleep)
        self._claim_batch = BatchWrite(name, client, statement_of, sleep=sleep)  # it may be refused alone
        self._get_batch = BatchRead(name, client, sleep=sleep)
        self._sizes = LaneSizes()

    def read_record(self) -> ArmingRecord | None:
        return self._records.read(ArmingRecord)

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        return self._records.swap(old, new)

    def read(self, kind: type[Record], name: str = "", *, consistent: bool = True) -> Record | None:
        return self._records.read(kind, name, consistent=consistent)

    def swap(self, old: Record | None, new: Record, name: str = "") -> Record | None:
        return self._records.swap(old, new, name)

    def insert(self, task: Task) -> bool:
        with self._aws():
            if self._sizes.is_nearly_full(task.lane) and not self._item(stored(lane=task.lane, id=task.id)):
                raise QueueFull(task.id, task.lane)
            made = self._write(self._client.put_item, put_if_free(item_of(task), task.created_at))
            if made or ((made.is_full or made.was_retried) and self._has_added(task)):
                return True
            if made.is_full:
                raise QueueFull(task.id, task.lane)
            return False

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        measured = self._sizes.adds_to_measure([task.lane for task in tasks])
        return _apart(measured, tasks, self._insert_alone, self._insert_together)

    def save(self, old: Task, new: Task | None) -> bool:
        with self._aws(old.id):
            made = self._change(change_of(old, new))
            if made.is_full:
                return self._save_leaner(old, new)
            return bool(made) or self.get(old.lane, old.id) == new

    def delete(self, task: Task) -> bool:
        with self._aws(task.id):
            made = self._change(change_of(task, None))
            if made.was_retried and self.get(task.lane, task.id) is None:
                raise AwsUnavailable(f"it is not known whether this call has deleted task {quoted(task.id)}")
            return bool(made)

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        measured = self._sizes.to_measure([old.lane for old, _ in changes])
        return _apart(measured, changes, self._save_alone, self._save_together)

    def get(self, lane: int, id: str) -> Task | None:
        with self._aws():
            item = self._item(stored(lane=lane, id=id))
            return task_of(item) if item else None

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        asked = {(key.lane, key.id): stored(lane=key.lane, id=key.id) for key in keys}
        with self._aws():
            found = [_readable(item) for item in self._get_batch(list(asked.values()))]
        return {task.id: task for task in found if task}

    def named(
        self, lane: int, prefix: str, *, after: str | None = None, most: int
    ) -> tuple[list[Task], str | None]:
        asked = self._named(str(lane), prefix)
        behind = None if after is None else stored(lane=lane, id=after)
        page = self._query(asked, behind=behind, most=most)
        tasks = [_readable(item) for item in page["Items"]]
        end = page.get("LastEvaluatedKey")
        return [task for task in tasks if task], end["id"]["S"] if end else None

    def claim(
        self, key: QueueKey, *, run: str, now: datetime, status: Status, may_be_made: bool = False
    ) -> Task | None:
        """`may_be_made`: this claim was tried before, with an unknown result."""
        with self._aws(key.id):
            made = self._change(claim_of(key, run=run, now=now, status=status))
            if made:
                return task_of(made.answer["Attributes"])
            if made.is_full:
                raise QueueFull(key.id, key.lane)
            there = self.get(key.lane, key.id) if made.was_retried or may_be_made else None
            return there if there and is_claim(there, key, run, now) else None

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        def alone(key: QueueKey, *, may_be_made: bool = False) -> Task | DuebellError | None:
            claim = partial(self.claim, run=run, now=now, status=status, may_be_made=may_be_made)
            return result_or_error(claim, key)

        def together(keys: Sequence[QueueKey]) -> list[Task | DuebellError | None]:
            claims = [claim_of(key, run=run, now=now, status=status) for key in keys]
            written = self._change_many(claims, self._claim_batch)
            answered = zip(keys, written.answers, strict=True)
            return [finish(key, answer, is_sure=written.is_sure) for key, answer in answered]

        def finish(key: QueueKey, answer: Answer, *, is_sure: bool) -> Task | DuebellError | None:
            if answer.error:
                return answer.error
            if answer.is_made and answer.item:
                return result_or_error(task_of, answer.item)
            return alone(key, may_be_made=answer.is_made or not is_sure)

        return _apart(self._sizes.to_measure([key.lane for key in keys]), keys, alone, together)

    def relocate(
        self, keys: Sequence[QueueKey], *, lanes: int, now: datetime, only_new: bool = False
    ) -> list[bool | DuebellError]:
        def move(item: Item | None) -> bool:
            if item is None or (only_new and item.get("rev") != stored(rev=1)["rev"]):
                return False
            with self._aws():
                lane = lane_of(item["id"]["S"], lanes)
                return relocate_item(self._client, self.name, item, lane=lane, now=now)

        wanted = [stored(lane=key.lane, id=key.id) for key in keys]
        try:
            with self._aws():
                found = list(self._get_batch(wanted))
        except DuebellError as error:
            return [error] * len(keys)
        items = (next((item for item in found if key.items() <= item.items()), None) for key in wanted)
        return [result_or_error(move, item) for item in items]

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
        within = _ALL if begin is None and end == NEVER else _queued_within(begin, end)
        place, behind = before if latest_first else after, None
        if isinstance(place, QueueKey):
            behind = stored(lane=place.lane, id=place.id, queued=(place.queued, place.priority))
        for item in self._entries(lane, within, behind, latest_first=latest_first, page_size=page_size):
            id = item["id"]["S"]
            try:
                queued, priority = parse_queued(item["queued"]["S"])
            except (ValueError, OverflowError):
                _LOG.warning("the item %r is not run: its `queued` is no time as duebell writes it", id)
            else:
                yield QueueKey(queued=queued, id=id, lane=lane, priority=priority)

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
        place, behind = before if latest_first else after, None
        if isinstance(place, PastKey):
            behind = stored(lane=place.lane, id=place.id, past=(place.kind, place.at))
        yield from self._past_keys(
            lane, _past_within(kind, begin, end), behind, latest_first=latest_first, page_size=page_size
        )

    def recurring(self, lane: int, *, page_size: int = _PAGE) -> Iterator[PastKey]:
        within = _Range("past", render_past(RECURRING_KINDS[0], None), render_past(RECURRING_KINDS[-1], None))
        yield from self._past_keys(lane, within, None, latest_first=False, page_size=page_size)

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return self._count(lane, _queued_within(after, before), most=most)

    def count_past(self, lane: int, kind: Past, *, last: Past | None = None, most: int) -> int:
        return self._count(lane, _past_within(kind, None, NEVER, last=last), most=most)

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        keys = self.queued(lane, page_size=1 + len(skipping))
        return next((key.queued for key in keys if key not in skipping), NEVER)

    def transact(self, writes: Sequence[TaskWrite | Other], *, token: str) -> Transacted:
        with self._aws():
            return transact(self._client, self.name, writes, token)

    def note(self, changes: Sequence[tuple[str, bytes]], *, expires_at: datetime) -> None:
        expires = stored(expires_at=expires_at)
        items: list[Item] = [
            {
                "lane": {"S": key},
                "id": {"S": f"{_LATEST_FIRST - time.time_ns():020} {uuid4().hex[:8]}"},
                "change": {"S": text.decode()},
                **expires,
            }
            for key, text in changes
        ]
        with self._aws():
            written = (self._insert_batch(items) if items[1:] else None) or Written.nothing(len(items))
            for item, answer in zip(items, written.answers, strict=True):
                if not answer.is_made:
                    self._client.put_item(TableName=self.name, Item=item)

    def noted(self, key: str, *, behind: str | None = None) -> Iterator[tuple[str, bytes]]:
        asked = self._named(key, _NOTED)
        start: Item | None = {"lane": {"S": key}, "id": {"S": behind}} if behind else None
        for item in self._items(asked, start, _GROWN_PAGE):
            yield item["id"]["S"], item["change"]["S"].encode()

    def lane_sizes(self) -> dict[int, int]:
        return self._sizes.take()

    def _past_keys(
        self, lane: int, within: _Range | None, behind: Item | None, *, latest_first: bool, page_size: int
    ) -> Iterator[PastKey]:
        for item in self._entries(lane, within, behind, latest_first=latest_first, page_size=page_size):
            id = item["id"]["S"]
            try:
                kind, at = parse_past(item["past"]["S"])
            except (ValueError, OverflowError):
                _LOG.warning("left out of a listing: the item %r has an odd `past`", id)
            else:
                yield PastKey(at=at, id=id, lane=lane, kind=kind)

    def _entries(
        self, lane: int, within: _Range | None, behind: Item | None, *, latest_first: bool, page_size: int
    ) -> Iterator[Item]:
        if within:
            asked = {**self._asked(lane, within), "ScanIndexForward": not latest_first}
            yield from self._items(asked, behind, page_size)

    def _items(self, asked: Mapping[str, Any], behind: Item | None, page_size: int) -> Iterator[Item]:
        """The items of a query, each page four times as large as the one before, up to a bound."""
        while True:
            page = self._query(asked, behind=behind, most=page_size)
            yield from page["Items"]
            if (behind := page.get("LastEvaluatedKey")) is None:
                return
            page_size = max(page_size, min(page_size * 4, _GROWN_PAGE))

    def _count(self, lane: int, within: _Range | None, *, most: int) -> int:
        if within is None:
            return 0
        asked = {**self._asked(lane, within), "Select": "COUNT"}
        counted, behind = 0, None
        while counted < most:
            page = self._query(asked, behind=behind, most=most - counted)
            counted += page["Count"]
            if (behind := page.get("LastEvaluatedKey")) is None:
                break
        return counted

    def _query(self, asked: Mapping[str, Any], *, behind: Item | None, most: int) -> Any:
        start: Any = {"ExclusiveStartKey": behind} if behind else {}
        with self._aws():
            return self._client.query(**asked, **start, Limit=most)

    def _asked(self, lane: int, within: _Range) -> dict[str, Any]:
        """The arguments of Query for this range of a lane. A global index cannot be read consistently."""
        sort, low, high = within
        bounds = "<= :high" if low is None else "BETWEEN :low AND :high"
        values = {":lane": str(lane), ":high": high, **({} if low is None else {":low": low})}
        return {
            "TableName": self.name,
            "IndexName": _INDEXES[sort],
            "KeyConditionExpression": f"#lane = :lane AND #sort {bounds}",
            "ExpressionAttributeNames": {"#lane": "lane", "#sort": sort},
            "ExpressionAttributeValues": {name: {"S": value} for name, value in values.items()},
            "ConsistentRead": sort == "queued",
        }

    def _named(self, key: str, prefix: str) -> dict[str, Any]:
        """The arguments of Query for the items with this first key whose ids begin so."""
        return {
            "TableName": self.name,
            "KeyConditionExpression": "#lane = :lane AND begins_with (#id, :prefix)",
            "ExpressionAttributeNames": {"#lane": "lane", "#id": "id"},
            "ExpressionAttributeValues": {":lane": {"S": key}, ":prefix": {"S": prefix}},
            "ConsistentRead": True,
        }

    def _aws(self, id: str | None = None) -> AbstractContextManager[None]:
        return calling(self.name, self._client, id=id)

    def _change(self, change: ItemChange) -> Made:
        deletes = isinstance(change, ItemDeletion)
        return self._write(self._client.delete_item if deletes else self._client.update_item, change.call())

    def _write(self, write: Callable[..., Any], arguments: Mapping[str, Any]) -> Made:
        """Write with the client and measure the lane."""
        made = try_write(lambda: write(TableName=self.name, **arguments, **MEASURED))
        if made:
            self._sizes.note(made.answer)
        return made

    def _change_many(self, changes: Sequence[ItemChange], batch: BatchWrite[ItemChange]) -> Written:
        """Send these changes as one batch. The caller tries each that is neither made nor failed alone."""
        items = {(change.key["lane"]["S"], change.key["id"]["S"]) for change in changes}
        is_for_one = any(isinstance(change, ItemUpdate) and change.unless for change in changes)
        nothing = Written.nothing(len(changes))
        if len(changes) == 1 or len(items) < len(changes) or is_for_one:
            return nothing
        try:
            with self._aws():
                return batch(changes) or nothing
        except AwsRefused as error:
            _LOG.info("many writes at once were refused, so each is made alone: %s", error)
            return Written.nothing(len(changes), is_sure=False)
        except DuebellError as error:
            return Written.nothing(len(changes), error=error)

    def _save_alone(self, change: tuple[Task, Task | None]) -> bool | DuebellError:
        return result_or_error(lambda change: self.save(*change), change)

    def _save_together(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        def finish(change: tuple[Task, Task | None], answer: Answer) -> bool | DuebellError:
            if answer.is_full:
                return result_or_error(lambda change: self._save_leaner(*change), change)
            return answer.error or answer.is_made or self._save_alone(change)

        written = self._change_many([change_of(old, new) for old, new in changes], self._change_batch)
        return list(map(finish, changes, written.answers))

    def _save_leaner(self, old: Task, new: Task | None) -> bool:
        """Save an outcome in the first form that its full lane takes. Raises QueueFull."""
        with self._aws(old.id):
            for form in leaner_forms(old, new) if new else ():
                made = self._change(update_of(old, form))
                if not made.is_full:
                    return bool(made) or self.get(old.lane, old.id) in (form, new)
        raise QueueFull(old.id, old.lane)

    def _item(self, key: Item) -> Item | None:
        answer: Any = self._client.get_item(TableName=self.name, Key=key, ConsistentRead=True)
        item: Item | None = answer.get("Item")
        return item

    def _insert_together(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        try:
            with self._aws():
                written = self._insert_batch([item_of(task) for task in tasks])
        except DuebellError as error:
            return [error] * len(tasks)
        if written is None:
            return [self._insert_alone(task) for task in tasks]

        def finish(task: Task, answer: Answer) -> bool | DuebellError:
            full = QueueFull(task.id, task.lane) if answer.is_full and written.is_sure else None
            return full or answer.error or answer.is_made

        results = list(map(finish, tasks, written.answers))
        left = [task for task, result in zip(tasks, results, strict=True) if result is False]
        others = iter(self._insert_left(left, is_sure=written.is_sure))
        return [result or next(others) for result in results]

    def _insert_alone(self, task: Task) -> bool | DuebellError:
        try:
            return self.insert(task)
        except UnreadableTask:  # whatever it is, the id is taken
            return False
        except DuebellError as error:
            return error

    def _insert_left(self, tasks: Sequence[Task], *, is_sure: bool) -> list[bool | DuebellError]:
        """Insert the tasks that a batch did not. Unless `is_sure`, it may have stored them itself."""
        try:
            found = self.get_many(list(map(queue_key, tasks))) if tasks else {}
        except DuebellError as error:
            return [error] * len(tasks)
        return [self._insert_after(task, found.get(task.id), is_sure=is_sure) for task in tasks]

    def _insert_after(self, task: Task, there: Task | None, *, is_sure: bool) -> bool | DuebellError:
        is_taken = there and not (there.expires_at and there.expires_at <= task.created_at)
        result = False if is_taken else self._insert_alone(task)
        return result_or_error(self._has_added, task) if result is False and not is_sure else result

    def _has_added(self, task: Task) -> bool:
        """Tell whether this task is stored, even if a run has changed it since."""
        there = self.get(task.lane, task.id)
        if there is None or as_added(there) != as_added(task):
            return False
        return there.payload_dropped is not None or there.payload_json == task.payload_json


def _queued_within(after: datetime | None, before: datetime) -> _Range | None:
    """The range of `queued` for these bounds; None for an empty one, which DynamoDB would refuse."""
    before = floor(before)  # rendering rounds up
    if after and after > before:
        return None
    low = render_queued(after, MAX_PRIORITY) if after else None  # the first of its millisecond
    return _Range("queued", low, render_queued(before))


def _past_within(
    kind: Past, after: datetime | None, before: datetime, *, last: Past | None = None
) -> _Range | None:
    """The range of `past` for these kinds and bounds; None likewise."""
    before = floor(before)
    if not kind.has_time:
        return _Range("past", render_past(kind, None), render_past(kind, None))
    if after and after > before:
        return None
    return _Range("past", render_past(kind, after or FIRST), render_past(last or kind, before))


def _apart(
    places: Collection[int],
    writes: Sequence[_W],
    alone: Callable[[_W], _T],
    together: Callable[[Sequence[_W]], list[_T]],
) -> list[_T]:
    """The results of these writes, in their order: those at the places made alone, the others together."""
    results = {place: alone(writes[place]) for place in places}
    if others := [place for place in range(len(writes)) if place not in results]:
        results |= zip(others, together([writes[place] for place in others]), strict=True)
    return [results[place] for place in range(len(writes))]


def _readable(item: Item) -> Task | None:
    try:
        return task_of(item)
    except UnreadableTask as error:
        _LOG.warning("left out of a search: %s", error)
        return None
