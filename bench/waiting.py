"""The calls and runs of waiting to the second: the real worker in a simulated AWS, hours after a burst."""

from collections import Counter
from datetime import timedelta

import msgspec
from tests.simulation.crowd import Trickle

__all__ = ["EVERY", "Waiting", "measure"]

#: Seconds between two tasks, on average; none of them lets the worker end.
EVERY = 10.0

#: Calls are counted from this hour after the burst on, for this number of hours.
_FIRST, _HOURS = 1, 2

_RUN = "run"

#: Calls that read one unit or write one: an item below 4 KB or 1 KB, a page of keys.
_READS, _WRITES = ("read_record", "queued", "head"), ("swap_record",)


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """The average number of waiting runs, and their calls in an hour besides those for tasks."""

    runs: float
    invocations: float
    reads: float
    writes: float
    rule_changes: float


def measure() -> Waiting:
    """A thousand tasks at once, then one after the other."""
    trickle = Trickle(1, burst=1000, every=EVERY, hours=_FIRST + _HOURS).run()
    hour = timedelta(hours=1)
    first, last = trickle.began + _FIRST * hour, trickle.began + (_FIRST + _HOURS) * hour
    calls: Counter[str] = Counter()
    for line in trickle.aws.trace:
        at, process, what, *_ = line.split()
        if process == f"{_RUN}:" and f"{first:%H:%M:%S}" <= at < f"{last:%H:%M:%S}":
            calls[what] += 1
    return Waiting(
        runs=trickle.runs_at_a_time(_FIRST * hour, (_FIRST + _HOURS) * hour),
        invocations=sum(first <= began < last for began, _ in trickle.alive) / _HOURS,
        reads=sum(calls[name] for name in _READS) / _HOURS,
        writes=sum(calls[name] for name in _WRITES) / _HOURS,
        rule_changes=calls["PutRule"] / _HOURS,
    )
