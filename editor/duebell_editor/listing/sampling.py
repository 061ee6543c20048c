"""Counting by samples: one lane stands for all, and some tasks, evenly spaced, for the others.

An index has no counts, so counting means reading keys. A hash spreads ids evenly over the lanes.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from duebell_shared.queue.store import LARGEST_PAGE

from .queue import Queue

__all__ = ["PAGE", "evenly", "first_keys", "sample_lanes"]

#: A lane in which fewer keys than this are in sight is short: then all lanes are read.
_FEW = 200

#: Keys that are read of one lane at most.
_MOST = 12_800

#: Keys in one answer of DynamoDB: many are read, so the first answer is as large as any.
PAGE = LARGEST_PAGE

_T = TypeVar("_T")


def sample_lanes(
    queue: Queue, lanes: int, read: Callable[[int], _T], *, size: Callable[[_T], int]
) -> tuple[list[_T], int]:
    """Read the first lane, and the others if it is short; and how many lanes each of them stands for.

    size  the number of keys in what was read
    """
    first = read(0)
    if size(first) >= _FEW:
        return [first], lanes
    return [first, *queue.parallel.all(read, range(1, lanes))], 1


def first_keys(keys: Iterable[_T]) -> tuple[list[_T], bool]:
    """As many keys of a lane as are read at most; and whether that may not be all."""
    read = list(itertools.islice(keys, _MOST))
    return read, len(read) == _MOST


def evenly(several: Sequence[_T], most: int) -> list[_T]:
    """At most this many of several, evenly spaced."""
    count = min(len(several), max(most, 0))
    return [several[number * len(several) // count] for number in range(count)]
