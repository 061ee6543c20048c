"""The sizes of lanes in bytes, from DynamoDB's answers to writes of one item. Thread-safe.

The answer to a batch has no sizes. So some writes to a lane go alone: the first after each call of `take`,
one of a thousand adds, and every add if the lane was nearly full when last measured.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ItemCollectionMetrics.html
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

GIGABYTE = 2**30

#: Bytes that a lane holds at most, items and local index together.
LANE_LIMIT = 10 * GIGABYTE

#: The argument that asks a write of one item for the size of its lane.
MEASURED: Mapping[str, Any] = {"ReturnItemCollectionMetrics": "SIZE"}

#: Seconds for which a lane counts as nearly full after it was measured.
_VALID = 60

#: One of this many adds to a lane goes alone.
_SAMPLED = 1_000


class LaneSizes:
    """Keeps the last size of each lane. `clock` returns seconds and never goes back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sizes: dict[int, int] = {}
        self._nearly_full: dict[int, float] = {}  # by lane: when it was measured
        self._unmeasured: Counter[int] = Counter()  # by lane: the adds since one of them went alone
        self._measured: set[int] | None = None
        self._lock = threading.Lock()

    def take(self) -> dict[int, int]:
        """The most bytes of each lane: DynamoDB estimates a range. From now on each lane is measured anew."""
        with self._lock:
            self._measured = set()
            sizes, self._sizes = self._sizes, {}
            return sizes

    def is_nearly_full(self, lane: int) -> bool:
        """Tell whether the lane held nine gigabytes or more when it was measured within the last minute."""
        with self._lock:
            return self._clock() - self._nearly_full.get(lane, -_VALID) < _VALID

    def to_measure(self, lanes: Sequence[int], *, are_adds: bool = False) -> list[int]:
        """The positions in `lanes` of the writes that go alone, in order.

        The first write to each lane that is not measured yet goes alone. So do one of a thousand adds to a
        lane, and each add to a lane that was nearly full.
        """
        alone = []
        with self._lock:
            for place, lane in enumerate(lanes):
                is_due = False
                if are_adds:
                    self._unmeasured[lane] += 1
                    is_due = lane in self._nearly_full or self._unmeasured[lane] >= _SAMPLED
                if self._measured is not None and lane not in self._measured:
                    self._measured.add(lane)
                    is_due = True
                if is_due:
                    alone.append(place)
                    self._unmeasured[lane] = 0
        return alone

    def note(self, estimate: Mapping[str, Any] | None) -> None:
        """Note DynamoDB's estimate of the size of a lane, from the answer to a write of one item."""
        match estimate:
            case {"ItemCollectionKey": {"lane": {"S": str(name)}}, "SizeEstimateRangeGB": [_, most]}:
                lane, size = int(name), round(most * GIGABYTE)
                with self._lock:
                    self._sizes[lane] = size
                    self._nearly_full.pop(lane, None)
                    if size >= LANE_LIMIT:
                        self._nearly_full[lane] = self._clock()
                    if self._measured is not None:
                        self._measured.add(lane)
