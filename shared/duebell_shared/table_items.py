"""The table's items, one or many at a time: the verbs of the contract that read and write tasks by their ids.

A write whose answer was lost may find its condition refused by itself (`refusals.py`). So after a refusal
that may be such a case, the stored item is compared.

A lane that holds all that it may takes no item that is larger than it was. A claim makes none larger
(`room.py`), an outcome that does is written in a form that does not (`slim.py`), and everything else is
QueueFull.
"""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from .batch_read import BatchRead
from .batching import CHANGE, INSERT, BatchWrite, Written
from .errors import AwsRefused, DuebellError, QueueFull, UnreadableTask
from .item_update import Item, ItemChange, ItemDeletion, ItemUpdate
from .items import item_of, items_of, task_of
from .lane_sizes import MEASURED, LaneSizes
from .refusals import Made, calling, reading, try_write
from .relocation import relocate_item
from .slim import slim_claim, slim_outcome
from .task import QueueKey, Status, Task
from .task_changes import as_added, change_of, claim_of, is_claim, item_key, update_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["TableItems"]

_LOG = logging.getLogger("duebell.table")

_T = TypeVar("_T")


class TableItems:
    """The items of the DynamoDB table of this name."""

    def __init__(
        self, name: str, client: "DynamoDBClient", *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.name = name
        self._client = client
        self._tasks, self._arming = items_of(name, client)
        self._insert_batch = BatchWrite(name, client, INSERT, sleep=sleep)
        self._change_batch = BatchWrite(name, client, CHANGE, sleep=sleep)
        self._get_batch = BatchRead(name, client, sleep=sleep)
        self._sizes = LaneSizes()

    def insert(self, task: Task) -> bool:
        with self._aws():
            made = self._put(task)
            if made or ((made.is_full or made.was_retried) and self._has_added(task)):
                return True
            if made.is_full:
                raise QueueFull(task.id, task.lane)
            return False

    def insert_many(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        return self._measured(
            [task.lane for task in tasks],
            lambda place: self._insert_alone(tasks[place]),
            lambda places: self._insert_together([tasks[place] for place in places]),
        )

    def save(self, old: Task, new: Task | None) -> bool:
        with self._aws(old.id):
            made = self._change(change_of(old, new))
            if made.is_full:
                return self._save_slim(old, new)
            return bool(made) or self.get(old.lane, old.id) == new

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        return self._measured(
            [old.lane for old, _ in changes],
            lambda place: _or_error(partial(self.save, *changes[place])),
            lambda places: self._save_together([changes[place] for place in places]),
        )

    def get(self, lane: int, id: str) -> Task | None:
        with self._aws(), reading(id):
            try:
                return self._tasks.get(str(lane), id, consistent_read=True).to_task()
            except self._tasks.DoesNotExist:
                return None

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        try:
            with self._aws():
                asked = {(key.lane, key.id): item_key(key.lane, key.id) for key in keys}
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
            claim = claim_of(key, run=run, now=now, status=status)
            made = self._change(claim)
            if made.is_full and (stored := self._stored(claim)):  # its counters take a digit more
                made = self._change(slim_claim(stored, claim))
                may_be_made = True
            if made:
                return task_of(made.answer["Attributes"])
            if made.is_full:
                raise QueueFull(key.id, key.lane)
            there = self.get(key.lane, key.id) if made.was_retried or may_be_made else None
            return there if there and is_claim(there, key, run, now) else None

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        claim = partial(self.claim, run=run, now=now, status=status)
        together = partial(self._claim_together, run=run, now=now, status=status)
        return self._measured(
            [key.lane for key in keys],
            lambda place: _or_error(partial(claim, keys[place])),
            lambda places: together([keys[place] for place in places]),
        )

    def relocate(self, keys: Sequence[QueueKey], *, lanes: int, now: datetime) -> list[bool | DuebellError]:
        try:
            with self._aws():
                there = self._get_batch([item_key(key.lane, key.id) for key in keys])
                items = {(item["lane"]["S"], item["id"]["S"]): item for item in there}
        except DuebellError as error:
            return [error] * len(keys)
        found = (items.get((str(key.lane), key.id)) for key in keys)
        return [item is not None and _or_error(partial(self._relocate, item, lanes, now)) for item in found]

    def lane_sizes(self) -> dict[int, int]:
        return self._sizes.take()

    def _relocate(self, item: Item, lanes: int, now: datetime) -> bool:
        with self._aws():
            return relocate_item(self._client, self.name, item, lanes=lanes, now=now)

    def _aws(self, id: str | None = None) -> AbstractContextManager[None]:
        return calling(self.name, self._client, id=id)

    def _measured(
        self,
        lanes: Sequence[int],
        alone: Callable[[int], _T],
        together: Callable[[list[int]], list[_T]],
    ) -> list[_T]:
        """Write to these lanes, given by place: together, but alone where a lane's size is to be measured."""
        measured = self._sizes.to_measure(lanes)
        others = [place for place in range(len(lanes)) if place not in measured]
        became = {place: alone(place) for place in measured}
        if others:
            became.update(zip(others, together(others), strict=True))
        return [became[place] for place in range(len(lanes))]

    def _put(self, task: Task) -> Made:
        """Insert the task where its id is free, or has only history that has expired."""
        return self._write(
            self._client.put_item,
            {
                "Item": item_of(task),
                "ConditionExpression": "attribute_not_exists(#id) OR #expires_at <= :now",
                "ExpressionAttributeNames": {"#id": "id", "#expires_at": "expires_at"},
                "ExpressionAttributeValues": {":now": {"N": str(int(task.created_at.timestamp()))}},
            },
        )

    def _change(self, change: ItemChange) -> Made:
        """Made by the client itself: pynamodb takes as long to build the call as the client to make it."""
        deletes = isinstance(change, ItemDeletion)
        return self._write(self._client.delete_item if deletes else self._client.update_item, change.call())

    def _write(self, write: Callable[..., Any], what: dict[str, Any]) -> Made:
        made = try_write(lambda: write(TableName=self.name, **what, **MEASURED))
        if made:
            self._sizes.note(made.answer)
        return made

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

    def _save_together(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        try:
            written = self._change_many([change_of(old, new) for old, new in changes])
        except DuebellError as error:
            return [error] * len(changes)
        came = zip(changes, written.made, written.no_room, written.full, strict=True)
        return [
            (is_made or _or_error(partial(self._save_slim if is_full else self.save, old, new)))
            if no_room is None
            else no_room
            for (old, new), is_made, no_room, is_full in came
        ]

    def _save_slim(self, old: Task, new: Task | None) -> bool:
        """Save what came of a task in a form that makes its item no larger. Raises QueueFull."""
        if new is None or not (old.status is Status.RUNNING or new.status.is_finished):
            raise QueueFull(old.id, old.lane)
        with self._aws():
            update = update_of(old, new)
            stored = self._stored(update)
            if stored is None:
                return self.get(old.lane, old.id) == new
            form, update = slim_outcome(stored, old, new, update)
            made = self._change(update)
            if made.is_full:
                raise QueueFull(old.id, old.lane)
            return bool(made) or self.get(old.lane, old.id) == form

    def _stored(self, update: ItemUpdate) -> Item | None:
        """The item as it is stored; None if it is not as this update expects."""
        read: Any = self._client.get_item(TableName=self.name, Key=update.key, ConsistentRead=True)
        stored: Item = read.get("Item", {})
        is_as_expected = all(stored.get(name) == value for name, value in update.where.items())
        return stored if is_as_expected else None

    def _claim_together(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        try:
            written = self._change_many([claim_of(key, run=run, now=now, status=status) for key in keys])
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

    def _insert_together(self, tasks: Sequence[Task]) -> list[bool | DuebellError]:
        try:
            with self._aws():
                inserted = self._insert_batch([item_of(task) for task in tasks])
        except DuebellError as error:
            return [error] * len(tasks)
        if inserted is None:
            return [self._insert_alone(task) for task in tasks]
        refused: list[DuebellError | None] = [
            QueueFull(task.id, task.lane) if is_full and inserted.is_sure else no_room
            for task, no_room, is_full in zip(tasks, inserted.no_room, inserted.full, strict=True)
        ]
        came = list(zip(tasks, inserted.made, refused, strict=True))
        left = [task for task, is_made, error in came if not (is_made or error)]
        became = iter(self._insert_left(left, is_sure=inserted.is_sure))
        return [error or is_made or next(became) for _, is_made, error in came]

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
        if there is None or as_added(there) != as_added(task):
            return False
        return there.payload_dropped is not None or there.payload_json == task.payload_json

    def _get_if_readable(self, key: QueueKey) -> Task | None:
        try:
            return self.get(key.lane, key.id)
        except UnreadableTask as error:
            _LOG.warning("left out of a listing: %s", error)
            return None


def _or_error(call: Callable[[], _T]) -> _T | DuebellError:
    try:
        return call()
    except DuebellError as error:
        return error
