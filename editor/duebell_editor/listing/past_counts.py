"""Counts of the tasks that are out of the queue, by status."""

import itertools

import msgspec

from duebell_shared.queue.past_index import Past

from .queue import Queue
from .queue_counts import MOST_COUNTED

__all__ = ["PastCounts", "count_past"]


class PastCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of paused and of ended tasks, each at most 1,000; the failed ones are the status's."""

    paused: int
    done: int
    expired: int
    cancelled: int


#: `failed` is counted by the status; with it, this would be more than twenty calls.
#: Paused ones that recur are a kind of their own, which sorts next to the others.
_KINDS = {Past.PAUSED: Past.PAUSED_RECURRING, Past.DONE: None, Past.EXPIRED: None, Past.CANCELLED: None}


def count_past(queue: Queue) -> PastCounts:
    """Count the keys of each kind in each lane. Raises NotDeployed where the table has no `past-index`."""
    streams = list(itertools.product(_KINDS, range(queue.lanes_now())))
    counts = queue.parallel.all(
        lambda stream: queue.store.count_past(
            stream[1], stream[0], last=_KINDS[stream[0]], most=MOST_COUNTED
        ),
        streams,
    )
    found = dict.fromkeys(_KINDS, 0)
    for (kind, _), count in zip(streams, counts, strict=True):
        found[kind] += count
    return PastCounts(**{kind.value: min(count, MOST_COUNTED) for kind, count in found.items()})
