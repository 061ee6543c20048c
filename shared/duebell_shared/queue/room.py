"""Filler in an item, from its `add` on, for what runs add to it: a claim makes no item larger. Pure.

A lane holds 10 GB at most, its items and their entries in the local index together. In a full lane DynamoDB
refuses every write that makes an item larger, and takes all others. So the attribute `room` of a task that
waits or runs is as many bytes wide as the attributes that runs have still to write: a claim writes those and
shortens it.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from duebell_shared.bell.owner import LONGEST
from duebell_shared.counts import LARGEST
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

from .item_update import Item
from .models import stored

__all__ = ["bytes_of", "filler", "room_of", "room_of_claim"]

#: The attributes, besides counters, that runs write to a task that waits or runs, at their widest.
_WIDEST = stored(
    status=Status.RUNNING,
    started_at=datetime(2026, 12, 31, tzinfo=UTC),
    run="r" * LONGEST,
    lateness_ms=-LARGEST + 1,
    begun=9999,
)

#: The fields of those that no run has written in a task that was just added.
_BY_RUNS = ("started_at", "run", "lateness_ms", "begun")

#: Bytes that stay free in a claimed task, for counters that become a digit longer.
_SPARE = 16


def bytes_of(item: Item, names: Iterable[str]) -> int:
    """The size in bytes of the item's attributes of these names; missing ones count nothing.

    As DynamoDB counts: names and text by their bytes in UTF-8; a number by a byte for each two significant
    digits, one more, and one for its sign.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    return sum(len(name.encode()) + _width_of(item[name]) for name in names if name in item)


def room_of(task: Task) -> dict[str, dict[str, Any]]:
    """The attribute `room` of this task, by its name; none unless the task waits or runs."""
    goes_on = task.owes is not None and task.owes.queued is not None
    match Status.RUNNING if goes_on else task.status:
        case Status.SCHEDULED | Status.RESERVED:
            if (task.attempt, task.rev) == (0, 1) and not any(map(task.__getattribute__, _BY_RUNS)):
                return _ROOM_OF_NEW
            growth = _growth(task.attempt) + _growth(task.rev)
        case Status.RUNNING:
            growth = 0
        case _:
            return {}
    written = {field: value for field in _WIDEST if (value := getattr(task, field)) is not None}
    return filler(_WIDTH + growth - bytes_of(stored(**written), _WIDEST))


def room_of_claim(claim: Item, status: Status) -> dict[str, dict[str, Any]]:
    """The attribute `room` beside what a claim sets, for a task that had this status.

    A task that ran already may have been recorded as begun, which the claim does not see.
    """
    may_be_begun = status is Status.RUNNING
    begun = bytes_of(_WIDEST, ["begun"]) if may_be_begun else 0
    return filler(_WIDTH - bytes_of(claim, _WIDEST) - begun)


def filler(width: int) -> dict[str, dict[str, Any]]:
    """The attribute `room` with a value of `width` bytes, by its name."""
    return stored(room=max(width, 0))


def _growth(counter: int) -> int:
    """The bytes that the counter grows by when it is increased by one."""
    return _width_of({"N": str(counter + 1)}) - _width_of({"N": str(counter)})


def _width_of(value: Mapping[str, Any]) -> int:
    """The size of an attribute's value without its name: text, bytes, a number or a flag."""
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


_WIDTH = bytes_of(_WIDEST, _WIDEST) + _SPARE

#: The room of a task that was just added: no run has written anything to it.
_ROOM_OF_NEW = filler(_WIDTH + _growth(0) + _growth(1) - bytes_of(stored(status=Status.SCHEDULED), _WIDEST))
