"""The minutes that a rule can be set to, and its echoes. Pure.

EventBridge rings a rule somewhere within a minute, and a changed rule takes a while to take effect.
"""

from datetime import datetime, timedelta

from duebell_shared.instants import LATEST, ceil_to_minute

__all__ = ["ECHOES", "LEAD", "early_minute", "echo_after", "echoes_of", "minute_for", "ring_minute"]

#: No rule is set to ring sooner than this: a changed rule takes effect after "a short period of time", and
#: EventBridge gives no figure. https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html
LEAD = timedelta(seconds=60)

#: The echoes of a ring: minutes after it in which the rule rings again, as far as they are in the same hour.
#: The first is late enough for a changed rule to have long taken effect.
ECHOES = (4, 12, 27)

_MINUTES = 60


def ring_minute(target: datetime, now: datetime) -> datetime | None:
    """The minute to set the rule to: the first whole one neither before `target` nor nearer than LEAD.

    EventBridge rings somewhere within a minute, so a target of 10:05:30 rung for at 10:05 might find
    nothing due yet, and 10:05 would not come again. None means the sentinel: nothing to ring for, or
    nothing that a rule can ring for.
    """
    return None if target > LATEST else minute_for(target, now)


def early_minute(minute: datetime | None, target: datetime, now: datetime) -> datetime | None:
    """The minute before `minute`, to ring in as well if only LEAD keeps the rule from ringing that early.

    A changed rule most often takes effect within seconds, and a ring for nothing does no harm; but nothing
    relies on this ring. None at a full hour: one cron expression cannot ring in just two minutes of two
    hours.
    """
    if minute is None or minute.minute == 0:
        return None
    early = minute - timedelta(minutes=1)
    return early if early >= target and early > now else None


def echoes_of(minute: datetime) -> tuple[datetime, ...]:
    """The echoes of a rule that is set to `minute`, in the same hour."""
    return tuple(minute + timedelta(minutes=echo) for echo in ECHOES if minute.minute + echo < _MINUTES)


def echo_after(minute: datetime, target: datetime) -> datetime | None:
    """The first echo, in the same hour, of a rule that is set to `minute`, that is not before `target`."""
    return next((echo for echo in echoes_of(minute) if echo >= target), None)


def minute_for(target: datetime, now: datetime) -> datetime:
    """The first whole minute that is neither before `target` nor nearer than LEAD."""
    return ceil_to_minute(max(target, now + LEAD))
