"""Lanes that hold all that they may: what AWS does at 10 GB, here at a few KB.

A write that makes an item collection larger is refused once that holds so much: its items, and their
entries in the local index. What makes it smaller, or leaves it as it is, is taken. A write may go beyond
the limit by itself.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
"""

import base64
import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.dynamo_type import Item

from duebell_shared.queue.models import ARMING, GAUGE, LIMITS, WORKER
from tests.partiql import LaneFull
from tests.support import REGION

__all__ = ["bytes_in_lane", "bytes_in_lanes", "lanes_hold"]

_Item = Mapping[str, Mapping[str, Any]]

#: The account that moto makes of any credentials.
_ACCOUNT = "123456789012"

#: What AWS adds to an item and to an entry of an index.
_OVERHEAD = 100

#: The first keys of what is in no lane.
_OF_RECORDS = {ARMING, GAUGE, LIMITS, WORKER}


def bytes_in_lane(item: _Item | None) -> int:
    """What the item takes of its lane, with its entry in the local index."""
    if item is None:
        return 0
    size = _bytes_of(item) + _OVERHEAD
    if "queued" in item:
        size += _bytes_of({name: item[name] for name in ("lane", "id", "queued")}) + _OVERHEAD
    return size


def _bytes_of(item: _Item) -> int:
    return sum(
        len(name) + _width_of(kind, value) for name, typed in item.items() for kind, value in typed.items()
    )


def _width_of(kind: str, value: Any) -> int:
    match kind:
        case "S":
            return len(str(value).encode())
        case "B":
            stored: bytes = value if isinstance(value, bytes) else base64.b64decode(value)
            return len(stored)
        case "N":
            digits = str(value).lstrip("-").strip("0")
            return 1 + (len(digits) + 1) // 2 + str(value).count("-")
        case _:
            return 1


@contextmanager
def lanes_hold(most: int) -> Iterator[None]:
    """Inside, no lane of moto's tables takes more than so many bytes."""

    def limited(write: Any) -> Any:
        def write_or_not(backend: DynamoDBBackend, table: str, *given: Any, **named: Any) -> Any:
            item = given[0] if given else named.get("item_attrs") or named["key"]
            key = {name: item[name] for name in ("lane", "id")}
            there = _stored(backend, table, key)
            answer = write(backend, table, *given, **named)
            grows = bytes_in_lane(_stored(backend, table, key)) > bytes_in_lane(there)
            lane = key["lane"]["S"]
            if (
                grows and lane not in _OF_RECORDS and bytes_in_lanes(table)[lane] > most
            ):  # the record never grows
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
    """What each lane of a table of moto holds, but for the record's."""
    backend = dynamodb_backends[_ACCOUNT][REGION]
    return {
        lane: sum(bytes_in_lane(item.to_json()["Attributes"]) for item in items.values())
        for lane, items in _by_lane(backend, table)
        if lane not in _OF_RECORDS
    }


def _by_lane(backend: DynamoDBBackend, table: str) -> Iterator[tuple[str, Mapping[Any, Item]]]:
    for lane, items in backend.tables[table].items.items():
        yield lane.value, items


def _stored(backend: DynamoDBBackend, table: str, key: _Item) -> dict[str, Any] | None:
    found = backend.get_item(table, key)  # type: ignore[arg-type]
    return copy.deepcopy(found.to_json()["Attributes"]) if found else None
