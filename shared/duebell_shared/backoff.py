"""The waits between tries: of duebell's own calls, and of the users' attempts."""

import random
from collections.abc import Iterator
from datetime import timedelta

import msgspec

#: The largest exponent, so that no float overflows: with a factor of 1.2 the wait is 78 years by then.
_MOST_GROWTHS = 100

_MOST_FACTOR = 100.0


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """The wait after a failed attempt: `first` after the first one, then `factor` times as long each time.

    first    the wait after the first failure
    longest  no wait is longer
    factor   1 to 100; 1 for a constant wait

    Each wait is a random time between half and all of that. So tasks that failed together are not retried
    together. Raises ValueError.
    """

    first: timedelta = timedelta(seconds=30)
    longest: timedelta = timedelta(hours=1)
    factor: float = 2.0

    def __post_init__(self) -> None:
        if not timedelta(0) < self.first <= self.longest:
            raise ValueError(
                f"backoff: first must be above zero and at most longest, "
                f"not {self.first} with longest {self.longest}"
            )
        if not 1 <= self.factor <= _MOST_FACTOR:
            raise ValueError(f"backoff: factor must be 1 to {_MOST_FACTOR:.0f}, not {self.factor}")

    def wait(self, attempt: int) -> timedelta:
        """The wait after this attempt, counted from 1."""
        first, longest = self.first.total_seconds(), self.longest.total_seconds()
        return timedelta(seconds=pause(attempt - 1, first, longest, self.factor))


def pause(earlier: int, first: float, longest: float, factor: float = 2.0) -> float:
    """Seconds to wait after a failed try, if `earlier` tries failed before it: as in Backoff."""
    return min(first * factor ** min(earlier, _MOST_GROWTHS), longest) * random.uniform(0.5, 1.0)


def pauses(first: float, longest: float, factor: float = 2.0, *, tries: int) -> Iterator[float]:
    """Yield the seconds to wait after each failed try, for `tries` of them."""
    for earlier in range(tries):
        yield pause(earlier, first, longest, factor)
