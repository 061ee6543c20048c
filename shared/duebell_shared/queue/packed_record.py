"""The arming record as the text that is stored: JSON with the lanes packed, so that 64 cost one read unit.

`lanes` is one word for each lane: its due in microseconds since 1970, hexadecimal, or `-` for never; behind a
colon, if a run holds it, the place of its lease in `leases`: `660c819a17000 - -:0 660c819a17000:1`. `leases`
holds each pair of owner and end once. Microseconds, because the record's times must come back exactly as they
were written: the rule is settled when `armed` equals the target.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.lane import Lane
from duebell_shared.instants import NEVER, Instant, to_json

__all__ = ["pack", "unpack"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
    """The text to store. `rev` is not in it: it stands beside the text."""
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
    leases = _leases(fields.pop("leases", []))
    packed = msgspec.convert(fields.pop("lanes", ""), str).split()
    record = msgspec.convert({**fields, "lanes": ()}, ArmingRecord)
    try:
        lanes = tuple(_unpack_lane(word, leases) for word in packed)
    except (IndexError, OverflowError) as error:
        raise ValueError(f"its lanes cannot be read: {error}") from error
    return msgspec.structs.replace(record, lanes=lanes)


def _leases(given: Any) -> tuple[_Lease, ...]:
    return () if given == [] else msgspec.convert(given, tuple[_Lease, ...])


def _pack_lane(lane: Lane, leases: dict[_Lease, int]) -> str:
    due = _NEVER if lane.due == NEVER else f"{(lane.due - _EPOCH) // _MICROSECOND:x}"
    if lane.owner is None:
        return due
    return f"{due}:{leases.setdefault((lane.owner, lane.until), len(leases))}"


def _unpack_lane(word: str, leases: tuple[_Lease, ...]) -> Lane:
    packed, _, place = word.partition(":")
    due = NEVER if packed == _NEVER else _EPOCH + int(packed, 16) * _MICROSECOND
    if not place:
        return Lane(due=due)
    owner, until = leases[int(place)]
    return Lane(due=due, owner=owner, until=until)
