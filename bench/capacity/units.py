"""DynamoDB's rules for what a request consumes, as its developer guide gives them.

* An item is as large as the names and values of its attributes: text counts its bytes in UTF-8, a number a
  byte for each two significant digits and one more.
  https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
* A write takes a unit for each KB begun, of the item before or after it, whichever is larger; a write whose
  condition fails takes what one of the item that is there would. A transaction takes twice as much. A
  strongly consistent read takes a unit for each 4 KB begun; a query adds up what it looks at first, and a
  batch of gets rounds each.
  https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
* An index takes one write more when an item enters or leaves it, two when its key in it changes, and
  none when nothing that the index holds does. Reading it counts what it holds, not the items.
  https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html"""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["INDEX_KEYS", "PAST_KEYS", "read_units", "refused_units", "size_of", "write_units"]

#: The attributes of an item in `due-index`; an item without one of them is not in the index.
INDEX_KEYS = ("lane", "id", "queued")

#: The same of the index `past-index`.
PAST_KEYS = ("lane", "id", "past")

_Item = Mapping[str, Mapping[str, Any]]

_WRITE_UNIT, _READ_UNIT = 1024, 4096


def size_of(item: _Item) -> int:
    """An item's size in bytes."""
    return sum(len(name.encode()) + _size_of_value(value) for name, value in item.items())


def write_units(before: _Item | None, after: _Item | None) -> int:
    """The write units, with those of the index, of the change from `before` to `after`; None: no item."""
    table = _units(max(size_of(before or {}), size_of(after or {})), _WRITE_UNIT)
    indexes = (_index_units(_entry(before, keys), _entry(after, keys)) for keys in (INDEX_KEYS, PAST_KEYS))
    return table + sum(indexes)


def refused_units(there: _Item | None) -> int:
    """The write units of a write whose condition did not hold."""
    return _units(size_of(there or {}), _WRITE_UNIT)


def read_units(items: Iterable[_Item]) -> int:
    """The read units of a strongly consistent query that looks at these items, or of a get of one."""
    return _units(sum(map(size_of, items)), _READ_UNIT)


def _index_units(before: _Item | None, after: _Item | None) -> int:
    if before == after:
        return 0
    return sum(_units(size_of(entry), _WRITE_UNIT) for entry in (before, after) if entry)


def _entry(item: _Item | None, keys: tuple[str, ...]) -> _Item | None:
    """Return the item's entry in the index of these keys; None if it is not in it."""
    return {key: item[key] for key in keys} if item and all(key in item for key in keys) else None


def _units(size: int, unit: int) -> int:
    return max(-(-size // unit), 1)


def _size_of_value(value: Mapping[str, Any]) -> int:
    [(type, content)] = value.items()
    match type:
        case "S":
            return len(content.encode())
        case "N":
            digits = content.lstrip("-").replace(".", "").strip("0")
            return -(-len(digits) // 2) + 1
        case "B":
            return len(content if isinstance(content, bytes) else base64.b64decode(content))
        case "BOOL":
            return 1
        case _:
            raise ValueError(f"no task has an attribute of type {type}")
