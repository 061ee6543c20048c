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
from typing import TYPE_CHECKING, Any, TypeVar
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

from .calls import BatchRead, BatchWrite, Outcome, calling, try_write
from .changes import (
    ItemChange,
    ItemInsertion,
    TaskWrite,
    Transacted,
    UserWrite,
    change_of,
    claim_of,
    given_fields,
    is_claim,
    put_if_free,
    relocate_item,
    transact,
)
from .items import Item, item_of, leaner_forms, parse_queued, render_queued, stored, task_of
from .places import Past, PastKey, lane_of, parse_past, render_past
from .records import Record, Records

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_LOG = logging.getLogger("duebell.table")

_T = TypeVar("_T")
_W = TypeVar("_W")

#: Keys in the first page: most callers need only a few, and the others read on.
_PAGE = 200

#: Keys in the later pages of a long reading. A page is parsed whole, and takes 2 KB of memory for each key.
_GROWN_PAGE = 800

#: The index that has this sort key.
_INDEXES = {"queued": "due-index", "past": "past-index"}

#: Texts that sort before and after each `queued`. One that is no time sorts after the times; it is logged.
_BEGIN, _END = " ", "\U0010ffff"

#: The id of a kept change is this minus its time in nanoseconds, in twenty digits: the latest sorts first.
_LATEST_FIRST = 10**19

#: Each such id begins with this, because the difference has at most nineteen digits.
_NOTED = "0"


