"""Timing things side by side: in turns, so that what else the machine does falls on all of them alike."""

import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

__all__ = ["Ratio", "Rounds", "Timed", "on_processor", "side_by_side", "timed"]


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """The time of one call, in microseconds: the median of the rounds, and the best and the worst."""

    name: str
    median_us: float
    best_us: float
    worst_us: float


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """The ratio to the other one's time: the median over the rounds of each round's own ratio.

    low, high  the quartiles: half of the rounds lie between them
    rounds     how many there were
    """

    median: float
    low: float
    high: float
    rounds: int

    @classmethod
    def of(cls, these: Sequence[float], those: Sequence[float]) -> "Ratio":
        """The ratio of two columns of figures, round by round, as far as both go."""
        each = [this / that for this, that in zip(these, those, strict=False)]
        low, median, high = (
            statistics.quantiles(each, n=4, method="inclusive") if each[1:] else (each[0],) * 3
        )
        return cls(median=median, low=low, high=high, rounds=len(each))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """The times of each in each round, in microseconds for one call."""

    us: dict[str, list[float]]

    def median_ms(self, name: str) -> float:
        """The median of one, in milliseconds."""
        return statistics.median(self.us[name]) / 1000

    def ratio(self, name: str, other: str) -> Ratio:
        """The time in multiples of the other one's."""
        return Ratio.of(self.us[name], self.us[other])

    def summary(self) -> list[Timed]:
        """Each of them in three figures."""
        return [
            Timed(name=name, median_us=statistics.median(each), best_us=min(each), worst_us=max(each))
            for name, each in self.us.items()
        ]


def timed(call: Callable[[], object], repeats: int = 1) -> float:
    """Microseconds for one of so many calls in a row."""
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats * 1e6


def on_processor(call: Callable[[], object], repeats: int = 1) -> float:
    """Microseconds of processor time for one of so many calls, of this process and of its ended children.

    For what waits for nothing, this is the time that it would take on a machine with nothing else to do.
    """
    begin = _processor_seconds()
    for _ in range(repeats):
        call()
    return (_processor_seconds() - begin) / repeats * 1e6


def _processor_seconds() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)  # finer than os.times, which counts hundredths
    return time.process_time() + ended.ru_utime + ended.ru_stime


def side_by_side(
    calls: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    repeats: int | Mapping[str, int],
    fewer_rounds: Mapping[str, int] | None = None,
    clock: Callable[[Callable[[], object], int], float] = timed,
) -> Rounds:
    """Time each call `repeats` times in a row, all of them in turn, over so many rounds.

    Each round begins with another one, so that none always follows the same. What is in `fewer_rounds` sits
    out the rounds beyond its own number."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            if number < (fewer_rounds or {}).get(name, rounds):
                times = repeats if isinstance(repeats, int) else repeats[name]
                taken[name].append(clock(calls[name], times))
    return Rounds(us=taken)
