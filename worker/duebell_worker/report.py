"""What a run did, counted as it goes."""

from collections import Counter
from datetime import datetime
from enum import StrEnum

import msgspec

from duebell_shared.run_notes import LastRun, RestingLane
from duebell_shared.zones import TZDATA_VERSION

__all__ = ["Outcome", "RunReport", "Tally"]


class Outcome(StrEnum):
    """What came of one attempt."""

    DONE = "done"
    RETRIED = "retried"
    FAILED = "failed"
    EXPIRED = "expired"  # came too late to be made, by the task's own rules
    SUPERSEDED = "superseded"  # moved, cancelled or replaced while it ran: what came of it no longer applies


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one run did.

    run              its id
    lanes            how many lanes it held; none when another run holds them all
    done, retried, failed, expired, superseded   how many attempts came to what
    lateness_max_ms, lateness_mean_ms   started minus due, in milliseconds; None when nothing was started
    rings_at         the minute that the rule rings at next, as this run left it; None when it is parked
    stopped_early    whether it stopped for want of time, with work left for the next run
    lost_lease       whether it was so slow that another run took over
    resting          the lanes that AWS refused or left without an answer, and that are tried again later
    """

    run: str
    lanes: int
    done: int = 0
    retried: int = 0
    failed: int = 0
    expired: int = 0
    superseded: int = 0
    lateness_max_ms: int | None = None
    lateness_mean_ms: int | None = None
    rings_at: datetime | None = None
    stopped_early: bool = False
    lost_lease: bool = False
    resting: tuple[int, ...] = ()

    @property
    def attempts(self) -> int:
        """How many attempts the run started, those that came too late to be made among them."""
        return self.done + self.retried + self.failed + self.expired + self.superseded


class Tally:
    """Counts outcomes and lateness while a run goes on. Only the run's own thread counts."""

    def __init__(self) -> None:
        self._outcomes: Counter[Outcome] = Counter()
        self._late_sum = 0
        self._late_max: int | None = None

    def count(self, outcome: Outcome, lateness_ms: int) -> None:
        self._outcomes[outcome] += 1
        self._late_sum += lateness_ms
        self._late_max = lateness_ms if self._late_max is None else max(self._late_max, lateness_ms)

    @property
    def attempts(self) -> int:
        """How many attempts have ended so far."""
        return self._outcomes.total()

    def last_run(self, run: str, finished_at: datetime, *, resting: tuple[RestingLane, ...] = ()) -> LastRun:
        """What the arming record keeps of it."""
        return LastRun(
            run=run,
            finished_at=finished_at,
            done=self._outcomes[Outcome.DONE],
            retried=self._outcomes[Outcome.RETRIED],
            failed=self._outcomes[Outcome.FAILED],
            expired=self._outcomes[Outcome.EXPIRED],
            lateness_max_ms=self._late_max,
            tzdata=TZDATA_VERSION,
            resting=resting,
        )

    def report(
        self,
        *,
        run: str,
        lanes: int,
        rings_at: datetime | None,
        stopped_early: bool,
        lost_lease: bool,
        resting: tuple[int, ...],
    ) -> RunReport:
        attempts = self.attempts
        return RunReport(
            run=run,
            lanes=lanes,
            done=self._outcomes[Outcome.DONE],
            retried=self._outcomes[Outcome.RETRIED],
            failed=self._outcomes[Outcome.FAILED],
            expired=self._outcomes[Outcome.EXPIRED],
            superseded=self._outcomes[Outcome.SUPERSEDED],
            lateness_max_ms=self._late_max,
            lateness_mean_ms=round(self._late_sum / attempts) if attempts else None,
            rings_at=rings_at,
            stopped_early=stopped_early,
            lost_lease=lost_lease,
            resting=resting,
        )
