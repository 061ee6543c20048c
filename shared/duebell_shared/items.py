"""How tasks and the arming record look as items of the DynamoDB table, in pynamodb's terms."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec
from pynamodb.attributes import Attribute, NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.constants import BOOLEAN, NULL, NUMBER, STRING
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection, LocalSecondaryIndex
from pynamodb.models import Model

from .counts import LARGEST
from .errors import InvalidSchedule, UnreadableTask
from .failure import FailedAttempt, Failure
from .given import fit_changed_by
from .instants import MILLISECOND, in_utc, parse, render
from .past import past_of
from .quoting import shortened
from .recurrence import Occurrence, Recurrence
from .status import Status
from .task import Task

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = [
    "ARMING",
    "NOT_OURS",
    "UNREADABLE",
    "ArmingItem",
    "TaskItem",
    "changes",
    "item_of",
    "items_of",
    "task_of",
]

#: Both keys of the item that holds the arming record; lanes are numbers, so it is in none of them.
ARMING = "arming"

_PAST = "past"

#: What a `queued` reads as that is none of ours: no run can claim such an item, so none is to wake for it.
#: Between two milliseconds, so that no task is ever queued for it.
UNREADABLE = datetime.min.replace(microsecond=1, tzinfo=UTC)


_Past = TypeVar("_Past", bound=msgspec.Struct)

#: The fields of a task that are attributes of the same name.
_FIELDS = tuple(field for field in Task.__struct_fields__ if field not in {"lane", "id"})

#: What reading an attribute raises that no version of ours has written.
NOT_OURS = (ArithmeticError, AttributeError, InvalidSchedule, RecursionError, TypeError, ValueError)

#: Those that every task has.
_REQUIRED = ("action", "due", "payload_json", "status", "attempt", "rev", "created_at")


class _InstantAttribute(Attribute[datetime]):
    """A time as fixed-width text, so that it sorts in the index and reads well in the console."""

    attr_type = STRING

    def serialize(self, value: datetime) -> str:
        return render(value)

    def deserialize(self, value: str) -> datetime:
        return parse(value)


class _QueuedAttribute(_InstantAttribute):
    """A time as we write it, by which a task can be claimed; UNREADABLE for whatever else is in the index."""

    def deserialize(self, value: str) -> datetime:
        try:
            queued = super().deserialize(value)
        except ValueError:
            return UNREADABLE
        return queued if render(queued) == value else UNREADABLE


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
        try:
            return msgspec.json.decode(value, type=Failure)
        except (
            ValueError,
            RecursionError,
        ):  # it only says why an attempt failed: the task is as good as ever
            return Failure(type="Unreadable", message=value)


class _CountAttribute(NumberAttribute):
    """A whole number; of one that an edit by hand has left, what is whole of it, up to the largest."""

    def deserialize(self, value: str) -> int:
        return max(-LARGEST, min(int(Decimal(value)), LARGEST))


class _FlagAttribute(Attribute[bool]):
    """Whether it is so; there only if it is."""

    attr_type = BOOLEAN

    def serialize(self, value: bool) -> bool:
        return value

    def deserialize(self, value: bool) -> bool:
        return bool(value)


class _RevAttribute(NumberAttribute):
    """A whole number that every write compares with what is stored: no other can be taken for it."""

    def deserialize(self, value: str) -> int:
        rev = Decimal(value)
        if rev != int(rev) or abs(rev) > LARGEST:
            raise ValueError(f"rev is {shortened(value)}")
        return int(rev)


class _DurationAttribute(Attribute[timedelta]):
    """Whole milliseconds."""

    attr_type = NUMBER

    def serialize(self, value: timedelta) -> str:
        return str(value // MILLISECOND)

    def deserialize(self, value: str) -> timedelta:
        return int(value) * MILLISECOND


class _RecurrenceAttribute(Attribute[Recurrence]):
    attr_type = STRING

    def serialize(self, value: Recurrence) -> str:
        return msgspec.json.encode(value).decode()

    def deserialize(self, value: str) -> Recurrence:
        recurrence = msgspec.json.decode(value, type=Recurrence)
        recurrence.schedule.check()  # before it is run: what comes after it could not be written
        checked: Recurrence = in_utc(recurrence)
        return checked


class _HistoryAttribute(Attribute[tuple[_Past, ...]]):
    """What has been: it only tells, and the task is as good as ever when it cannot be read."""

    attr_type = STRING
    past: type[_Past]

    def serialize(self, value: tuple[_Past, ...]) -> str:
        return msgspec.json.encode(value).decode()

    def deserialize(self, value: str) -> tuple[_Past, ...]:
        try:
            past = msgspec.json.decode(value, type=tuple[self.past, ...])  # type: ignore[name-defined]
            known: tuple[_Past, ...] = in_utc(past)
        except (ValueError, OverflowError, RecursionError):
            return ()
        return known


class _FailuresAttribute(_HistoryAttribute[FailedAttempt]):
    past = FailedAttempt


class _OccurrencesAttribute(_HistoryAttribute[Occurrence]):
    past = Occurrence


class _ChangedByAttribute(Attribute[str]):
    """Who changed the task last: it only tells, and the task is as good as ever when it cannot be read."""

    attr_type = STRING

    def get_value(self, value: dict[str, Any]) -> Any:
        return value.get(STRING, "")

    def deserialize(self, value: str) -> str | None:
        return fit_changed_by(value)


class DueIndex(LocalSecondaryIndex["TaskItem"]):  # type: ignore[no-untyped-call]
    """The tasks of a lane that wait or run, by when they shall be looked at."""

    class Meta:
        index_name = "due-index"
        projection = KeysOnlyProjection()

    lane = UnicodeAttribute(hash_key=True)
    queued = _QueuedAttribute(range_key=True)


class PastIndex(GlobalSecondaryIndex["TaskItem"]):  # type: ignore[no-untyped-call]
    """The tasks of a lane that have something behind them, by what and when."""

    class Meta:
        index_name = "past-index"
        projection = KeysOnlyProjection()

    lane = UnicodeAttribute(hash_key=True)
    past = UnicodeAttribute(range_key=True)


class TaskItem(Model):
    """A task as an item; attributes are named like the fields of Task. `past` follows from those."""

    due_index: DueIndex
    past_index: PastIndex

    lane = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)
    action = UnicodeAttribute()
    due = _InstantAttribute()
    payload_json = UnicodeAttribute(attr_name="payload")
    status = _StatusAttribute()
    queued = _QueuedAttribute(null=True)
    attempt = _CountAttribute()
    rev = _RevAttribute()
    created_at = _InstantAttribute()
    started_at = _InstantAttribute(null=True)
    finished_at = _InstantAttribute(null=True)
    run = UnicodeAttribute(null=True)
    lateness_ms = _CountAttribute(null=True)
    begun = _CountAttribute(null=True)
    failure = _FailureAttribute(null=True)
    failures = _FailuresAttribute(null=True)
    expires_at = TTLAttribute(null=True)
    unlisted = _FlagAttribute(null=True)
    payload_dropped = _CountAttribute(null=True)
    past = UnicodeAttribute(null=True)
    spread = _DurationAttribute(null=True)
    expires_after = _DurationAttribute(null=True)
    recurrence = _RecurrenceAttribute(null=True)
    occurrences = _OccurrencesAttribute(null=True)
    changed_by = _ChangedByAttribute(null=True)

    @classmethod
    def from_raw_data(cls, data: dict[str, Any]) -> Self:
        """The item as DynamoDB gives it. Raises UnreadableTask if an attribute is none of ours."""
        try:
            return super().from_raw_data(data)
        except NOT_OURS as error:
            raise UnreadableTask(data["id"][STRING], error) from error

    @classmethod
    def of(cls, task: Task) -> Self:
        """The item that a task is stored as."""
        fields = {field: _stored(task, field) for field in _FIELDS}
        return cls(str(task.lane), task.id, past=past_of(task), **fields)

    def to_task(self) -> Task:
        """The task that an item holds. Raises UnreadableTask if it lacks what every task has."""
        if missing := [field for field in _REQUIRED if getattr(self, field) is None]:
            raise UnreadableTask(self.id, f"it has no {', '.join(missing)}")
        given = {field: getattr(self, field) for field in _FIELDS}
        present = {field: value for field, value in given.items() if value is not None}
        return Task(lane=int(self.lane), id=self.id, **present)


class ArmingItem(Model):
    """The arming record as an item; `rev` stands beside it for the compare-and-swap."""

    lane = UnicodeAttribute(hash_key=True, default=ARMING)
    id = UnicodeAttribute(range_key=True, default=ARMING)
    record = UnicodeAttribute(null=True)
    rev = NumberAttribute(null=True)

    @classmethod
    def from_raw_data(cls, data: dict[str, Any]) -> Self:
        """The item as DynamoDB gives it, without what is of another type than ours: someone else's edit."""
        types = {"lane": STRING, "id": STRING, "record": STRING, "rev": NUMBER}
        return super().from_raw_data(
            {name: data[name] for name in types if types[name] in data.get(name, ())}
        )


