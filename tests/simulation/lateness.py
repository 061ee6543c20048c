"""How late the tasks of a simulated history were started."""

from datetime import timedelta
from typing import TYPE_CHECKING

from duebell_shared.queue.places import lane_of

if TYPE_CHECKING:
    from .history import History

__all__ = ["lateness"]


def lateness(played: "History", *, known_for: float = 0, succession: float = 0) -> list[float]:
    """How late the first attempts were, in seconds, counted from when the task was acknowledged.

    Not of tasks in a lane that is out.

    known_for   only of tasks that were acknowledged so many seconds before they were due
    succession  not of tasks that came due at most so many seconds after a run was called directly: it may
                be the successor of one whose time was over
    """
    calls = played.aws.called_at if succession else []
    first: dict[str, float] = {}
    for start in played.starts:
        known = played.known.get(start.id)
        is_out = lane_of(start.id, played.settings.lanes) == played.aws.lane_outage.lane
        if is_out or known is None or known.acknowledged_at is None:
            continue
        if any(timedelta(0) <= start.due - at <= timedelta(seconds=succession) for at in calls):
            continue
        if start.attempt == 1 and start.due == known.due:
            late = (start.at - max(start.due, known.acknowledged_at)).total_seconds()
            if not known_for or (known.due - known.acknowledged_at).total_seconds() >= known_for:
                first.setdefault(start.id, late)
    return list(first.values())
