"""The table's items, one or many at a time: the verbs of the contract that read and write tasks by their ids.

A write whose answer was lost may find its condition refused by itself (`refusals.py`). So after a refusal
of a repeated call, the stored item is compared.

A lane that is nearly full (`lane_sizes.py`) takes no new items. One that is full takes no item that is larger
than it was: an outcome is written in a shorter form (`item_size.py`), and any other write raises QueueFull.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from duebell_shared.errors import AwsRefused, AwsUnavailable, DuebellError, QueueFull, UnreadableTask
from duebell_shared.quoting import quoted
from duebell_shared.tasks.task import QueueKey, Status, Task

from .batches import CHANGE, INSERT, Answer, BatchRead, BatchWrite, Written
from .changes import (
    ItemChange,
    ItemDeletion,
    ItemUpdate,
    as_added,
    change_of,
    claim_of,
    is_claim,
    put_if_free,
    update_of,
)
from .item_size import leaner_forms
from .items import item_of, task_of
from .lane_sizes import MEASURED, LaneSizes
from .lanes import lane_of
from .models import Item, bind_models, stored
from .refusals import Made, calling, try_write
from .store import Claimed, Failed, Inserted, NotEligible, Relocated, Saved, Taken, or_failed
from .transactions import relocate_item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["TableItems"]

_LOG = logging.getLogger("duebell.table")

_T = TypeVar("_T")
_W = TypeVar("_W")


class TableItems:
    """The items of the DynamoDB table of this name."""

    def __init__(
        self, name: str, client: "DynamoDBClient", *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.name = name
        self._client = client
        self._tasks, self._records = bind_models(name, client)
        self._insert_batch = BatchWrite(name, client, INSERT, sleep=sleep)
        self._change_batch = BatchWrite(name, client, CHANGE, sleep=sleep)
        self._claim_batch = BatchWrite(name, client, CHANGE, sleep=sleep)  # their form may be refused alone
        self._get_batch = BatchRead(name, client, sleep=sleep)
        self._sizes = LaneSizes()

    def insert(self, task: Task) -> bool:
        with self._aws():
            if self._sizes.is_nearly_full(task.lane) and not self._read(stored(lane=task.lane, id=task.id)):
                raise QueueFull(task.id, task.lane)
            made = self._write(self._client.put_item, put_if_free(item_of(task), task.created_at))
            if made or ((made.is_full or made.was_retried) and self._has_added(task)):
                return True
            if made.is_full:
                raise QueueFull(task.id, task.lane)
            return False

    def insert_many(self, tasks: Sequence[Task]) -> list[Inserted | Taken | Failed]:
        measured = self._sizes.adds_to_measure([task.lane for task in tasks], [task.id for task in tasks])
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

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[Saved | NotEligible | Failed]:
        measured = self._sizes.to_measure([old.lane for old, _ in changes])
        return _apart(measured, changes, self._save_alone, self._save_together)

    def get(self, lane: int, id: str) -> Task | None:
        with self._aws():
            item = self._read(stored(lane=lane, id=id))
            return task_of(item) if item else None

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        try:
            with self._aws():
                asked = {(key.lane, key.id): stored(lane=key.lane, id=key.id) for key in keys}
                tasks = [task_of(item) for item in self._get_batch(list(asked.values()))]
            return {task.id: task for task in tasks}
        except (UnreadableTask, AwsRefused):  # one cannot be read, or a policy allows single reads only
            found = (self._get_if_readable(key) for key in keys)
            return {task.id: task for task in found if task}

    def named(
        self, lane: int, prefix: str, *, after: str | None = None, most: int
    ) -> tuple[list[Task], str | None]:
        connection: Any = self._tasks._get_connection()  # noqa: SLF001
        name: Any = self._tasks.id
        with self._aws():
            page = connection.query(
                str(lane),
                name.startswith(prefix),
                limit=most,
                consistent_read=True,
                exclusive_start_key=None if after is None else stored(lane=lane, id=after),
            )
        tasks = [_task_or_none(item) for item in page["Items"]]
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
    ) -> list[Claimed | NotEligible | Failed]:
        def alone(key: QueueKey, *, may_be_made: bool = False) -> Claimed | NotEligible | Failed:
            claim = partial(self.claim, run=run, now=now, status=status, may_be_made=may_be_made)
            return or_failed(lambda: Claimed(task) if (task := claim(key)) else NotEligible())

        def together(keys: Sequence[QueueKey]) -> list[Claimed | NotEligible | Failed]:
            claims = [claim_of(key, run=run, now=now, status=status) for key in keys]
            written = self._change_many(claims, self._claim_batch)
            answered = zip(keys, written.answers, strict=True)
            return [finish(key, answer, is_sure=written.is_sure) for key, answer in answered]

        def finish(key: QueueKey, answer: Answer, *, is_sure: bool) -> Claimed | NotEligible | Failed:
            if answer.error:
                return Failed(answer.error)
            if answer.is_made and (item := answer.item):
                return or_failed(lambda: Claimed(task_of(item)))
            return alone(key, may_be_made=answer.is_made or not is_sure)

        return _apart(self._sizes.to_measure([key.lane for key in keys]), keys, alone, together)

    def relocate(
        self, keys: Sequence[QueueKey], *, lanes: int, now: datetime, only_new: bool = False
    ) -> list[Relocated | NotEligible | Failed]:
        def move(item: Item | None) -> Relocated | NotEligible:
            if only_new and item and item.get("rev") != stored(rev=1)["rev"]:
                return NotEligible()
            with self._aws():
                lane = lane_of(item["id"]["S"], lanes) if item else 0
                is_moved = item and relocate_item(self._client, self.name, item, lane=lane, now=now)
            return Relocated() if is_moved else NotEligible()

        wanted = [stored(lane=key.lane, id=key.id) for key in keys]
        try:
            with self._aws():
                found = list(self._get_batch(wanted))
        except DuebellError as error:
            return [Failed(error)] * len(keys)
        items = [next((item for item in found if key.items() <= item.items()), None) for key in wanted]
        return [or_failed(partial(move, item)) for item in items]

    def lane_sizes(self) -> dict[int, int]:
        return self._sizes.take()

    def _aws(self, id: str | None = None) -> AbstractContextManager[None]:
        return calling(self.name, self._client, id=id)

    def _change(self, change: ItemChange) -> Made:
        deletes = isinstance(change, ItemDeletion)
        return self._write(self._client.delete_item if deletes else self._client.update_item, change.call())

    def _write(self, write: Callable[..., Any], arguments: Mapping[str, Any]) -> Made:
        """Write with the client itself: pynamodb takes as long to build the call as the client to make it."""
        made = try_write(lambda: write(TableName=self.name, **arguments, **MEASURED))
        if made:
            self._sizes.note(made.answer)
        return made

    def _change_many(self, changes: Sequence[ItemChange], batch: BatchWrite[ItemChange]) -> Written:
        """Send these changes as one batch. Those that are neither made nor failed are to be tried alone."""
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

    def _save_alone(self, change: tuple[Task, Task | None]) -> Saved | NotEligible | Failed:
        return or_failed(lambda: Saved() if self.save(*change) else NotEligible())

    def _save_together(
        self, changes: Sequence[tuple[Task, Task | None]]
    ) -> list[Saved | NotEligible | Failed]:
        def finish(change: tuple[Task, Task | None], answer: Answer) -> Saved | NotEligible | Failed:
            if answer.error:
                return Failed(answer.error)
            if answer.is_made:
                return Saved()
            if answer.is_full:
                return or_failed(lambda: Saved() if self._save_leaner(*change) else NotEligible())
            return self._save_alone(change)

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

    def _read(self, key: Item) -> Item | None:
        """The item with this key as it is stored."""
        answer: Any = self._client.get_item(TableName=self.name, Key=key, ConsistentRead=True)
        item: Item | None = answer.get("Item")
        return item

    def _insert_together(self, tasks: Sequence[Task]) -> list[Inserted | Taken | Failed]:
        try:
            with self._aws():
                written = self._insert_batch([item_of(task) for task in tasks])
        except DuebellError as error:
            return [Failed(error)] * len(tasks)
        if written is None:
            return [self._insert_alone(task) for task in tasks]

        def finish(task: Task, answer: Answer) -> Inserted | Failed | None:
            if answer.is_full and written.is_sure:
                return Failed(QueueFull(task.id, task.lane))
            if answer.error:
                return Failed(answer.error)
            return Inserted() if answer.is_made else None

        results = list(map(finish, tasks, written.answers))
        left = [task for task, result in zip(tasks, results, strict=True) if result is None]
        others = iter(self._insert_left(left, is_sure=written.is_sure))
        return [result or next(others) for result in results]

    def _insert_alone(self, task: Task) -> Inserted | Taken | Failed:
        try:
            return Inserted() if self.insert(task) else Taken()
        except UnreadableTask:  # whatever it is, the id is taken
            return Taken()
        except DuebellError as error:
            return Failed(error)

    def _insert_left(self, tasks: Sequence[Task], *, is_sure: bool) -> list[Inserted | Taken | Failed]:
        """Insert the tasks that a batch did not: an id is taken, perhaps by expired history, or it failed.

        Unless `is_sure`, the batch may have stored the task itself.
        """
        keys = [QueueKey(queued=task.due, id=task.id, lane=task.lane) for task in tasks]
        try:
            found = self.get_many(keys) if keys else {}
        except DuebellError as error:
            return [Failed(error)] * len(tasks)
        return [self._insert_after(task, found.get(task.id), is_sure=is_sure) for task in tasks]

    def _insert_after(self, task: Task, there: Task | None, *, is_sure: bool) -> Inserted | Taken | Failed:
        is_taken = there and not (there.expires_at and there.expires_at <= task.created_at)
        result = Taken() if is_taken else self._insert_alone(task)
        if is_sure or not isinstance(result, Taken):
            return result
        return or_failed(lambda: Inserted() if self._has_added(task) else Taken())

    def _has_added(self, task: Task) -> bool:
        """Tell whether this task is stored, even if a run has changed it since."""
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


def _task_or_none(item: Item) -> Task | None:
    try:
        return task_of(item)
    except UnreadableTask as error:
        _LOG.warning("left out of a search: %s", error)
        return None
