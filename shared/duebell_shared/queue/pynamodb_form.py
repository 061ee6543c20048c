"""An update of an item, in the terms of pynamodb."""

from functools import reduce
from operator import and_
from typing import Any

from pynamodb.attributes import UnicodeAttribute
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path
from pynamodb.models import Model

from .item_update import Item, ItemUpdate

__all__ = ["in_pynamodb"]


def in_pynamodb(update: ItemUpdate, table: str) -> dict[str, Any]:
    """The arguments of pynamodb's `TransactWrite.update` for this update of an item of the table."""
    sets = [Path([name]).set(value) for name, value in update.sets.items()]
    removes = [Path([name]).remove() for name in update.removes]
    conditions = [_is(name, update.where) for name in update.where]
    return {
        "model": _model_of(table)(update.key["lane"]["S"], update.key["id"]["S"]),
        "actions": [*sets, *removes],
        "condition": reduce(and_, conditions),
    }


def _is(name: str, where: Item) -> Condition:
    condition: Condition = Path([name]) == where[name]
    return condition


def _model_of(table: str) -> type[Model]:
    """A model of the table's keys: the transaction's own connection makes the call."""

    class Keys(Model):
        class Meta:
            table_name = table

        lane = UnicodeAttribute(hash_key=True)
        id = UnicodeAttribute(range_key=True)

    return Keys
