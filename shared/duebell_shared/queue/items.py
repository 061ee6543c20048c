"""Tasks as items, in the terms of DynamoDB's API: written and read by the attributes of TaskItem.

pynamodb itself would make an object of each item, which takes it as long as the SDK's call.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pynamodb.attributes import Attribute
from pynamodb.constants import NULL

from duebell_shared.errors import InvalidSchedule, UnreadableTask
from duebell_shared.tasks.task import Task

from .models import Item, TaskItem, stored
from .past_index import key_of

__all__ = ["changes", "item_of", "task_of"]

#: The errors of reading an attribute that no version of duebell has written.
_NOT_OURS = (ArithmeticError, AttributeError, InvalidSchedule, RecursionError, TypeError, ValueError)


class _Stored(NamedTuple):
    """A field of a task: its attribute's name and type, and what writes and reads its value."""

    field: str
    name: str
    type: str
    write: Callable[[Any], Any]
    attribute: Attribute[Any]


def _stored_as(field: str) -> _Stored:
    attribute = TaskItem.get_attributes()[field]
    return _Stored(field, attribute.attr_name, attribute.attr_type, attribute.serialize, attribute)


#: The fields of a task.
_ATTRIBUTES: tuple[_Stored, ...] = tuple(map(_stored_as, Task.__struct_fields__))

#: The sort key of the queue's index, which the priority is a part of.
_QUEUED = _stored_as("queued")

#: Types of values that are stored even if they are 0 or empty; and the fields that are not.
_ALWAYS = {int, str}
_UNLESS_0 = {"priority", "snoozes"}

#: The fields that every task has.
_REQUIRED = tuple(each.field for each in _ATTRIBUTES if not each.attribute.null)


def item_of(task: Task) -> dict[str, dict[str, Any]]:
    """The item that a task is stored as."""
    return _attributes_of(task, _ATTRIBUTES)


def task_of(item: Item) -> Task:
    """The task that such an item holds. Raises UnreadableTask if duebell did not write it."""
    fields = {}
    try:
        for field, name, _, _, attribute in _ATTRIBUTES:
            value: Any = item.get(name)
            if value is not None and NULL not in value:
                fields[field] = attribute.deserialize(attribute.get_value(value))
        if place := fields.get(_QUEUED.field):
            fields[_QUEUED.field], _ = place  # the priority has a field of its own
    except _NOT_OURS as error:
        raise UnreadableTask(item["id"]["S"], error) from error
    if missing := [field for field in _REQUIRED if field not in fields]:
        raise UnreadableTask(item["id"]["S"], f"it has no {', '.join(missing)}")
    return Task(**fields)


def changes(old: Task, new: Task) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The update that makes `new` of `old`: the attributes to set, and the names of those to remove.

    `past` is always set: another version may have left it out.
    """
    changed = [each for each in _ATTRIBUTES if getattr(old, each.field) != getattr(new, each.field)]
    if old.priority != new.priority and old.queued == new.queued:
        changed.append(_QUEUED)
    before, after = _attributes_of(old, changed), _attributes_of(new, changed)
    return after, [name for name in before if name not in after]


def _attributes_of(task: Task, wanted: Iterable[_Stored]) -> dict[str, dict[str, Any]]:
    """These attributes, but for empty ones; and those that follow from the task."""
    item = {}
    for field, name, type_, write, _ in wanted:
        value = getattr(task, field)
        if value or (type(value) in _ALWAYS and field not in _UNLESS_0):
            item[name] = {type_: write(value)}
    if task.priority and _QUEUED.name in item:
        item |= stored(queued=(task.queued, task.priority))
    if key := key_of(task):
        item |= stored(past=(key.kind, key.at))
    return item
