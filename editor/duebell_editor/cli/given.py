"""Text of the command line as values for the library. All raise BadParameter, a usage error."""

import json
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import typer

from duebell_shared.instants import parse
from duebell_shared.wall_clock import instant_of

__all__ = ["due_from", "due_unless", "duration_from", "instant_from", "payload_from", "zone_from"]

_DURATION = re.compile("".join(f"(?:([0-9]+){unit})?" for unit in "wdhms"))


def due_from(due: str | None, in_: str | None, timezone: str | None) -> datetime | timedelta:
    """The due date that --due or --in gives."""
    if (due is None) == (in_ is None):
        raise typer.BadParameter("give --due, a date and time, --in, a time from now, or --schedule")
    if due is not None:
        return _instant("--due", due, zone_from(timezone))
    if timezone is not None:
        raise typer.BadParameter("--timezone goes with --due, not with --in")
    return _duration(in_ or "")


def due_unless(schedule: str | None, due: str | None, in_: str | None, timezone: str | None) -> Any:
    """The due date that --due or --in gives, or None when --schedule says when."""
    if schedule is None:
        return due_from(due, in_, timezone)
    if due is not None or in_ is not None:
        raise typer.BadParameter("give --schedule, or --due or --in, not both")
    return None


def instant_from(option: str, text: str | None, zone: ZoneInfo | None) -> datetime | None:
    """A time given as ISO-8601; without an offset it is in `zone`, and wrong if there is none."""
    return None if text is None else _instant(option, text, zone)


def zone_from(name: str | None) -> ZoneInfo | None:
    """The time zone of this IANA name."""
    try:
        return None if name is None else ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise typer.BadParameter(
            f"there is no time zone {name!r}: give an IANA name, such as Europe/Berlin"
        ) from error


def payload_from(text: str | None, file: str | None) -> Any:
    """The JSON value that --payload or --payload-file gives, `-` being stdin; None if neither does."""
    if text is not None and file is not None:
        raise typer.BadParameter("give either --payload or --payload-file")
    if text is None and file is None:
        return None
    try:
        if file is not None and file != "-":
            return json.loads(Path(file).read_text(encoding="utf-8"))
        return json.loads(sys.stdin.read() if text is None or text == "-" else text)
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"the payload is not JSON: {error}") from error


def duration_from(option: str, text: str | None) -> timedelta | None:
    """A length of time, such as 1h30m; None if there is none."""
    return None if text is None else _duration(text, option)


def _instant(option: str, text: str, zone: ZoneInfo | None) -> datetime:
    try:
        if datetime.fromisoformat(text).tzinfo is None and zone is None:
            raise typer.BadParameter(
                f"{option} {text} has no offset: end it with Z for UTC or with +01:00 and the like, "
                f"or name its zone, as in --timezone Europe/Berlin"
            )
        naive = datetime.fromisoformat(text)
        return instant_of(naive, zone) if zone and naive.tzinfo is None else parse(text)
    except OverflowError:
        raise typer.BadParameter(f"{option} {text} is too far away") from None
    except ValueError as error:
        raise typer.BadParameter(
            f"{option} {text} is not an ISO-8601 date and time, such as 2026-12-31T09:00Z"
        ) from error


def _duration(text: str, option: str = "--in") -> timedelta:
    match = _DURATION.fullmatch(text)
    if not text or match is None:
        raise typer.BadParameter(
            f"{option} {text!r} is not a length of time: give weeks, days, hours, minutes, seconds, "
            f"such as 90s, 45m, 1h30m, 2d10h"
        )
    try:
        weeks, days, hours, minutes, seconds = (int(count or 0) for count in match.groups())
        return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    except (OverflowError, ValueError) as error:
        raise typer.BadParameter(f"{option} {text} is too far away") from error
