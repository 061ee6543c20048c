"""The id of a run, by which it owns its lease. Pure; time is an argument.

Lambda invokes a run that failed again, with the same request id, and may deliver one invocation twice. So a
run is named `<request id>.<nonce>`: the tries of one invocation know each other, and none takes another's
lease for its own.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime

from duebell_shared.bell.arming import Lane

__all__ = ["LONGEST", "new_run_id", "other_try_ends", "request_of"]

_NONCE = 8

#: Characters of a run's name: Lambda's request ids are UUIDs.
LONGEST = 36 + 1 + _NONCE


def new_run_id(request: str) -> str:
    """Return the name of a new run for this request."""
    return f"{request}.{uuid.uuid4().hex[:_NONCE]}"


def request_of(owner: str) -> str:
    """Return the request that this run is for."""
    return owner.partition(".")[0]


def other_try_ends(lanes: Iterable[Lane], owner: str, now: datetime) -> datetime | None:
    """Return when the lease ends that another try of the owner's request holds; None if none does.

    That try has died, or it is the same invocation, delivered twice, and lives. Only the end of its lease
    tells: a run that lives renews it before.
    """
    ends = (
        lane.until
        for lane in lanes
        if lane.owner
        and lane.owner != owner
        and request_of(lane.owner) == request_of(owner)
        and not lane.is_free(now)
    )
    return max(ends, default=None)
