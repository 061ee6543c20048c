"""The records of a scheduler as items of its table, each changed by compare-and-swap of its `rev`.

The arming record is JSON with the lanes packed, so that 64 cost one read unit: `660c819a17000 - -:0`. A word
is the lane's due in microseconds since 1970, hexadecimal, or `-` for never. If a run holds the lane, the
place of its lease in `leases` follows a colon. Times come back exactly: the rule is settled when `armed` is
the target.
"""

import logging
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.instants import EPOCH, NEVER, Instant, to_json
from duebell_shared.limits.limits import Limits, Semaphore
from duebell_shared.tasks.worker_record import WorkerRecord

from .calls import calling, try_write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from duebell_shared.schedules.calendars import Calendars

_LOG = logging.getLogger("duebell.table")

Record = TypeVar("Record", ArmingRecord, WorkerRecord, Limits, Semaphore, "Calendars")

#: Each is both keys of a single item. Lanes are numbers, so these items are in none.
ARMING, WORKER, LIMITS, CALENDARS = "arming", "worker", "limits", "calendars"

#: The first key of the semaphores; the second is the action's name.
SEMAPHORE = "semaphore"

#: The first key of each type of record, and the log's text if a record cannot be read. The types are given
#: by name, because few processes import the calendars.
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

_MICROSECOND = timedelta(microseconds=1)

#: The due of a lane in which nothing waits.
_NEVER = "-"

_Lease = tuple[str, Instant]

#: The record's other fields; the text leaves out those with these values.
_DEFAULTS = {
    field.name: field.default
    for field in msgspec.structs.fields(ArmingRecord)
    if field.name not in {"lanes", "rev"}
}


def pack(record: ArmingRecord) -> str:
    """The text to store. `rev` stands beside it."""
    leases: dict[_Lease, int] = {}
    lanes = " ".join(_pack_lane(lane, leases) for lane in record.lanes)
    others = {name: getattr(record, name) for name in _DEFAULTS}
    changed = {name: value for name, value in others.items() if value != _DEFAULTS[name]}
    return to_json({"lanes": lanes, "leases": list(leases), **changed})


@lru_cache(maxsize=2)  # each add reads the record, and most often it is the same
def unpack(text: str) -> ArmingRecord:
    """The record. Raises ValueError for a text that is none."""
    fields: Any = msgspec.json.decode(text)
    if not isinstance(fields, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 (of what is stored, not of an argument)
    given = fields.pop("leases", [])
    leases = msgspec.convert(given, tuple[_Lease, ...]) if given else ()
    packed = msgspec.convert(fields.pop("lanes", ""), str).split()
    record = msgspec.convert({**fields, "lanes": ()}, ArmingRecord)
    try:
        lanes = tuple(_unpack_lane(word, leases) for word in packed)
    except (IndexError, OverflowError) as error:
        raise ValueError(f"its lanes cannot be read: {error}") from error
    return msgspec.structs.replace(record, lanes=lanes)


def _pack_lane(lane: Lane, leases: dict[_Lease, int]) -> str:
    due = _NEVER if lane.due == NEVER else f"{(lane.due - EPOCH) // _MICROSECOND:x}"
    if lane.owner is None:
        return due
    return f"{due}:{leases.setdefault((lane.owner, lane.until), len(leases))}"


def _unpack_lane(word: str, leases: tuple[_Lease, ...]) -> Lane:
    packed, _, place = word.partition(":")
    due = NEVER if packed == _NEVER else EPOCH + int(packed, 16) * _MICROSECOND
    if not place:
        return Lane(due=due)
    owner, until = leases[int(place)]
    return Lane(due=due, owner=owner, until=until)


class Records:
    """The records in the table of this name. A swap returns the stored record; None if another came first."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client

    def read(self, kind: type[Record], name: str = "", *, consistent: bool = True) -> Record | None:
        """The record of this kind; an empty one, which the log tells of, if it cannot be read."""
        place, if_lost = _PLACES[kind.__name__]
        key = {"lane": {"S": place}, "id": {"S": name or place}}
        with calling(self._table, self._client):
            answer = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=consistent)
        if (item := answer.get("Item")) is None:
            return None
        text, rev = item.get("record", {}).get("S", ""), item.get("rev", {}).get("N", "0")
        try:
            record: Any = unpack(text) if kind is ArmingRecord else msgspec.json.decode(text, type=kind)
        except (ValueError, TypeError, RecursionError) as error:
            _LOG.error("%s: %s", if_lost, error)
            record = kind()
        found: Record = msgspec.structs.replace(record, rev=int(Decimal(rev)))
        return found

    def swap(self, old: Record | None, new: Record, name: str = "") -> Record | None:
        """Write `new` with the next `rev`, if the stored one is `old`."""
        place, _ = _PLACES[type(new).__name__]
        new = msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)
        record: object = new
        text = (
            pack(record) if isinstance(record, ArmingRecord) else to_json(msgspec.structs.replace(new, rev=0))
        )
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(#rev)"}
        if old and old.rev > 0:
            values = {":rev": {"N": str(old.rev)}}
            condition = {"ConditionExpression": "#rev = :rev", "ExpressionAttributeValues": values}
        elif old:  # an edit removed it, or made it something else than a number
            values = {":number": {"S": "N"}, ":zero": {"N": "0"}}
            condition = {
                "ConditionExpression": "NOT attribute_type(#rev, :number) OR #rev <= :zero",
                "ExpressionAttributeValues": values,
            }
        item = {
            "lane": {"S": place},
            "id": {"S": name or place},
            "record": {"S": text},
            "rev": {"N": str(new.rev)},
        }
        names = {"#rev": "rev"}
        with calling(self._table, self._client):
            put = self._client.put_item
            made = try_write(
                lambda: put(TableName=self._table, Item=item, ExpressionAttributeNames=names, **condition)
            )
        return new if made else None
