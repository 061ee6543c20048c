"""Filler in an item, from its `add` on, for what runs add to it: a claim makes no item larger. Pure.

A lane holds 10 GB at most, its items and their entries in the local index together. When it does, DynamoDB
refuses every write that makes an item larger, and takes those that do not. So the attribute `room` of a
task that waits or runs is as wide as the other attributes that runs write are not yet: a claim writes those
and shortens it. That is a width in bytes, whatever the text.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
"""

from collections.abc import Mapping
from typing import Any

from .attribute_size import bytes_of, width_of
from .counts import LARGEST
from .item_update import Item
from .status import Status

__all__ = ["ROOM", "SIZED", "filler", "room_of", "room_of_claim"]

#: The attribute's name.
ROOM = "room"

#: The attributes, besides counters, that runs write to a task that waits or runs, at their widest.
_WIDEST = {
    "status": {"S": Status.RUNNING.value},
    "started_at": {"S": "2026-12-31T00:00:00.000Z"},
    "run": {"S": "r" * 32},
    "lateness_ms": {"N": str(-LARGEST + 1)},
    "begun": {"N": "9999"},
}

#: Bytes that stay free in a claimed task, for counters that become a digit longer.
_SPARE = 16

#: The attributes that the room depends on.
SIZED = frozenset({*_WIDEST, "attempt", "rev"})

_WIDTH = bytes_of(_WIDEST, _WIDEST) + _SPARE


def room_of(item: Item) -> dict[str, dict[str, Any]]:
    """The attribute `room` of this item, by its name; none unless the task waits or runs."""
    match item["status"]["S"]:
        case Status.SCHEDULED:
            return _beside(item, _growth(item["attempt"]) + _growth(item["rev"]))
        case Status.RUNNING:
            return _beside(item)
    return {}


def room_of_claim(claim: Item, status: Status) -> dict[str, dict[str, Any]]:
    """The same beside what a claim sets, of a task that had this status.

    One that ran already may have been recorded as begun, and the claim does not know.
    """
    may_be_begun = status is Status.RUNNING
    return _beside({**claim, "begun": _WIDEST["begun"]} if may_be_begun else claim)


def _beside(item: Item, more: int = 0) -> dict[str, dict[str, Any]]:
    """As much room as what runs write is narrower in this item than it can be; and so many bytes more."""
    return filler(_WIDTH + more - bytes_of(item, _WIDEST))


def filler(width: int) -> dict[str, dict[str, Any]]:
    """The attribute with a value of so many bytes, by its name."""
    return {ROOM: {"S": "." * max(width, 0)}}


def _growth(counter: Mapping[str, Any]) -> int:
    """The bytes that the counter grows by when it is increased by one."""
    return width_of({"N": str(int(counter["N"]) + 1)}) - width_of(counter)
