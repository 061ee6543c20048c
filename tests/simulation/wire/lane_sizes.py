"""The bytes that lanes hold, and the most that they may: AWS allows 10 GB, a test some KB.

A write that makes a lane larger than that is refused. Every other write is made.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
"""

import base64
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from duebell_shared.queue.records import ARMING, CALENDARS, LIMITS, SEMAPHORE, WORKER

from .refused import Refused

Item = Mapping[str, Mapping[str, Any]]

_GIGABYTE = 2**30

#: The code of the answer to a statement for a full lane; to a call, it is this with "Exception" behind it.
FULL = "ItemCollectionSizeLimitExceeded"

#: What AWS adds to an item and to an entry of an index.
_OVERHEAD = 100


class LaneSizes:
    """The bytes in each lane, and the most that there may be."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.of: defaultdict[str, int] = defaultdict(int)

    def check(self, lane: str, before: Item | None, after: Item) -> None:
        grows = bytes_in_lane(after) - bytes_in_lane(before)
        if (
            grows > 0
            and self.of[lane] + grows > self.most
            and lane not in {ARMING, CALENDARS, SEMAPHORE, LIMITS, WORKER}
        ):
            raise Refused(f"{FULL}Exception", f"lane {lane} is full")

    def count(self, lane: str, item: Item, sign: int = 1) -> None:
        """The lane holds this item from now on; with -1, it does not any more."""
        self.of[lane] += sign * bytes_in_lane(item)

    def metrics(self, item: Item) -> dict[str, Any]:
        whole = self.of[item["lane"]["S"]] // _GIGABYTE
        return {
            "ItemCollectionKey": {"lane": item["lane"]},
            "SizeEstimateRangeGB": [float(whole), float(whole + 1)],
        }


def bytes_in_lane(item: Item | None) -> int:
    if item is None:
        return 0
    size = _bytes_of(item) + _OVERHEAD
    if "queued" in item:
        size += _bytes_of({name: item[name] for name in ("lane", "id", "queued")}) + _OVERHEAD
    return size


def _bytes_of(item: Item) -> int:
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
