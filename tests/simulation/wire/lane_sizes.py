"""The bytes that lanes hold, and the most that they may."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from duebell_shared.queue.models import ARMING, WORKER
from tests.full_lanes import bytes_in_lane
from tests.partiql import FULL

from .refused import Refused

__all__ = ["LaneSizes"]

Item = Mapping[str, Mapping[str, Any]]

_GIGABYTE = 2**30


class LaneSizes:
    """The bytes in each lane, and the most that there may be."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.of: defaultdict[str, int] = defaultdict(int)

    def check(self, lane: str, before: Item | None, after: Item) -> None:
        """Refuse what makes a full lane larger. Raises Refused."""
        grows = bytes_in_lane(after) - bytes_in_lane(before)
        if grows > 0 and self.of[lane] + grows > self.most and lane not in {ARMING, WORKER}:
            raise Refused(f"{FULL}Exception", f"lane {lane} is full")

    def count(self, lane: str, item: Item, sign: int = 1) -> None:
        """The lane holds this item from now on; with -1, it does not any more."""
        self.of[lane] += sign * bytes_in_lane(item)

    def metrics(self, item: Item) -> dict[str, Any]:
        """What is answered of the lane of this item."""
        whole = self.of[item["lane"]["S"]] // _GIGABYTE
        return {
            "ItemCollectionKey": {"lane": item["lane"]},
            "SizeEstimateRangeGB": [float(whole), float(whole + 1)],
        }
