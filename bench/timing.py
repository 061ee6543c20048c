"""Timing things side by side: in turns, so that what else the machine does falls on all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping

import msgspec

__all__ = ["Timed", "side_by_side"]


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """How long one call takes, in microseconds."""

    name: str
    median_us: float
    best_us: float
    worst_us: float


def side_by_side(calls: Mapping[str, Callable[[], object]], *, rounds: int, repeats: int) -> list[Timed]:
    """Time each call `repeats` times in a row, all of them in turn, over so many rounds."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(repeats):
                call()
            taken[name].append((time.perf_counter() - begin) / repeats * 1e6)
    return [
        Timed(name=name, median_us=statistics.median(each), best_us=min(each), worst_us=max(each))
        for name, each in taken.items()
    ]
