"""How tasks and the arming record look as items of the DynamoDB table, in pynamodb's terms."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from pynamodb.attributes import NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.constants import NULL, NUMBER, STRING
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection, LocalSecondaryIndex
from pynamodb.models import Model

from .attributes import (
    ChangedByAttribute,
    CountAttribute,
    DurationAttribute,
    FailureAttribute,
    FailuresAttribute,
    FlagAttribute,
    InstantAttribute,
    OccurrencesAttribute,
    QueuedAttribute,
    RecurrenceAttribute,
    RevAttribute,
    StatusAttribute,
)
from .errors import InvalidSchedule, UnreadableTask
from .past import past_of
from .room import SIZED, room_of
from .task import Task

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = [
    "ARMING",
    "NOT_OURS",
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

#: The fields of a task that are attributes of the same name.
_FIELDS = tuple(field for field in Task.__struct_fields__ if field not in {"lane", "id"})

#: What reading an attribute raises that no version of ours has written.
NOT_OURS = (ArithmeticError, AttributeError, InvalidSchedule, RecursionError, TypeError, ValueError)

#: Those that every task has.
_REQUIRED = ("action", "due", "payload_json", "status", "attempt", "rev", "created_at")


class DueIndex(LocalSecondaryIndex["TaskItem"]):  # type: ignore[no-untyped-call]
    """The tasks of a lane that wait or run, by when they shall be looked at."""

    class Meta:
        index_name = "due-index"
        projection = KeysOnlyProjection()

    lane = UnicodeAttribute(hash_key=True)
    queued = QueuedAttribute(range_key=True)


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
    due = InstantAttribute()
    payload_json = UnicodeAttribute(attr_name="payload")
    status = StatusAttribute()
    queued = QueuedAttribute(null=True)
    attempt = CountAttribute()
    rev = RevAttribute()
    created_at = InstantAttribute()
    started_at = InstantAttribute(null=True)
    finished_at = InstantAttribute(null=True)
    run = UnicodeAttribute(null=True)
    lateness_ms = CountAttribute(null=True)
    begun = CountAttribute(null=True)
    failure = FailureAttribute(null=True)
    failures = FailuresAttribute(null=True)
    expires_at = TTLAttribute(null=True)
    unlisted = FlagAttribute(null=True)
    payload_dropped = CountAttribute(null=True)
    past = UnicodeAttribute(null=True)
    spread = DurationAttribute(null=True)
    expires_after = DurationAttribute(null=True)
    recurrence = RecurrenceAttribute(null=True)
    occurrences = OccurrencesAttribute(null=True)
    changed_by = ChangedByAttribute(null=True)

    @classmethod
    def from_raw_data(cls, data: dict[str, Any]) -> Self:
        """The item as DynamoDB gives it. Raises UnreadableTask if an attribute is none of ours."""
        try:
            return super().from_raw_data(data)
        except NOT_OURS as error:
            raise UnreadableTask(data["id"][STRING], error) from error

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
    """The item that a task is stored as, in the terms of DynamoDB's API."""
    item = {"lane": {STRING: str(task.lane)}, "id": {STRING: task.id}}
    for field, attribute in _ATTRIBUTES:
        if (value := _stored(task, field)) is not None:
            item[attribute.attr_name] = {attribute.attr_type: attribute.serialize(value)}
    if past := past_of(task):
        item[_PAST] = {STRING: past}
    return {**item, **room_of(item)}


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
    room = _room_of(new)  # always: what is there was made by a claim, which does not see the whole item
    sets |= room
    removes += _room_of(old).keys() - room.keys()
    return sets, removes


def _room_of(task: Task) -> dict[str, dict[str, Any]]:
    item = {}
    for field, attribute in _SIZED:
        if (value := getattr(task, field)) is not None:
            item[field] = {attribute.attr_type: attribute.serialize(value)}
    return room_of(item)


def _stored(task: Task, field: str) -> Any:
    """The field's value as the attribute has it: one that says nothing is left out."""
    value = getattr(task, field)
    return None if value in ((), timedelta(0)) or value is False else value


#: The attribute of each field.
_ATTRIBUTES = tuple((field, TaskItem.get_attributes()[field]) for field in _FIELDS)

#: Those that its room depends on.
_SIZED = tuple((field, attribute) for field, attribute in _ATTRIBUTES if field in SIZED)
