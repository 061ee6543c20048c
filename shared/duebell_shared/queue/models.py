"""The items of the DynamoDB table as pynamodb's models: the one definition of their attributes.

`items.py` writes and reads tasks by the attributes of TaskItem. Queries and the records go through
pynamodb itself.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.constants import NUMBER, STRING
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection, LocalSecondaryIndex
from pynamodb.models import Model

from .attributes import (
    ChangedBy,
    Count,
    Duration,
    Expiry,
    FailedAttempts,
    Following,
    Instant,
    LaneNumber,
    LastFailure,
    LastMessage,
    Occurrences,
    Owing,
    PastPlace,
    Priority,
    Queued,
    Recurring,
    Rev,
    StatusName,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = [
    "ARMING",
    "GAUGE",
    "LIMITS",
    "WORKER",
    "RecordItem",
    "StoredRecord",
    "TaskItem",
    "bind_models",
    "stored",
]

#: Both keys of the items that hold the arming record, the worker record and the limits; lanes are numbers, so
#: these are in none.
ARMING, WORKER, LIMITS = "arming", "worker", "limits"

#: The first key of the gauges; the second is the action's name.
GAUGE = "gauge"


class DueIndex(LocalSecondaryIndex["TaskItem"]):  # type: ignore[no-untyped-call]
    """The tasks of a lane that wait or run, by the time of their next attempt."""

    class Meta:
        index_name = "due-index"
        projection = KeysOnlyProjection()

    lane = LaneNumber(hash_key=True)
    queued = Queued(range_key=True)


class PastIndex(GlobalSecondaryIndex["TaskItem"]):  # type: ignore[no-untyped-call]
    """The tasks of a lane that have ended, are paused or have had an occurrence: by kind, then by time."""

    class Meta:
        index_name = "past-index"
        projection = KeysOnlyProjection()

    lane = LaneNumber(hash_key=True)
    past = PastPlace(range_key=True)


class TaskItem(Model):
    """A task as an item: the fields of Task, and `past`, which follows from those."""

    due_index: DueIndex
    past_index: PastIndex

    lane = LaneNumber(hash_key=True)
    id = UnicodeAttribute(range_key=True)
    action = UnicodeAttribute()
    due = Instant()
    payload_json = UnicodeAttribute(attr_name="payload")
    status = StatusName()
    queued = Queued(null=True)
    priority = Priority(null=True)
    attempt = Count()
    rev = Rev()
    created_at = Instant()
    started_at = Instant(null=True)
    finished_at = Instant(null=True)
    run = UnicodeAttribute(null=True)
    lateness_ms = Count(null=True)
    begun = Count(null=True)
    snoozes = Count(null=True)
    limited_since = Instant(null=True)
    failure = LastFailure(null=True)
    failures = FailedAttempts(null=True)
    expires_at = Expiry(null=True)
    reserved_until = Instant(null=True)
    reservation = UnicodeAttribute(null=True)
    unlisted = BooleanAttribute(null=True)
    payload_dropped = Count(null=True)
    spread = Duration(null=True)
    expires_after = Duration(null=True)
    recurrence = Recurring(null=True)
    occurrences = Occurrences(null=True)
    changed_by = ChangedBy(null=True)
    intake = LastMessage(null=True)
    on_failed = UnicodeAttribute(null=True)
    then = Following(null=True)
    owes = Owing(null=True)
    follow_up_error = UnicodeAttribute(null=True)
    past = PastPlace(null=True)


def stored(**values: object) -> dict[str, dict[str, Any]]:
    """Attributes of a task's item, in the terms of DynamoDB's API; the values are given by their fields."""
    item = {}
    for field, value in values.items():
        name, type, write = _STORED[field]
        item[name] = {type: write(value)}
    return item


#: By field: the attribute's name, its type, and what writes a value.
_STORED: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    field: (each.attr_name, each.attr_type, each.serialize)
    for field, each in TaskItem.get_attributes().items()
}


class RecordItem(Model):
    """A record as an item, its name as both keys; `rev` stands beside it for the compare-and-swap."""

    lane = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)
    record = UnicodeAttribute(null=True)
    rev = NumberAttribute(null=True)


class StoredRecord(NamedTuple):
    """The text of a record and its `rev`; None and 0 for those that are missing or of another type."""

    record: str | None
    rev: int

    @classmethod
    def of(cls, item: Mapping[str, Mapping[str, Any]]) -> Self:
        """The record in an item as DynamoDB gives it; an attribute of another type is someone else's edit."""
        text, rev = item.get("record", {}).get(STRING), item.get("rev", {}).get(NUMBER, "0")
        return cls(text, int(rev if rev.isdecimal() else Decimal(rev)))


def bind_models(table: str, client: "DynamoDBClient") -> tuple[type[TaskItem], type[RecordItem]]:
    """The two models, bound to this table and this client."""

    class BoundTask(TaskItem):
        class Meta:
            table_name = table
            region = client.meta.region_name

        due_index = DueIndex()
        past_index = PastIndex()

    class BoundRecord(RecordItem):
        class Meta:
            table_name = table
            region = client.meta.region_name

    for model in (BoundTask, BoundRecord):
        # pynamodb makes a botocore client of its own, from the environment. It has no public way to take one,
        # and the caller's session has the credentials, the endpoint and the time-outs that are to be used.
        model._get_connection().connection._client = client  # type: ignore[assignment]  # noqa: SLF001
    return BoundTask, BoundRecord