def items_of(table: str, client: "DynamoDBClient") -> tuple[type[TaskItem], type[ArmingItem]]:
    """The two kinds of items, bound to this table and this client."""

    class BoundTask(TaskItem):
        class Meta:
            table_name = table
            region = client.meta.region_name

        due_index = DueIndex()
        past_index = PastIndex()

    class BoundArming(ArmingItem):
        class Meta:
            table_name = table
            region = client.meta.region_name

    for model in (BoundTask, BoundArming):
        # pynamodb would make a client of its own, without the caller's session; it has no public way in.
        model._get_connection().connection._client = client  # type: ignore[assignment]  # noqa: SLF001
    return BoundTask, BoundArming


def item_of(task: Task) -> dict[str, dict[str, Any]]:
    """The item that a task is stored as, in the terms of DynamoDB's API: what writing a TaskItem sends."""
    item = {"lane": {STRING: str(task.lane)}, "id": {STRING: task.id}}
    for field, attribute in _ATTRIBUTES:
        if (value := _stored(task, field)) is not None:
            item[attribute.attr_name] = {attribute.attr_type: attribute.serialize(value)}
    if past := past_of(task):
        item[_PAST] = {STRING: past}
    return item


def task_of(item: Mapping[str, Any]) -> Task:
    """The task that such an item holds. Raises UnreadableTask if it is none of ours."""
    id: str = item["id"][STRING]
    fields = {}
    try:
        for field, attribute in _ATTRIBUTES:
            value = item.get(attribute.attr_name)
            if value is not None and NULL not in value:
                fields[field] = attribute.deserialize(attribute.get_value(value))
        if missing := [field for field in _REQUIRED if field not in fields]:
            raise UnreadableTask(id, f"it has no {', '.join(missing)}")
        return Task(lane=int(item["lane"][STRING]), id=id, **fields)
    except NOT_OURS as error:
        raise UnreadableTask(id, error) from error


def changes(old: Task, new: Task) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """What makes `new` of `old`: the attributes that differ, as they are to be, and those that go."""
    sets, removes = {}, []
    for field, attribute in _ATTRIBUTES:
        if getattr(old, field) == getattr(new, field):
            continue
        if (value := _stored(new, field)) is None:
            removes.append(attribute.attr_name)
        else:
            sets[attribute.attr_name] = {attribute.attr_type: attribute.serialize(value)}
    past = past_of(new)
    if past is not None:  # also if it should be there already: another version may have left it out
        sets[_PAST] = {STRING: past}
    elif past_of(old) is not None:
        removes.append(_PAST)
    return sets, removes


def _stored(task: Task, field: str) -> Any:
    """The field's value as the attribute has it: one that says nothing is left out."""
    value = getattr(task, field)
    return None if value in ((), timedelta(0)) or value is False else value


#: The attribute of each field.
_ATTRIBUTES = tuple((field, TaskItem.get_attributes()[field]) for field in _FIELDS)
