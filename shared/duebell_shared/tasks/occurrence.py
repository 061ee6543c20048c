"""An occurrence of a recurring task that is over."""

from enum import StrEnum

import msgspec

from duebell_shared.counts import Count, Milliseconds
from duebell_shared.instants import Instant

__all__ = ["MAX_OCCURRENCES", "Occurrence", "Result"]

#: The last occurrences that a recurring task remembers.
MAX_OCCURRENCES = 20


class Result(StrEnum):
    """The result of an occurrence."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """An occurrence that is over. Times are UTC.

    due          when it was due
    started_at   when its last attempt was started; when it was passed over, if it was skipped
    finished_at  when that ended
    lateness_ms  how late that attempt was started, in milliseconds
    attempts     how many were made
    result       done, failed or skipped
    missed       how many occurrences before it were missed, and it stands for
    extra        whether it was asked for with `run_now`
    failure      why it failed, in a line; of several that failed, the older ones keep less of it
    """

    due: Instant
    started_at: Instant | None
    finished_at: Instant
    lateness_ms: Milliseconds | None
    attempts: Count
    result: Result
    missed: Count = 0
    extra: bool = False
    failure: str | None = None
