"""Tasks as items of the DynamoDB table: the one definition of their attributes, and how large an item may be.

The type of a task's field says how its attribute is written and read.

The sort key `queued` of a task without a priority is its time, `2026-12-31T00:00:00.000Z`. With a priority, a
rank stands in place of the Z: `#1` for 9 to `#9` for 1. It sorts before the Z, and higher priorities first.
So the index has the tasks of a millisecond in order, and a key tells the priority.

An item has 400 KB at most, its entry in a local index included. In a full lane, it must not become larger. So
an add reserves space for the outcomes. A full lane stores an outcome without the parts that only inform:
without its outcome, the task would run again.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import msgspec
from msgspec.structs import astuple, replace

from duebell_shared.errors import InvalidSchedule, InvalidTask, UnreadableTask
from duebell_shared.instants import EPOCH, MILLISECOND, in_utc, parse, render, to_json
from duebell_shared.queue.places import key_of, parse_past, render_past
from duebell_shared.quoting import shortened
from duebell_shared.tasks.checks import LARGEST, MAX_PRIORITY, Priority, fit_traceparent
from duebell_shared.tasks.follow_up import FollowUp, Members, Owed
from duebell_shared.tasks.history import (
    MAX_PACKED_EVENTS,
    Event,
    Failure,
    Lateness,
    Occurrence,
    bounded_events,
    bounded_occurrences,
    pack,
    unpack,
)
from duebell_shared.tasks.recurrence import Recurrence
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import IntakeMark, Task

#: Attributes as DynamoDB's API has them: each by its name, under its type.
Item = Mapping[str, Mapping[str, Any]]

#: The errors of reading an attribute that no version of duebell has written.
_NOT_OURS = (
    ArithmeticError,
    AttributeError,
    InvalidSchedule,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

#: Values of these types are stored even if they are 0 or empty, except in these fields.
_ALWAYS = {int, str}
_UNLESS_0 = {"priority"}

#: The fields that every item has.
_REQUIRED = ("id", "lane", "action", "due", "payload_json", "status", "attempt", "rev", "created_at")

#: Between the time and the rank.
_SEPARATOR = "#"


def render_queued(at: datetime, priority: int = 0) -> str:
    text = render(at)
    return f"{text[:-1]}{_SEPARATOR}{MAX_PRIORITY + 1 - priority}" if priority else text


def parse_queued(text: str) -> tuple[datetime, int]:
    """The time and the priority. Raises ValueError for text that duebell does not write."""
    time, separator, rank = text.partition(_SEPARATOR)
    at = parse(f"{time}Z" if separator else time)
    priority = MAX_PRIORITY + 1 - int(rank) if separator else 0
    if not 0 <= priority <= MAX_PRIORITY or render_queued(at, priority) != text:
        raise ValueError(f"{text} is no place in the queue")
    return at, priority


_T = TypeVar("_T")

_SECOND = timedelta(seconds=1)


class _AttributeType(NamedTuple):
    """One of DynamoDB's types, with the functions that write a value and read it.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html
    """

    type: str
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _from_json(kind: type[_T], text: str) -> _T:
    value: _T = in_utc(msgspec.json.decode(text, type=kind))
    return value


def _whole(number: str) -> int:
    if abs(whole := int(number)) > LARGEST:
        raise ValueError(f"{shortened(number)} is too large")
    return whole


def _recurrence(text: str) -> Recurrence:
    recurrence = _from_json(Recurrence, text)
    recurrence.schedule.check()  # before it is run: its next occurrence could not be stored
    return recurrence


def _lateness(text: str) -> Lateness:
    """The parts in milliseconds, in their order."""
    parts = dict(zip(Lateness.__struct_fields__, text.split(","), strict=False))
    return msgspec.convert(parts, Lateness, strict=False)


_text = partial(_AttributeType, "S")
_number = partial(_AttributeType, "N")

_packed = partial(_AttributeType, "B")


def _json(type: Any) -> _AttributeType:
    return _text(to_json, partial(_from_json, type))


#: The attributes of fields of these types. Times are text of a fixed width, which sorts in the index and
#: reads well in the console; lengths of time are whole milliseconds.
_OF_TYPES: dict[Any, _AttributeType] = {
    str: _text(str, str),
    bool: _AttributeType("BOOL", bool, bool),
    int: _number(str, _whole),
    datetime: _text(render, parse),
    timedelta: _number(lambda span: str(span // MILLISECOND), lambda text: int(text) * MILLISECOND),
    Status: _text(lambda status: status.value, Status),
    Recurrence: _text(to_json, _recurrence),
    FollowUp: _json(FollowUp),
    Owed: _json(Owed),
    Members: _json(Members),
    Failure: _json(Failure),
    IntakeMark: _json(IntakeMark),
    Lateness: _text(lambda parts: ",".join(map(str, astuple(parts))), _lateness),
    tuple[str, ...]: _text(",".join, lambda text: tuple(text.split(","))),
    tuple[Occurrence, ...]: _packed(
        lambda occurrences: pack(bounded_occurrences(occurrences)), lambda packed: unpack(packed, Occurrence)
    ),
    tuple[Event, ...]: _packed(pack, lambda packed: unpack(packed, Event)),
}

#: The attributes of these fields, whatever their types. `past` follows from other fields.
_OF_FIELDS: dict[str, _AttributeType] = {
    # A key of the table, and keys are text.
    "lane": _text(str, int),
    # A claim is conditional on it. It holds a time and a priority, or a time alone.
    "queued": _text(
        lambda place: render_queued(*place) if isinstance(place, tuple) else render_queued(place),
        parse_queued,
    ),
    # In seconds since 1970, as DynamoDB's time to live has it; fractions are cut off.
    "expires_at": _number(
        lambda at: str((at - EPOCH) // _SECOND), lambda number: EPOCH + _whole(number) * _SECOND
    ),
    # It is stored within `queued` too, which can hold no other numbers.
    "priority": _number(str, lambda number: msgspec.convert(number, Priority, strict=False)),
    "past": _text(lambda place: render_past(*place), parse_past),
    "traceparent": _text(str, fit_traceparent),
}

#: The names of attributes that differ from the names of their fields.
_NAMES = {"payload_json": "payload", "result_json": "result"}


class _Attribute(NamedTuple):
    field: str
    name: str
    type: str
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _stored_as(field: str, hint: Any = None) -> _Attribute:
    if not (kind := _OF_FIELDS.get(field)):
        type = get_args(hint)[0] if NoneType in get_args(hint) else hint
        kind = _OF_TYPES[type]
    return _Attribute(field, _NAMES.get(field, field), *kind)


#: The fields of a task.
_ATTRIBUTES = tuple(_stored_as(field, hint) for field, hint in get_type_hints(Task).items())

#: By field: the attribute's name, its type, and the function that writes a value.
_STORED = {each.field: each[1:4] for each in (*_ATTRIBUTES, _stored_as("past"))}

#: The sort key of the queue's index, which the priority is a part of.
_QUEUED = _stored_as("queued")


def stored(**values: object) -> dict[str, dict[str, Any]]:
    """Attributes of a task's item in the terms of DynamoDB's API, by the fields of these values."""
    item = {}
    for field, value in values.items():
        name, type, write = _STORED[field]
        item[name] = {type: write(value)}
    return item


def item_of(task: Task) -> dict[str, dict[str, Any]]:
    return _attributes_of(task, _ATTRIBUTES)


def task_of(item: Item) -> Task:
    """The task that such an item holds. Raises UnreadableTask if duebell did not write it."""
    fields = {}
    for field, name, type_, _, read in _ATTRIBUTES:
        attribute = item.get(name)
        if attribute is None or "NULL" in attribute:
            continue
        try:
            fields[field] = read(attribute[type_])
        except _NOT_OURS as error:
            raise UnreadableTask(item["id"]["S"], f"{name} is {shortened(str(attribute))}") from error
    if place := fields.get(_QUEUED.field):
        fields[_QUEUED.field], _ = place  # the priority has a field of its own
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


def _attributes_of(task: Task, wanted: Iterable[_Attribute]) -> dict[str, dict[str, Any]]:
    """These attributes without empty ones, and the attributes that follow from other fields."""
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


MAX_ITEM = 400 * 1024

#: Bytes that DynamoDB adds to an entry of an index, at most.
_INDEX_ENTRY = 100

_KEYS = ("lane", "id", "queued")

#: The attributes that runs write: of the last attempt, of the failed ones, of the occurrences. And the name
#: of the last editor and the mark of its message, which are written when the task is paused or moved.
_WRITTEN_BY_RUNS = (
    "begun",
    "changed_by",
    "events",
    "expires_at",
    "failure",
    "failures",
    "finished_at",
    "follow_up_error",
    "intake",
    "lateness",
    "lateness_ms",
    "limited_since",
    "occurrences",
    "owes",
    "past",
    "result",
    "result_error",
    "run",
    "started_at",
)

#: Bytes that are reserved for these attributes, and for pending occurrences.
_RESERVED = 42 * 1024

#: A payload of so many characters fits, at four bytes each. Most are that short: nothing is added up.
_SMALL = 64 * 1024

#: Bytes of a write unit; about the bytes that the first attempt, and each later one, adds to an item.
_UNIT, _FIRST_ATTEMPT, _NEXT_ATTEMPT = 1024, 200, 80

#: Characters of a failure's type that a leaner form keeps.
_TYPE = 40

#: Why an outcome lacks its follow-up or its result.
_LANE_FULL = "its lane is full"


def check_size(task: Task) -> Task:
    """The task, if all its outcomes will fit into its item, however often it fails. Raises InvalidTask."""
    has_past = task.failure or task.failures or task.occurrences
    if len(task.payload_json) <= _SMALL and not has_past:
        return task
    item = item_of(task)
    written = _bytes_of(item, _WRITTEN_BY_RUNS)
    size = size_of(item) - written + max(written, _RESERVED)
    if size > MAX_ITEM:
        raise InvalidTask(
            "payload",
            f"makes the task as large as {size:,} bytes with what runs add; an item of DynamoDB has at most "
            f"{MAX_ITEM:,}: keep the data elsewhere, in S3 for example, and put its key here",
        )
    return task


def with_fitting_events(task: Task) -> Task:
    """The task with as many of its events as need no further write unit, now and with its next attempt."""
    if not task.events:
        return task
    item = item_of(replace(task, events=()))
    left = -_bytes_of(item, item) % _UNIT - len("events")
    room = left if task.status.is_finished else left - (_NEXT_ATTEMPT if task.run else _FIRST_ATTEMPT)
    return replace(task, events=bounded_events(task.events, max(0, min(room, MAX_PACKED_EVENTS))))


def size_of(item: Item) -> int:
    """The size of an item as DynamoDB counts it: names and values, and the keys once more in the index."""
    return _bytes_of(item, item) + _bytes_of(item, _KEYS) + _INDEX_ENTRY


def leaner_forms(old: Task, new: Task) -> Iterator[Task]:
    """Shorter forms of the outcome `new` of the task `old`; none if `new` is no outcome.

    The first keeps nothing that only informs, except the type of the failure. The second has no follow-up.
    """
    is_outcome = old.status is Status.RUNNING is not new.status or new.status.is_finished
    if not is_outcome or (old.owes and new.owes):  # its outcome is stored already
        return
    nothing: Any = dict.fromkeys(("run", "started_at", "lateness_ms", "lateness", "result_json"), None)
    nothing["result_error"] = _LANE_FULL if new.result_json else None
    failure = new.failure and Failure(type=new.failure.type[:_TYPE], message="")
    bare = replace(new, failure=failure, failures=(), occurrences=(), events=(), **nothing)
    yield bare
    if new.owes:
        yield replace(bare.follow_up_settled(_LANE_FULL), rev=new.rev)


def _bytes_of(item: Item, names: Iterable[str]) -> int:
    """The size in bytes of these attributes as DynamoDB counts it.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    return sum(len(name.encode()) + _width_of(item[name]) for name in names if name in item)


def _width_of(value: Mapping[str, Any]) -> int:
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(str(content).encode())
        case "B":
            return len(bytes(content))
        case "N":
            number = str(content)
            digits = number.lstrip("-").replace(".", "").strip("0")
            return -(-len(digits) // 2) + 1 + number.startswith("-")
        case _:
            return 1
