"""When one run is not enough: how many it takes, and which lanes each of them gets. Pure."""

import math
from datetime import datetime, timedelta
from typing import NamedTuple

__all__ = ["Pace", "shares"]

#: What is due is to be started in this time, or more runs are called for.
_IN_TIME = timedelta(seconds=30)

#: How long it takes until a run knows how fast it is.
_TELLING = timedelta(seconds=5)


class Pace(NamedTuple):
    """How fast a run is: since when, and how many attempts had ended before that."""

    since: datetime
    ended_before: int

    def can_be_told(self, now: datetime) -> bool:
        """Whether enough time has passed to tell."""
        return now >= self.since + _TELLING

    def runs_needed(self, backlog: int, now: datetime, ended: int) -> int:
        """How many runs like this one do `backlog` tasks in time; `ended` is how many have by now."""
        return math.ceil(backlog / self._in_time(now, ended))

    def most_counted(self, now: datetime, ended: int, *, runs: int) -> int:
        """A backlog that needs more than so many runs; to count further would tell nothing."""
        return math.ceil(self._in_time(now, ended) * max(runs, 1)) + 1

    def _in_time(self, now: datetime, ended: int) -> float:
        """How many tasks one run does in time; at least it will do the next one."""
        return max(ended - self.ended_before, 1) * (_IN_TIME / (now - self.since))


def shares(lanes: tuple[int, ...], runs: int) -> list[tuple[int, ...]]:
    """The lanes dealt out to so many runs, or to fewer if there are not so many lanes."""
    return [lanes[first::runs] for first in range(min(runs, len(lanes)))]
