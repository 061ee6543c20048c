"""EventBridge's schedule expressions for tasks."""

from datetime import UTC, datetime, timedelta

from .design import Refused

__all__ = ["at_the_minute", "at_the_second", "cron_at", "rate"]

_MINUTE = timedelta(minutes=1)


def at_the_minute(due: datetime) -> str:
    """Return the cron expression for the first whole minute that is not before the due date."""
    return cron_at(due + (_MINUTE - timedelta(microseconds=1)))


def cron_at(moment: datetime) -> str:
    """Return the cron expression for the minute that this moment is in: its seconds are cut off."""
    utc = moment.astimezone(UTC)
    return f"cron({utc.minute} {utc.hour} {utc.day} {utc.month} ? {utc.year})"


def at_the_second(due: datetime) -> str:
    """Return EventBridge Scheduler's expression for the first whole second not before the due date."""
    utc = (due + timedelta(seconds=1) - timedelta(microseconds=1)).astimezone(UTC)
    return f"at({utc:%Y-%m-%dT%H:%M:%S})"


def rate(every: timedelta) -> str:
    """Return the rate expression. Raises Refused for what is not whole minutes."""
    minutes, rest = divmod(every, _MINUTE)
    if rest or minutes < 1:
        raise Refused(f"every {every}: a rate is a whole number of minutes; give one")
    return f"rate({minutes} minute{'s' if minutes > 1 else ''})"
