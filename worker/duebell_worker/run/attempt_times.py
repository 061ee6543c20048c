"""How long attempts at the tasks of each action take, as far as those of one run tell."""

from datetime import timedelta

__all__ = ["AttemptTimes"]

#: The time that an attempt takes, until one has ended; how much the last one counts then. Too long costs
#: nothing, as a run starts what it has put back when it can; too short has tasks put back again and again.
_AN_ATTEMPT, _WEIGHT = timedelta(seconds=5), 0.2
_SHORTEST = timedelta(milliseconds=50)


class AttemptTimes:
    """The mean times of attempts, by action; the latest ones count most."""

    def __init__(self) -> None:
        self._means: dict[str, timedelta] = {}

    def ended(self, action: str, took: timedelta) -> None:
        """Count an attempt that took so long."""
        before = self._means.get(action, took)
        self._means[action] = before + (took - before) * _WEIGHT

    def of(self, action: str, *, longest: timedelta) -> timedelta:
        """How long an attempt takes; at least as long as the longest one that is under way."""
        return max(self._means.get(action, _AN_ATTEMPT), longest, _SHORTEST)
