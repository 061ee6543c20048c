"""The records of a scheduler as items of its table, each changed by compare-and-swap of its `rev`.

A record is stored as compressed JSON, so that an arming record of 64 lanes costs one read unit. Times are
stored exactly, because the rule is settled only when `armed` equals the target.
"""

import logging
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.instants import to_json
from duebell_shared.limits.limits import Limits, Semaphore
from duebell_shared.tasks.worker_record import WorkerRecord

from .calls import calling, try_write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from duebell_shared.schedules.calendars import Calendars

_LOG = logging.getLogger("duebell.table")

Record = TypeVar("Record", ArmingRecord, WorkerRecord, Limits, Semaphore, "Calendars")

#: Each is partition key and sort key of one item. Lanes are numbers, so these items are in no lane.
ARMING, WORKER, LIMITS, CALENDARS = "arming", "worker", "limits", "calendars"

#: The partition key of the semaphores; the sort key is the action's name.
SEMAPHORE = "semaphore"

#: The partition key of each type of record, and the log's text if a record cannot be read. The types are
#: given by name, because few processes import the calendars.
_PLACES = {
    "ArmingRecord": (ARMING, "the arming record cannot be read and is made anew"),
    "WorkerRecord": (WORKER, "the worker record cannot be read; the worker's next start makes it anew"),
    "Limits": (LIMITS, "the limits that were set cannot be read, so those that code declares hold"),
    "Calendars": (
        CALENDARS,
        "the calendars cannot be read, so each day is an ordinary one: import them again",
    ),
    "Semaphore": (SEMAPHORE, "an action's semaphore cannot be read and is made anew"),
}


#: The most bytes of an uncompressed record, so that no item takes all of a process's memory.
_MOST_UNPACKED = 4 * 1024 * 1024


def pack(record: Record) -> bytes:
    """The record as it is stored, without `rev`, which is an attribute of its own."""
    return zlib.compress(to_json(msgspec.structs.replace(record, rev=0)).encode())


@lru_cache(maxsize=4)  # each add reads the arming record, and most often it is the same
def unpack(kind: type[Record], packed: bytes) -> Record:
    """The record. Raises ValueError if it is not of this kind."""
    try:
        text = zlib.decompressobj().decompress(packed, _MOST_UNPACKED)
        return msgspec.json.decode(text, type=kind)
    except (zlib.error, RecursionError) as error:
        raise ValueError(str(error)) from error


class Records:
    """The records in the table of this name. A swap returns the stored record; None if another came first."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client

    def read(self, kind: type[Record], name: str = "", *, consistent: bool = True) -> Record | None:
        """The record of this kind; if it cannot be read, an empty one and an error in the log."""
        place, if_lost = _PLACES[kind.__name__]
        key = {"lane": {"S": place}, "id": {"S": name or place}}
        with calling(self._table, self._client):
            answer: Any = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=consistent)
        if (item := answer.get("Item")) is None:
            return None
        try:
            record: Any = unpack(kind, item.get("record", {}).get("B", b""))
        except ValueError as error:
            _LOG.error("%s: %s", if_lost, error)
            record = kind()
        found: Record = msgspec.structs.replace(record, rev=int(item.get("rev", {}).get("N", "0")))
        return found

    def swap(self, old: Record | None, new: Record, name: str = "") -> Record | None:
        """Write `new` with the next `rev`, if the stored record is `old`."""
        place, _ = _PLACES[type(new).__name__]
        new = msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(#rev)"}
        if old and old.rev > 0:
            values = {":rev": {"N": str(old.rev)}}
            condition = {"ConditionExpression": "#rev = :rev", "ExpressionAttributeValues": values}
        elif old:  # an edit by hand has removed `rev`, or it is no number above 0
            values = {":number": {"S": "N"}, ":zero": {"N": "0"}}
            condition = {
                "ConditionExpression": "NOT attribute_type(#rev, :number) OR #rev <= :zero",
                "ExpressionAttributeValues": values,
            }
        item = {
            "lane": {"S": place},
            "id": {"S": name or place},
            "record": {"B": pack(new)},
            "rev": {"N": str(new.rev)},
        }
        with calling(self._table, self._client):
            made = try_write(
                self._client.put_item,
                TableName=self._table,
                Item=item,
                ExpressionAttributeNames={"#rev": "rev"},
                **condition,
            )
        return new if made.is_made else None
