"""The size of attributes in bytes, as DynamoDB counts it. Pure.

Names and text count their bytes in UTF-8, a number a byte for each two significant digits, one more, and
one for its sign.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .item_update import Item

__all__ = ["bytes_of", "width_of"]


def bytes_of(item: Item, names: Iterable[str]) -> int:
    """The size of the item's attributes of these names; those that it does not have count nothing."""
    return sum(len(name.encode()) + width_of(item[name]) for name in names if name in item)


def width_of(value: Mapping[str, Any]) -> int:
    """The size of an attribute's value without its name: text, bytes, a number or a flag."""
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "B":
            return len(content)
        case "N":
            number = str(content)
            digits = number.lstrip("-").replace(".", "").strip("0")
            return -(-len(digits) // 2) + 1 + number.startswith("-")
        case _:
            return 1
