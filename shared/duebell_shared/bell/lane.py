"""One lane of the queue, as the arming record has it. Pure; time is an argument."""

from datetime import datetime, timedelta

import msgspec

from duebell_shared.instants import FIRST, NEVER, Instant

__all__ = ["Lane", "before"]


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One partition of the queue: when someone must look at it, and which run holds it until when."""

    due: Instant = NEVER
    owner: str | None = None
    until: Instant = NEVER

    def wake(self, head_start: timedelta) -> datetime:
        """The time to ring for this lane: the end of the lease on it, or `head_start` before its due."""
        return self.until if self.owner else before(self.due, head_start)

    def is_free(self, now: datetime) -> bool:
        """Tell whether a run may claim the lane: nobody holds it, or the lease has run out."""
        return self.owner is None or self.until <= now


def before(due: datetime, head_start: timedelta) -> datetime:
    """`head_start` before `due`; `due` itself if that is NEVER, or at the beginning of the calendar."""
    return due if due == NEVER or due < FIRST + head_start else due - head_start
