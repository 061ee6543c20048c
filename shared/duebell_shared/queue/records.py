"""The records of a scheduler as items of its table, each changed by compare-and-swap of its `rev`.

The arming record is JSON with the lanes packed, so that 64 cost one read unit: `660c819a17000 - -:0`. A word
is the lane's due in microseconds since 1970, hexadecimal, or `-` for never; behind a colon, if a run holds
it, the place of its lease in `leases`. Times come back exactly: the rule is settled when `armed` is the
target.
"""

import logging
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec

from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.instants import EPOCH, NEVER, Instant, to_json
from duebell_shared.limits.limits import Limits, Semaphore
from duebell_shared.tasks.worker_record import WorkerRecord

from .calls import calling, try_write
from .items import Item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from duebell_shared.schedules.calendars import Calendars

_LOG = logging.getLogger("duebell.table")

_Record = TypeVar("_Record", WorkerRecord, Limits, Semaphore, "Calendars")

#: Each is both keys of a single item. Lanes are numbers, so these items are in none.
ARMING, WORKER, LIMITS, CALENDARS = "arming", "worker", "limits", "calendars"

#: The first key of the semaphores; the second is the action's name.
SEMAPHORE = "semaphore"

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


class _Stored(NamedTuple):
    record: str | None
    rev: int

    @classmethod
    def of(cls, item: Item) -> Self:
        """The text and the `rev` of a record; None and 0 for attributes of another type."""
        text, rev = item.get("record", {}).get("S"), item.get("rev", {}).get("N", "0")
        return cls(text, int(rev if rev.isdecimal() else Decimal(rev)))


class Records:
    """The records in the table of this name. A swap returns the stored record; None if another came first."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client

    def read_arming(self) -> ArmingRecord | None:
        """The arming record; one without lanes if it cannot be read."""
        if (found := self._read(ARMING, ARMING)) is None:
            return None
        try:
            return msgspec.structs.replace(unpack(found.record or ""), rev=found.rev)
        except (ValueError, TypeError, RecursionError) as error:
            _LOG.error("the arming record cannot be read and is made anew: %s", error)
            return ArmingRecord(lanes=(), rev=found.rev)

    def swap_arming(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        """Write `new` with the next `rev`, if the stored one is `old`."""
        new = msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)
        return new if self._swap((ARMING, ARMING), old, pack(new), new.rev) else None

    def read(
        self, kind: str, name: str, type: type[_Record], what: str, *, consistent: bool = True
    ) -> _Record | None:
        """A record that is stored as JSON; an empty one, with `what` in the log, if it cannot be read."""
        if (found := self._read(kind, name, consistent=consistent)) is None:
            return None
        try:
            record = msgspec.json.decode(found.record or "", type=type)
        except (ValueError, TypeError, RecursionError) as error:
            _LOG.error("%s: %s", what, error)
            record = type()
        return msgspec.structs.replace(record, rev=found.rev)

    def swap(self, kind: str, name: str, old: _Record | None, new: _Record) -> _Record | None:
        """Write `new` as JSON with the next `rev`, if the stored one is `old`."""
        new = msgspec.structs.replace(new, rev=old.rev + 1 if old else 1)
        text = to_json(msgspec.structs.replace(new, rev=0))
        return new if self._swap((kind, name), old, text, new.rev) else None

    def _read(self, kind: str, name: str, *, consistent: bool = True) -> _Stored | None:
        key = {"lane": {"S": kind}, "id": {"S": name}}
        with calling(self._table, self._client):
            answer = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=consistent)
            return _Stored.of(answer["Item"]) if "Item" in answer else None

    def _swap(self, place: tuple[str, str], old: ArmingRecord | _Record | None, text: str, rev: int) -> bool:
        item = {"lane": {"S": place[0]}, "id": {"S": place[1]}, "record": {"S": text}, "rev": {"N": str(rev)}}
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
        with calling(self._table, self._client):
            put = self._client.put_item
            names = {"#rev": "rev"}
            return bool(
                try_write(
                    lambda: put(TableName=self._table, Item=item, ExpressionAttributeNames=names, **condition)
                )
            )
