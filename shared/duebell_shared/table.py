"""The queue in DynamoDB: the contract of `store.py`, kept by one table through pynamodb.

The table is created by the stack (`infra/template.yaml`), never here. Keys are `lane` and `id`; the *local*
index `due-index` sorts the tasks of a lane by `queued`. A local index, because only that can be read strongly
consistently (a global one can miss a task that was just added, and a missed task is a lost task).
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

import msgspec
from pynamodb.attributes import Attribute, NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.constants import STRING
from pynamodb.exceptions import PutError, PynamoDBException, UpdateError
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action
from pynamodb.indexes import KeysOnlyProjection, LocalSecondaryIndex
from pynamodb.models import Model

from .arming import ArmingRecord
from .errors import AwsRefused, AwsUnavailable, NotDeployed
from .instants import NEVER, parse, render
from .task import Failure, QueueKey, Status, Task

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["INDEX", "DynamoTable"]

INDEX = "due-index"

#: Both keys of the item that holds the arming record; lanes are numbers, so it is in none of them.
_ARMING = "arming"

#: Keys read at a time. A page of 1 MB would hold thousands, and most are never looked at.
_PAGE = 200

#: The item keeps these of a task's fields under its keys or in a form of its own.
_FIELDS = tuple(field for field in Task.__struct_fields__ if field not in {"lane", "id"})

#: Refusals that another try may turn into success.
_PASSING = {
    "InternalServerError",
    "ItemCollectionSizeLimitExceededException",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ThrottlingException",
    "TransactionConflictException",
}


class _InstantAttribute(Attribute[datetime]):
    """A time as fixed-width text, so that it sorts in the index and reads well in the console."""

    attr_type = STRING

    def serialize(self, value: datetime) -> str:
        return render(value)

    def deserialize(self, value: str) -> datetime:
        return parse(value)


class _StatusAttribute(Attribute[Status]):
    attr_type = STRING

    def serialize(self, value: Status) -> str:
        return value.value

    def deserialize(self, value: str) -> Status:
        return Status(value)


class _FailureAttribute(Attribute[Failure]):
    attr_type = STRING

    def serialize(self, value: Failure) -> str:
        return msgspec.json.encode(value).decode()

    def deserialize(self, value: str) -> Failure:
        return msgspec.json.decode(value, type=Failure)


class _DueIndex(LocalSecondaryIndex["_TaskItem"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = INDEX
        projection = KeysOnlyProjection()

    lane = UnicodeAttribute(hash_key=True)
    queued = _InstantAttribute(range_key=True)


class _TaskItem(Model):
    """A task as an item; attributes are named like the fields of Task."""

    lane = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)
    action = UnicodeAttribute()
    due = _InstantAttribute()
    payload_json = UnicodeAttribute(attr_name="payload")
    status = _StatusAttribute()
    queued = _InstantAttribute(null=True)
    attempt = NumberAttribute()
    rev = NumberAttribute()
    created_at = _InstantAttribute()
    started_at = _InstantAttribute(null=True)
    finished_at = _InstantAttribute(null=True)
    run = UnicodeAttribute(null=True)
    lateness_ms = NumberAttribute(null=True)
    failure = _FailureAttribute(null=True)
    expires_at = TTLAttribute(null=True)

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(str(task.lane), task.id, **{field: getattr(task, field) for field in _FIELDS})

    def to_task(self) -> Task:
        return Task(lane=int(self.lane), id=self.id, **{field: getattr(self, field) for field in _FIELDS})


class _ArmingItem(Model):
    """The arming record as an item; `rev` stands beside it for the compare-and-swap."""

    lane = UnicodeAttribute(hash_key=True, default=_ARMING)
    id = UnicodeAttribute(range_key=True, default=_ARMING)
    record = UnicodeAttribute()
    rev = NumberAttribute()


class DynamoTable:
    """The queue in the DynamoDB table of this name. The client brings time-outs, retries and credentials."""

    def __init__(self, name: str, client: "DynamoDBClient") -> None:
        self.name = name
        self._client = client

        class TaskItem(_TaskItem):
            class Meta:
                table_name = name
                region = client.meta.region_name

            due_index = _DueIndex()

        class ArmingItem(_ArmingItem):
            class Meta:
                table_name = name
                region = client.meta.region_name

        for model in (TaskItem, ArmingItem):
            # pynamodb would make a client of its own, without the caller's session; it has no public way in.
            model._get_connection().connection._client = client  # type: ignore[assignment]  # noqa: SLF001
        self._tasks: type[_TaskItem] = TaskItem
        self._index = TaskItem.due_index
        self._arming = ArmingItem

    def read_record(self) -> ArmingRecord | None:
        with self._aws():
            try:
                item = self._arming.get(_ARMING, _ARMING, consistent_read=True)
            except self._arming.DoesNotExist:
                return None
            return msgspec.json.decode(item.record, type=ArmingRecord)

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        new = msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)
        item = self._arming(record=msgspec.json.encode(new).decode(), rev=new.rev)
        is_as_read = self._arming.rev == old.rev if old else self._arming.rev.does_not_exist()
        with self._aws():
            return new if self._put(item, is_as_read) else None

    def insert(self, task: Task) -> bool:
        has_expired = self._tasks.expires_at <= task.created_at
        with self._aws():
            try:
                self._tasks.of(task).save(self._tasks.id.does_not_exist() | has_expired)
            except PutError as error:
                if not _is_refused_by_condition(error):
                    raise
                # A retry of the SDK's finds what its first try wrote, when only the answer was lost.
                return _was_retried(error) and self.get(task.lane, task.id) == task
            return True

    def save(self, old: Task, new: Task) -> bool:
        changed = [field for field in _FIELDS if getattr(old, field) != getattr(new, field)]
        item = self._tasks(str(old.lane), old.id)
        with self._aws():
            if self._update(
                item, [_change(self._tasks, field, new) for field in changed], self._tasks.rev == old.rev
            ):
                return True
            return self.get(old.lane, old.id) == new  # ours, when only the answer to a first try was lost

    def get(self, lane: int, id: str) -> Task | None:
        with self._aws():
            try:
                return self._tasks.get(str(lane), id, consistent_read=True).to_task()
            except self._tasks.DoesNotExist:
                return None

    def get_many(self, keys: Collection[QueueKey]) -> dict[str, Task]:
        with self._aws():
            items = self._tasks.batch_get([(str(key.lane), key.id) for key in keys], consistent_read=True)
            return {item.id: item.to_task() for item in items}

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        tasks = self._tasks
        item = tasks(str(key.lane), key.id)
        is_as_queued = (tasks.status == status) & (tasks.queued == key.queued)
        start = [
            tasks.status.set(Status.RUNNING),
            tasks.attempt.set(tasks.attempt + 1),
            tasks.rev.set(tasks.rev + 1),
            tasks.started_at.set(now),
            tasks.run.set(run),
            tasks.lateness_ms.set(round((now - key.queued).total_seconds() * 1000)),
        ]
        with self._aws():
            return item.to_task() if self._update(item, start, is_as_queued) else None

    def queued(
        self, lane: int, *, after: datetime | None = None, before: datetime = NEVER
    ) -> Iterator[QueueKey]:
        queued = self._tasks.queued
        within = queued.between(after, before) if after else queued <= before
        with self._aws():
            for item in self._index.query(str(lane), within, consistent_read=True, page_size=_PAGE):
                yield QueueKey(queued=item.queued, id=item.id, lane=lane)

    def unqueued(self, lane: int, statuses: Collection[Status], *, now: datetime) -> Iterator[Task]:
        has_status = self._tasks.status.is_in(*statuses)
        is_kept = self._tasks.expires_at.does_not_exist() | (self._tasks.expires_at > now)
        with self._aws():
            for item in self._tasks.query(
                str(lane), filter_condition=has_status & is_kept, consistent_read=True
            ):
                yield item.to_task()

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        with self._aws():
            for item in self._index.query(str(lane), consistent_read=True, page_size=1 + len(skipping)):
                if QueueKey(queued=item.queued, id=item.id, lane=lane) not in skipping:
                    return item.queued
            return NEVER

    @contextmanager
    def _aws(self) -> Iterator[None]:
        """What goes wrong in AWS, as duebell's own errors."""
        try:
            yield
        except PynamoDBException as error:
            match error.cause_response_code:
                case "ResourceNotFoundException":
                    raise NotDeployed(
                        f"there is no DynamoDB table {self.name!r} in {self._client.meta.region_name}: run "
                        f"`duebell deploy`, or set DUEBELL_TABLE and AWS_REGION to where it is"
                    ) from error
                case None:
                    raise AwsUnavailable(f"DynamoDB, table {self.name!r}: {error.cause or error}") from error
                case code if code in _PASSING:
                    raise AwsUnavailable(f"DynamoDB, table {self.name!r}: {error.cause or error}") from error
                case _:
                    raise AwsRefused(f"DynamoDB, table {self.name!r}: {error.cause or error}") from error

    def _put(self, item: Model, condition: Condition) -> bool:
        """Whether the condition held and the item was written."""
        try:
            item.save(condition)
        except PutError as error:
            if not _is_refused_by_condition(error):
                raise
            return False
        return True

    def _update(self, item: Model, actions: Sequence[Action], condition: Condition) -> bool:
        """Whether the condition held and the item was changed; it is then as DynamoDB has it."""
        try:
            item.update(list(actions), condition)
        except UpdateError as error:
            if not _is_refused_by_condition(error):
                raise
            return False
        return True


def _change(model: type[_TaskItem], field: str, task: Task) -> Action:
    attribute, value = getattr(model, field), getattr(task, field)
    action: Action = attribute.remove() if value is None else attribute.set(value)
    return action


def _is_refused_by_condition(error: PynamoDBException) -> bool:
    return error.cause_response_code == "ConditionalCheckFailedException"


def _was_retried(error: PynamoDBException) -> bool:
    """Whether the SDK had tried this call before; pynamodb keeps that only in the error it wraps."""
    response: dict[str, Any] = getattr(error.cause.__cause__, "response", {}) if error.cause else {}
    return bool(response.get("ResponseMetadata", {}).get("RetryAttempts"))
