"""Times and lengths of time as people write them. Raises ValueError with what would be right."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from duebell_shared.instants import parse
from duebell_shared.quoting import quoted, shortened
from duebell_shared.wall_clock import instant_of

__all__ = ["duration", "instant"]

#: In the order they are written in, each at most once.
_UNITS = (
    ("weeks", "w|weeks?"),
    ("days", "d|days?"),
    ("hours", "h|hrs?|hours?"),
    ("minutes", "m|mins?|minutes?"),
    ("seconds", "s|secs?|seconds?"),
)
_DURATION = re.compile(
    r"\s*".join(rf"(?:(?P<{unit}>[0-9]+(?:\.[0-9]+)?)\s*(?:{names}))?" for unit, names in _UNITS),
    re.IGNORECASE | re.ASCII,
)


def duration(text: str) -> timedelta:
    """`90s`, `1h30m`, `2d 10h`, `1.5h`, `90min`, `1 hour`."""
    match = _DURATION.fullmatch(" ".join(text.split()))  # long spaces would take it very long
    if match is None or not any(match.groups()):
        raise ValueError(
            f"{quoted(text)} is not a length of time: give weeks, days, hours, minutes, seconds, such as "
            f"90s, 45m, 1h30m, 2d10h"
        )
    try:
        return timedelta(**{unit: float(count) for unit, count in match.groupdict(default="0").items()})
    except (OverflowError, ValueError):
        raise ValueError(f"{shortened(text)} is too far away") from None


def instant(text: str, zone: ZoneInfo | None, warn: Callable[[str], None]) -> datetime:
    """An ISO-8601 time; without an offset it is in `zone`, and wrong if there is none.

    What clocks there never show, or show twice, is told to `warn`, and which time was taken.
    """
    try:
        shown = datetime.fromisoformat(text)
        if shown.tzinfo is not None:
            return parse(text)
    except ValueError:
        raise ValueError(f"{text} is not an ISO-8601 date and time, such as 2026-12-31T09:00Z") from None
    if zone is None:
        raise ValueError(
            f"{text} has no offset: end it with Z for UTC or with +01:00 and the like, or name its zone, as "
            f"in --timezone Europe/Berlin"
        )
    try:
        taken = instant_of(shown, zone)
        there = taken.astimezone(zone)
        is_twice = there.replace(fold=0).utcoffset() != there.replace(fold=1).utcoffset()
    except OverflowError:
        raise ValueError(f"{text} is too far away") from None
    if there.replace(tzinfo=None, fold=0) != shown:
        warn(f"no clock in {zone.key} shows {text}, they go forward over it: {there:%H:%M %Z} is taken")
    elif is_twice:
        warn(
            f"clocks in {zone.key} show {text} twice: the first, {there:%H:%M %Z}, is taken; "
            f"{text}{_offset(there.replace(fold=1))} is the other"
        )
    return taken


def _offset(there: datetime) -> str:
    return there.isoformat()[-6:]
