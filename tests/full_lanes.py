"""Lanes that hold all that they may: what AWS does at 10 GB, here at a few KB.

A write that makes an item collection larger is refused once that holds so much: its items, and their
entries in the local index. What makes it smaller, or leaves it as it is, is taken. A write may go beyond
the limit by itself.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
"""

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from bench.capacity.units import INDEX_KEYS, size_of
from moto.core import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.dynamo_type import Item

from tests.partiql import FULL, LaneFull
from tests.simulation.wire.refused import Refused
from tests.support import REGION

__all__ = ["LaneSizes", "bytes_in_lane", "bytes_in_lanes", "lanes_hold"]

_Item = Mapping[str, Mapping[str, Any]]

_GIGABYTE = 2**30

#: What AWS adds to an item and to an entry of an index.
_OVERHEAD = 100


def bytes_in_lane(item: _Item | None) -> int:
    """What the item takes of its lane, with its entry in the local index."""
    if item is None:
        return 0
    size = size_of(item) + _OVERHEAD
    if "queued" in item:
        size += size_of({name: item[name] for name in INDEX_KEYS}) + _OVERHEAD
    return size


class LaneSizes:
    """The bytes in each lane, and the most that there may be."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.of: defaultdict[str, int] = defaultdict(int)

    def check(self, lane: str, before: _Item | None, after: _Item) -> None:
        """Refuse what makes a full lane larger. Raises Refused."""
        grows = bytes_in_lane(after) - bytes_in_lane(before)
        if grows > 0 and self.of[lane] + grows > self.most:
            raise Refused(f"{FULL}Exception", f"lane {lane} is full")

    def count(self, lane: str, item: _Item, sign: int = 1) -> None:
        """The lane holds this item from now on; with -1, it does not any more."""
        self.of[lane] += sign * bytes_in_lane(item)

    def metrics(self, item: _Item) -> dict[str, Any]:
        """What is answered of the lane of this item."""
        whole = self.of[item["lane"]["S"]] // _GIGABYTE
        return {
            "ItemCollectionKey": {"lane": item["lane"]},
            "SizeEstimateRangeGB": [float(whole), float(whole + 1)],
        }


@contextmanager
def lanes_hold(most: int) -> Iterator[None]:
    """Inside, no lane of moto's tables takes more than so many bytes."""

    def limited(write: Any) -> Any:
        def write_or_not(backend: DynamoDBBackend, table: str, *given: Any, **named: Any) -> Any:
            item = given[0] if given else named.get("item_attrs") or named["key"]
            key = {name: item[name] for name in ("lane", "id")}
            there = _stored(backend, table, key)
            before = bytes_in_lanes(table).get(key["lane"]["S"], 0)
            answer = write(backend, table, *given, **named)
            after = bytes_in_lanes(table)[key["lane"]["S"]]
            if after > before and after > most:
                backend.delete_item(table, key)
                if there:
                    put(backend, table, there)
                raise LaneFull
            return answer

        return write_or_not

    put = DynamoDBBackend.put_item
    with (
        patch.object(DynamoDBBackend, "put_item", limited(put)),
        patch.object(DynamoDBBackend, "update_item", limited(DynamoDBBackend.update_item)),
    ):
        yield


def bytes_in_lanes(table: str = "duebell") -> dict[str, int]:
    """What each lane of a table of moto holds."""
    backend = dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION]
    return {
        lane: sum(bytes_in_lane(item.to_json()["Attributes"]) for item in items.values())
        for lane, items in _by_lane(backend, table)
    }


def _by_lane(backend: DynamoDBBackend, table: str) -> Iterator[tuple[str, Mapping[Any, Item]]]:
    for lane, items in backend.tables[table].items.items():
        yield lane.value, items  # type: ignore[attr-defined, misc]


def _stored(backend: DynamoDBBackend, table: str, key: _Item) -> dict[str, Any] | None:
    found = backend.get_item(table, key)  # type: ignore[arg-type]
    return copy.deepcopy(found.to_json()["Attributes"]) if found else None
