"""The statuses of a task."""

from enum import StrEnum


class Status(StrEnum):
    """The state of a task.

    scheduled → running → done, or back to scheduled (a retry, the next occurrence), or failed;
    scheduled ↔ paused; → cancelled; → expired (too late to be run, by its expiry or its schedule's policy).
    reserved → scheduled, by the transaction that confirms it; it is not run before, and deleted if none does.
    """

    SCHEDULED = "scheduled"
    RUNNING = "running"
    PAUSED = "paused"
    RESERVED = "reserved"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def is_finished(self) -> bool:
        """Tell whether the task is history, so that no run looks at it any more."""
        return self in {Status.DONE, Status.FAILED, Status.CANCELLED, Status.EXPIRED}
