"""Parsing text of the command line: times, lengths of time, payloads."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

from msgspec import UNSET

from duebell_shared.instants import parse
from duebell_shared.payloads.payload import MAX_LEVELS, read_json
from duebell_shared.quoting import quoted, shortened
from duebell_shared.schedules.wall_clock import instant_of

from .errors import WrongUsage

__all__ = ["duration", "instant", "opened", "payload_from"]

#: Units and their names, in the order in which a duration must have them, each at most once.
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
    """Read `90s`, `1h30m`, `2d 10h`, `1.5h`, `90min`, `1 hour`. Raises ValueError with the allowed forms."""
    match = _DURATION.fullmatch(" ".join(text.split()))  # matching is very slow with many spaces
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
    """Read an ISO-8601 time; without an offset it is in `zone`, which must then be given.

    `warn` is called for a local time that does not exist or exists twice, with the one that was taken.
    Raises ValueError with the way out.
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
            f"{text}{there.replace(fold=1).isoformat()[-6:]} is the other"
        )
    return taken


def payload_from(text: str | None, file: str | None) -> Any:
    """The JSON value that --payload or --payload-file gives, `-` being stdin; UNSET if neither does."""
    if text is not None and file is not None:
        raise WrongUsage("give either --payload or --payload-file")
    if text is None and file is None:
        return UNSET
    try:
        if file is not None and file != "-":
            return read_json(Path(file).read_bytes().decode("utf-8-sig"))
        if text is None or text == "-":
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        return read_json(text)
    except OSError as error:
        raise WrongUsage(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WrongUsage(f"the payload is not UTF-8: byte {error.start + 1} is wrong") from error
    except RecursionError as error:
        raise WrongUsage(
            f"the payload is nested too deeply: {MAX_LEVELS} levels at most are allowed"
        ) from error
    except ValueError as error:
        raise WrongUsage(f"the payload is not JSON: {error}") from error


@contextmanager
def opened(file: str) -> Iterator[BinaryIO]:
    """Open a file for reading, `-` being standard input."""
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        lines = Path(file).open("rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise WrongUsage(f"cannot read {file}: {error.strerror}") from error
    with lines:
        yield lines
