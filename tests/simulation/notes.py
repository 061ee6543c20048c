"""What a history notes of its users and actions, to be held against what is stored in the end."""

from datetime import datetime

import msgspec

__all__ = ["LIMITS", "Known", "Start"]

#: How many attempts each action has.
LIMITS = {
    "quick": 3,
    "once": 1,
    "slow": 3,
    "flaky": 4,
    "bad": 2,
    "killer": 5,
    "hangs": 2,
    "chains": 5,
    "asks": 3,
}


class Known(msgspec.Struct):
    """What a user knows of a task: what was asked for, and what was acknowledged, and when."""

    due: datetime
    action: str
    asked_at: datetime
    acknowledged_at: datetime | None = None
    cancelled_at: datetime | None = None
    pending: tuple[str, datetime] | None = None  # a change without an answer, and the due date it asks for
    may_be_out: bool = False  # paused or cancelled, perhaps without an answer


class Start(msgspec.Struct, frozen=True):
    """One start of an action."""

    id: str
    at: datetime
    clock: datetime
    due: datetime
    attempt: int
    claimed_at: datetime
