"""Priorities in a burst of tasks that wait: when those of each priority are started, by the run's look-ahead.

The order is that of the worker. Nothing is waited for: one task is started after the other.
"""

import random
import tracemalloc
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from statistics import median
from unittest.mock import patch

import msgspec

from bench.words import PRIORITIES
from duebell_shared.tasks.task import QueueKey
from duebell_worker.run import lanes as look_ahead

__all__ = ["BURST", "Order", "measure", "section"]

#: Tasks that are due.
BURST = 100_000

#: Keys in sight at most.
_BOUNDS = (100, 1_000, 10_000, 100_000)

#: The share of each priority when there is as much of each.
_EVEN = 0.1

_DUE = datetime(2026, 12, 1, tzinfo=UTC)


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The places in the order of starts, in percent of the burst, with so many keys in sight at most.

    urgent_share                the share of tasks with priority 9
    urgent_median, urgent_last  their places
    lowest_median               the place of tasks with priority 0
    megabytes                   of memory that the keys in sight take at most
    """

    bound: int
    urgent_share: float
    urgent_median: float
    urgent_last: float
    lowest_median: float
    megabytes: float


def measure() -> list[Order]:
    """Each bound, with priorities mixed evenly, and with one urgent task in a hundred."""
    return [_order(bound, share) for share in (_EVEN, 0.01) for bound in _BOUNDS]


def _order(bound: int, share: float) -> Order:
    chance = random.Random(1)
    bounds = patch.multiple(look_ahead, MOST_IN_SIGHT=bound, MOST_WITH_PRIORITIES=bound)
    tracemalloc.start()
    try:
        with bounds:
            ahead = look_ahead.ReadAhead(_burst(chance, share), now=_DUE + timedelta(days=1), skipping=())
            started = bytearray()  # of each, its priority
            while ahead:
                ahead.read_on()
                started.append(ahead.pop().priority)
        most = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    places = {priority: [at for at, one in enumerate(started) if one == priority] for priority in (0, 9)}
    return Order(
        bound=bound,
        urgent_share=share,
        urgent_median=_percent(median(places[9])),
        urgent_last=_percent(places[9][-1]),
        lowest_median=_percent(median(places[0])),
        megabytes=round(most, 1),
    )


def _burst(chance: random.Random, share: float) -> Iterator[QueueKey]:
    """Tasks that came due one each millisecond."""
    for number in range(BURST):
        priority = 9 if chance.random() < share else chance.randrange(9) if share == _EVEN else 0
        yield QueueKey(
            queued=_DUE + timedelta(milliseconds=number), id=f"task-{number}", lane=0, priority=priority
        )


def section(orders: Iterable[Order]) -> str:
    """The section of the page."""
    rows = (
        f"| {each.urgent_share:.0%} | {each.bound:,} | {each.urgent_median:g} % | {each.urgent_last:g} % "
        f"| {each.lowest_median:g} % | {each.megabytes:g} MB |"
        for each in orders
    )
    return "\n".join([PRIORITIES.format(tasks=f"{BURST:,}"), *rows, ""])


def _percent(place: float) -> float:
    return round(100 * place / BURST, 1)