class DynamoTable:
    """The queue in the DynamoDB table of this name. The client brings time-outs, retries and credentials."""

    def __init__(
        self, name: str, client: "DynamoDBClient", *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.name = name
        self._client = client
        self._records = Records(name, client)
        self._insert_batch = BatchWrite(name, client, sleep=sleep)
        self._change_batch = BatchWrite(name, client, sleep=sleep)
        self._claim_batch = BatchWrite(name, client, sleep=sleep)  # an emulator may refuse only these
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

    def insert(self, task: Task, *, may_be_made: bool = False) -> bool:
        """`may_be_made`: this task was inserted before, with an unknown result."""
        with self._aws():
            if self._sizes.is_nearly_full(task.lane) and not self._item(stored(lane=task.lane, id=task.id)):
                raise QueueFull(task.id, task.lane)
            made = self._write(self._client.put_item, put_if_free(item_of(task), task.created_at))
            if made.is_made:
                return True
            if (made.is_full or may_be_made or not made.is_sure) and self._has_added(task):
                return True
            if made.is_full:
                raise QueueFull(task.id, task.lane)
            return False

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        alone = self._sizes.to_measure([task.lane for task in tasks], are_adds=True)
        outcomes = self._send(self._insert_batch, [ItemInsertion(item_of(task)) for task in tasks], alone)
        refused = [task for task, outcome in zip(tasks, outcomes, strict=True) if outcome.is_refused]
        # A refused task may have the id of history that has expired: one call reads all of them.
        found = result_or_error(self.get_many, list(map(queue_key, refused))) if refused else {}
        taken = {} if isinstance(found, DuebellError) else found

        def finish(task: Task, outcome: Outcome) -> bool:
            if outcome.is_full and outcome.is_sure:
                raise QueueFull(task.id, task.lane)
            there = taken.get(task.id)
            if there and outcome.is_sure and not there.has_expired(task.created_at):
                return False
            return outcome.is_made or self.insert(task, may_be_made=not outcome.is_sure)

        return _finished(finish, tasks, outcomes)

    def save(self, old: Task, new: Task | None) -> bool:
        with self._aws(old.id):
            made = self._change(change_of(old, new))
            if made.is_full:
                return self._save_leaner(old, new)
            return made.is_made or self.get(old.lane, old.id) == new

    def delete(self, task: Task) -> bool:
        with self._aws(task.id):
            made = self._change(change_of(task, None))
            if not made.is_sure and self.get(task.lane, task.id) is None:
                raise AwsUnavailable(f"it is not known whether this call has deleted task {quoted(task.id)}")
            return made.is_made

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        def finish(change: tuple[Task, Task | None], outcome: Outcome) -> bool:
            if outcome.is_full:
                return self._save_leaner(*change)
            return outcome.is_made or self.save(*change)

        alone = self._sizes.to_measure([old.lane for old, _ in changes])
        writes = [change_of(old, new) for old, new in changes]
        return _finished(finish, changes, self._send(self._change_batch, writes, alone))

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
            if made.item:
                return task_of(made.item)
            if made.is_full:
                raise QueueFull(key.id, key.lane)
            there = self.get(key.lane, key.id) if may_be_made or not made.is_sure else None
            return there if there and is_claim(there, key, run, now) else None

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        def finish(key: QueueKey, outcome: Outcome) -> Task | None:
            if outcome.item:
                return task_of(outcome.item)
            may_be_made = outcome.is_made or not outcome.is_sure
            return self.claim(key, run=run, now=now, status=status, may_be_made=may_be_made)

        alone = self._sizes.to_measure([key.lane for key in keys])
        writes = [claim_of(key, run=run, now=now, status=status) for key in keys]
        return _finished(finish, keys, self._send(self._claim_batch, writes, alone))

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
        asked = self._queued_within(lane, _time_of(after), _time_of(before))
        asked["ScanIndexForward"] = not latest_first
        behind = _item_of(before if latest_first else after)
        for id, (queued, priority) in self._keys("queued", parse_queued, asked, behind, page_size):
            yield QueueKey(queued=queued, id=id, lane=lane, priority=priority)

    def past(
        self,
        lane: int,
        kind: Past,
        *,
        last: Past | None = None,
        after: datetime | PastKey | None = None,
        before: datetime | PastKey = NEVER,
        latest_first: bool = False,
        page_size: int = _PAGE,
    ) -> Iterator[PastKey]:
        asked = self._past_within(lane, kind, last, _time_of(after), _time_of(before))
        asked["ScanIndexForward"] = not latest_first
        behind = _item_of(before if latest_first else after)
        for id, (found, at) in self._keys("past", parse_past, asked, behind, page_size):
            yield PastKey(at=at, id=id, lane=lane, kind=found)

    def count(self, lane: int, *, after: datetime | None = None, before: datetime = NEVER, most: int) -> int:
        return self._count(self._queued_within(lane, after, before), most=most)

    def count_past(self, lane: int, kind: Past, *, last: Past | None = None, most: int) -> int:
        return self._count(self._past_within(lane, kind, last, None, NEVER), most=most)

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        keys = self.queued(lane, page_size=1 + len(skipping))
        return next((key.queued for key in keys if key not in skipping), NEVER)

    def transact(self, writes: Sequence[TaskWrite | UserWrite], *, token: str) -> Transacted:
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
        outcomes = self._send(self._insert_batch, list(map(ItemInsertion, items)), ())
        with self._aws():
            for item, outcome in zip(items, outcomes, strict=True):
                if not outcome.is_made:
                    self._client.put_item(TableName=self.name, Item=item)

    def noted(self, key: str, *, behind: str | None = None) -> Iterator[tuple[str, bytes]]:
        asked = self._named(key, _NOTED)
        start: Item | None = {"lane": {"S": key}, "id": {"S": behind}} if behind else None
        for item in self._items(asked, start, _GROWN_PAGE):
            yield item["id"]["S"], item["change"]["S"].encode()

    def lane_sizes(self) -> dict[int, int]:
        return self._sizes.take()

    def _keys(
        self,
        sort: str,
        parse: Callable[[str], _T],
        asked: Mapping[str, Any],
        behind: Item | None,
        page_size: int,
    ) -> Iterator[tuple[str, _T]]:
        """The ids of the items of a query of an index, each with its sort key as `parse` reads it."""
        for item in self._items(asked, behind, page_size):
            id = item["id"]["S"]
            try:
                key = parse(item[sort]["S"])
            except (ValueError, OverflowError):
                _LOG.warning("the item %r is passed over: its `%s` is not as duebell writes it", id, sort)
            else:
                yield id, key

    def _items(self, asked: Mapping[str, Any], behind: Item | None, page_size: int) -> Iterator[Item]:
        """The items of a query, each page four times as large as the one before, up to a bound."""
        while True:
            page = self._query(asked, behind=behind, most=page_size)
            yield from page["Items"]
            if (behind := page.get("LastEvaluatedKey")) is None:
                return
            page_size = max(page_size, min(page_size * 4, _GROWN_PAGE))

    def _count(self, asked: Mapping[str, Any], *, most: int) -> int:
        counted, behind = 0, None
        while counted < most:
            page = self._query({**asked, "Select": "COUNT"}, behind=behind, most=most - counted)
            counted += page["Count"]
            if (behind := page.get("LastEvaluatedKey")) is None:
                break
        return counted

    def _query(self, asked: Mapping[str, Any], *, behind: Item | None, most: int) -> Any:
        low, high = (asked["ExpressionAttributeValues"].get(name) for name in (":low", ":high"))
        if low and low["S"] > high["S"]:  # an empty range, which DynamoDB would refuse
            return {"Items": [], "Count": 0}
        start: Any = {"ExclusiveStartKey": behind} if behind else {}
        with self._aws():
            return self._client.query(**asked, **start, Limit=most)

    def _queued_within(self, lane: int, after: datetime | None, before: datetime | None) -> dict[str, Any]:
        """The arguments of Query for the tasks of a lane that are queued within these bounds."""
        low = render_queued(after, MAX_PRIORITY) if after else _BEGIN  # the first of its millisecond
        high = render_queued(floor(before)) if before and before != NEVER else _END
        return self._within(lane, "queued", low, high)

    def _past_within(
        self, lane: int, kind: Past, last: Past | None, after: datetime | None, before: datetime | None
    ) -> dict[str, Any]:
        """The arguments of Query for the tasks of a lane of these kinds within these bounds."""
        high = render_past(last or kind, floor(before or NEVER))
        return self._within(lane, "past", render_past(kind, after or FIRST), high)

    def _within(self, lane: int, sort: str, low: str, high: str) -> dict[str, Any]:
        """The arguments of Query for this range of a lane. A global index cannot be read consistently."""
        return {
            "TableName": self.name,
            "IndexName": _INDEXES[sort],
            "KeyConditionExpression": "#lane = :lane AND #sort BETWEEN :low AND :high",
            "ExpressionAttributeNames": {"#lane": "lane", "#sort": sort},
            "ExpressionAttributeValues": {
                ":lane": {"S": str(lane)},
                ":low": {"S": low},
                ":high": {"S": high},
            },
            "ConsistentRead": sort == "queued",
        }

    def _named(self, key: str, prefix: str) -> dict[str, Any]:
        """The arguments of Query for the items with this partition key whose ids begin with `prefix`."""
        return {
            "TableName": self.name,
            "KeyConditionExpression": "#lane = :lane AND begins_with (#id, :prefix)",
            "ExpressionAttributeNames": {"#lane": "lane", "#id": "id"},
            "ExpressionAttributeValues": {":lane": {"S": key}, ":prefix": {"S": prefix}},
            "ConsistentRead": True,
        }

    def _aws(self, id: str | None = None) -> AbstractContextManager[None]:
        return calling(self.name, self._client, id=id)

    def _change(self, change: ItemChange) -> Outcome:
        if change.sets is None:
            return self._write(self._client.delete_item, change.call())
        returned = "ALL_NEW" if change.returns else "NONE"
        return self._write(self._client.update_item, {**change.call(), "ReturnValues": returned})

    def _write(self, write: Callable[..., Any], arguments: Mapping[str, Any]) -> Outcome:
        """Write with the client and measure the lane."""
        outcome = try_write(write, TableName=self.name, **arguments, **MEASURED)
        self._sizes.note(outcome.size)
        return outcome

    def _send(
        self,
        batch: BatchWrite,
        writes: Sequence[ItemInsertion | ItemChange],
        alone: Collection[int],
    ) -> list[Outcome]:
        """Make these writes in one call, except the ones at the places `alone`.

        The caller then makes alone each write that was not made and has no error.
        """
        outcomes = [Outcome()] * len(writes)
        places = [place for place in range(len(writes)) if place not in alone]
        sent = [writes[place] for place in places]
        items = {(write.key["lane"]["S"], write.key["id"]["S"]) for write in sent}
        is_for_one = any(isinstance(write, ItemChange) and write.unless for write in sent)
        # A batch takes one write of each item, and none with `unless`.
        if len(sent) <= 1 or len(items) < len(sent) or is_for_one:
            return outcomes
        try:
            with self._aws():
                answers = batch([write.statement(self.name) for write in sent])
        except AwsRefused as error:
            _LOG.info("many writes at once were refused, so each is made alone: %s", error)
            answers = [Outcome(is_sure=False)] * len(sent)
        except DuebellError as error:
            answers = [Outcome(error=error)] * len(sent)
        for place, answer in zip(places, answers or (), strict=False):
            outcomes[place] = answer
        return outcomes

    def _save_leaner(self, old: Task, new: Task | None) -> bool:
        """Save an outcome in the first form that its full lane takes. Raises QueueFull."""
        with self._aws(old.id):
            for form in leaner_forms(old, new) if new else ():
                made = self._change(change_of(old, form))
                if not made.is_full:
                    return made.is_made or self.get(old.lane, old.id) in (form, new)
        raise QueueFull(old.id, old.lane)

    def _item(self, key: Item) -> Item | None:
        answer: Any = self._client.get_item(TableName=self.name, Key=key, ConsistentRead=True)
        item: Item | None = answer.get("Item")
        return item

    def _has_added(self, task: Task) -> bool:
        """Tell whether this task is stored, even if a run has changed it since."""
        try:
            there = self.get(task.lane, task.id)
        except UnreadableTask:  # no add of this version wrote it, so it is another task
            return False
        if there is None or given_fields(there) != given_fields(task):
            return False
        return there.payload_dropped is not None or there.payload_json == task.payload_json


def _finished(
    finish: Callable[[_W, Outcome], _T], writes: Sequence[_W], outcomes: Sequence[Outcome]
) -> list[_T | DuebellError]:
    """The results of these writes, or their errors: `finish` makes a write alone if it is not made yet."""

    def result(place: int) -> _T | DuebellError:
        if error := outcomes[place].error:
            return error
        return result_or_error(lambda write: finish(write, outcomes[place]), writes[place])

    return [result(place) for place in range(len(writes))]


def _time_of(bound: datetime | QueueKey | PastKey | None) -> datetime | None:
    """The time of a bound, which may be a key."""
    if isinstance(bound, QueueKey):
        return bound.queued
    return bound.at if isinstance(bound, PastKey) else bound


def _item_of(bound: datetime | QueueKey | PastKey | None) -> Item | None:
    """The attributes of the item after which a query starts; None if the bound is no key."""
    if isinstance(bound, QueueKey):
        return stored(lane=bound.lane, id=bound.id, queued=(bound.queued, bound.priority))
    if isinstance(bound, PastKey):
        return stored(lane=bound.lane, id=bound.id, past=(bound.kind, bound.at))
    return None


def _readable(item: Item) -> Task | None:
    try:
        return task_of(item)
    except UnreadableTask as error:
        _LOG.warning("left out of a search: %s", error)
        return None
