"""The sizes of lanes in bytes, taken from the answers to writes of one item. Thread-safe.

The answer to a batch of statements has no sizes. So once `take` has been called, the first write to each lane
after each call of it goes alone.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ItemCollectionMetrics.html
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["GIGABYTE", "LANE_LIMIT", "MEASURED", "LaneSizes"]

GIGABYTE = 2**30

#: Bytes that a lane holds at most, items and local index together.
LANE_LIMIT = 10 * GIGABYTE

#: The argument that asks a write of one item for the size of its lane.
MEASURED: Mapping[str, Any] = {"ReturnItemCollectionMetrics": "SIZE"}


class LaneSizes:
    """Keeps the last size of each lane."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._measured: set[int] | None = None
        self._lock = threading.Lock()

    def take(self) -> dict[int, int]:
        """Bytes by lane, at most: DynamoDB estimates a range. From now on each lane is measured anew."""
        with self._lock:
            self._measured = set()
            sizes, self._sizes = self._sizes, {}
            return sizes

    def to_measure(self, lanes: Sequence[int]) -> list[int]:
        """The places in `lanes` of those whose write goes alone: the first of each lane not measured yet."""
        with self._lock:
            if self._measured is None or self._measured.issuperset(lanes):
                return []
            places = [
                place for place, lane in enumerate(lanes) if lane not in {*self._measured, *lanes[:place]}
            ]
            self._measured.update(lanes)
            return places

    def note(self, answer: Mapping[str, Any]) -> None:
        """Take the size out of the answer to a write of one item."""
        match answer.get("ItemCollectionMetrics"):
            case {"ItemCollectionKey": {"lane": {"S": str(lane)}}, "SizeEstimateRangeGB": [_, most]}:
                with self._lock:
                    self._sizes[int(lane)] = round(most * GIGABYTE)
                    if self._measured is not None:
                        self._measured.add(int(lane))
