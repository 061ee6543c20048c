"""The outcome of tasks: how many were done, lost, done twice or early, and how late they started."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

__all__ = ["Expected", "Lateness", "Outcome", "Started", "lateness_of", "outcome_of"]


#: The most ids of lost tasks that are kept.
_SOME = 5


class Expected(msgspec.Struct, kw_only=True):
    """A task as the design was given it.

    due      when it should start, after it was moved; None if it was cancelled
    times    how often; for a task that recurs, at least so often
    fails    whether its action fails always
    recurs   it may start more often than `times`, and only its first start has a due date
    retried  its action fails at first, so that its lateness is that of the retry, and is left out
    """

    id: str
    due: datetime | None
    times: int = 1
    fails: bool = False
    recurs: bool = False
    retried: bool = False


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A start of a task's action, and whether it was done."""

    id: str
    at: datetime
    is_done: bool


class Lateness(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from the due date to the start that was done, by percentile."""

    tasks: int
    p50: float
    p90: float
    p99: float
    worst: float


class Outcome(msgspec.Struct, kw_only=True):
    """Numbers of tasks.

    expected  should have been done
    refused   the design would not take, and said so
    done      were done
    lost      were taken and never done
    doubled   were done more than once
    early     were started before they were due
    undone    were done although they had been cancelled
    tried     starts of tasks whose action always fails
    which     the ids of some that were lost
    """

    expected: int
    refused: int = 0
    done: int = 0
    lost: int = 0
    doubled: int = 0
    early: int = 0
    undone: int = 0
    tried: int = 0
    which: list[str] = []
    late: Lateness | None = None


def outcome_of(expected: Sequence[Expected], refused: Iterable[str], starts: Iterable[Started]) -> Outcome:
    """Compare what was expected with what was started."""
    refused = set(refused)
    started: defaultdict[str, list[Started]] = defaultdict(list)
    for start in starts:
        started[start.id].append(start)
    wanted = [each for each in expected if each.due and not each.fails]
    outcome = Outcome(expected=sum(each.times for each in wanted), refused=0)
    late: list[float] = []
    for each in expected:
        done = [start for start in started[each.id] if start.is_done]
        if each.due is None:
            outcome.undone += bool(done)
        elif each.fails:
            outcome.tried += len(started[each.id])
        elif each.id in refused:
            outcome.refused += each.times
        else:
            outcome.done += min(len(done), each.times)
            if len(done) < each.times:
                outcome.lost += each.times - len(done)
                outcome.which = [*outcome.which, each.id][:_SOME]
            outcome.doubled += not each.recurs and len(done) > each.times
            first = min((start.at for start in started[each.id]), default=each.due)
            outcome.early += not each.recurs and first < each.due
            if done and not each.recurs and not each.retried:
                late.append(max((done[0].at - each.due).total_seconds(), 0.0))
    outcome.late = lateness_of(late)
    return outcome


def lateness_of(seconds: Iterable[float]) -> Lateness | None:
    """Return the percentiles; None of nothing."""
    ordered = sorted(seconds)
    if not ordered:
        return None
    last = len(ordered) - 1
    return Lateness(
        tasks=len(ordered),
        p50=ordered[round(last * 0.5)],
        p90=ordered[round(last * 0.9)],
        p99=ordered[round(last * 0.99)],
        worst=ordered[-1],
    )
