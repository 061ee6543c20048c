"""The bytes that lanes hold, and the most that they may: AWS allows 10 GB, a test some KB.

A write that makes a lane larger than that is refused. Every other write is made.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from duebell_shared.queue.items import size_of
from duebell_shared.queue.records import ARMING, CALENDARS, LIMITS, SEMAPHORE, WORKER

from .refused import Refused

Item = Mapping[str, Mapping[str, Any]]

_GIGABYTE = 2**30

#: The code of the answer to a statement for a full lane; to a call, it is this with "Exception" behind it.
FULL = "ItemCollectionSizeLimitExceeded"


class LaneSizes:
    """The bytes in each lane, and the most that there may be."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.of: defaultdict[str, int] = defaultdict(int)

    def check(self, lane: str, before: Item | None, after: Item) -> None:
        grows = size_of(after) - (size_of(before) if before else 0)
        if (
            grows > 0
            and self.of[lane] + grows > self.most
            and lane not in {ARMING, CALENDARS, SEMAPHORE, LIMITS, WORKER}
        ):
            raise Refused(f"{FULL}Exception", f"lane {lane} is full")

    def count(self, lane: str, item: Item, sign: int = 1) -> None:
        """The lane holds this item from now on; with -1, it does not any more."""
        self.of[lane] += sign * size_of(item)

    def metrics(self, item: Item) -> dict[str, Any]:
        whole = self.of[item["lane"]["S"]] // _GIGABYTE
        return {
            "ItemCollectionKey": {"lane": item["lane"]},
            "SizeEstimateRangeGB": [float(whole), float(whole + 1)],
        }
