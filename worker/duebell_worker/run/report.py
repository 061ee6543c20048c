"""Counts the results of a run, and reports them."""

from collections import Counter, deque
from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import asdict

from duebell_shared.bell.arming import LastRun, RestingLane
from duebell_shared.instants import MILLISECOND
from duebell_shared.schedules.zones import TZDATA_VERSION
from duebell_shared.tasks.history import Lateness
from duebell_shared.tasks.task import Task

#: The parts of the lateness of an attempt; `delay` is from the due date to the time it was queued for.
PARTS = ("delay", *Lateness.__struct_fields__)


class Outcome(StrEnum):
    """The result of one attempt."""

    DONE = "done"
    RETRIED = "retried"
    FAILED = "failed"
    EXPIRED = "expired"  # came too late to be made, by the task's own rules
    SNOOZED = "snoozed"  # put off by its action; the attempt does not count
    LIMITED = "limited"  # put back, as its action is limited or paused: no attempt was made
    SUPERSEDED = "superseded"  # moved, cancelled or replaced while it ran: its result no longer applies


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one run.

    run              its id
    lanes            the number of lanes that it held; 0 if other runs hold them all
    done, retried, failed, expired, snoozed, superseded   attempts with this outcome
    limited          tasks that were put back, as their actions are limited
    lateness_max_ms, lateness_mean_ms   `queued` to start, in milliseconds; None when nothing was started
    lateness_parts   the causes of lateness: percentiles of each part of the lateness, in milliseconds; of the
                     last 10,000 attempts that started more than a second late. The part `delay` is the time
                     from due to `queued`: the spread, and earlier attempts
    rings_at         the minute that the rule rings at next, as this run left it; None when it is parked
    stopped_early    whether it stopped for want of time, with work left for the next run
    lost_lease       whether it was so slow that another run took over
    resting          the lanes whose calls AWS refused or did not answer; they are tried again later
    """

    run: str
    lanes: int
    done: int = 0
    retried: int = 0
    failed: int = 0
    expired: int = 0
    snoozed: int = 0
    limited: int = 0
    superseded: int = 0
    lateness_max_ms: int | None = None
    lateness_mean_ms: int | None = None
    lateness_parts: dict[str, dict[str, int]] | None = None
    rings_at: datetime | None = None
    stopped_early: bool = False
    lost_lease: bool = False
    resting: tuple[int, ...] = ()

    @property
    def attempts(self) -> int:
        """Number of attempts that the run started, including those that came too late to be made."""
        return self.done + self.retried + self.failed + self.expired + self.snoozed + self.superseded


_SECOND_MS = 1_000

#: Attempts whose parts of lateness a run remembers.
_MOST_PARTS = 10_000


class Tally:
    """Counts outcomes and lateness while a run goes on. Only the run's own thread counts.

    stopped_early  whether the run stopped for want of time, with work left for the next run
    """

    def __init__(self) -> None:
        self.stopped_early = False
        self._outcomes: Counter[Outcome] = Counter()
        self._late_sum = 0
        self._late_max: int | None = None
        self._parts: deque[Mapping[str, int]] = deque(maxlen=_MOST_PARTS)

    def count(self, outcome: Outcome, lateness_ms: int, parts: Mapping[str, int]) -> None:
        self._outcomes[outcome] += 1
        if outcome is Outcome.LIMITED:
            return
        if parts:
            self._parts.append(parts)
        self._late_sum += lateness_ms
        self._late_max = lateness_ms if self._late_max is None else max(self._late_max, lateness_ms)

    @property
    def attempts(self) -> int:
        """Number of attempts that have ended so far, and of tasks that were put back."""
        return self._outcomes.total()

    def results(self) -> dict[str, Any]:
        started = self.attempts - self._outcomes[Outcome.LIMITED]
        mean = round(self._late_sum / started) if started else None
        counts = {str(outcome): self._outcomes[outcome] for outcome in Outcome}
        return {
            **counts,
            "lateness_max_ms": self._late_max,
            "lateness_mean_ms": mean,
            "lateness_parts": percentiles(self._parts) or None,
        }

    def last_run(self, run: str, finished_at: datetime, resting: tuple[RestingLane, ...]) -> LastRun:
        """Return the note on this run for the arming record."""
        noted = {name: value for name, value in self.results().items() if name in LastRun.__struct_fields__}
        return LastRun(run=run, finished_at=finished_at, tzdata=TZDATA_VERSION, resting=resting, **noted)


def parts_of(task: Task) -> Mapping[str, int]:
    """The parts of an attempt's lateness, in milliseconds; none where it is less than a second."""
    started_after = (task.started_at - task.due) // MILLISECOND if task.started_at else 0
    delay = max(started_after - (task.lateness_ms or 0), 0)
    if task.lateness is None and delay < _SECOND_MS:
        return {}
    return {"delay": delay, **asdict(task.lateness or Lateness())}


def percentiles(parts: Collection[Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The 50th, 90th and 99th percentile of each part that is not always 0, in milliseconds."""
    found = {}
    for name in PARTS:
        values = sorted(one[name] for one in parts)
        if values and values[-1]:
            found[name] = {f"p{rank}": values[-(-len(values) * rank // 100) - 1] for rank in (50, 90, 99)}
    return found
