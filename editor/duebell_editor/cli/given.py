"""Text of the command line as values for the library. All raise BadParameter, a usage error."""

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import typer

from duebell_shared.errors import InvalidSchedule
from duebell_shared.payload import MAX_LEVELS
from duebell_shared.zones import zone_of

from .saying import warn
from .times import duration, instant

__all__ = ["due_from", "due_unless", "duration_from", "instant_from", "payload_from", "zone_from"]


def due_from(due: str | None, in_: str | None, timezone: str | None) -> datetime | timedelta:
    """The due date that --due or --in gives."""
    if due is None and in_ is None:
        raise typer.BadParameter("give --due, a date and time, or --in, a time from now")
    if due is not None and in_ is not None:
        raise typer.BadParameter("give --due or --in, not both")
    if due is not None:
        return _instant("--due", due, zone_from(timezone))
    if timezone is not None:
        raise typer.BadParameter("--timezone goes with --due, not with --in")
    return _duration("--in", in_ or "")


def due_unless(
    schedule: str | None, due: str | None, in_: str | None, timezone: str | None
) -> datetime | timedelta | None:
    """The due date that --due or --in gives, or None when --schedule says when."""
    if schedule is None and due is None and in_ is None:
        raise typer.BadParameter("give --due, a date and time, --in, a time from now, or --schedule")
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
        return None if name is None else zone_of(name)
    except InvalidSchedule as error:
        raise typer.BadParameter(f"--timezone: {error.reason}") from error


def payload_from(text: str | None, file: str | None) -> Any:
    """The JSON value that --payload or --payload-file gives, `-` being stdin; None if neither does."""
    if text is not None and file is not None:
        raise typer.BadParameter("give either --payload or --payload-file")
    if text is None and file is None:
        return None
    try:
        if file is not None and file != "-":
            return json.loads(Path(file).read_bytes().decode("utf-8-sig"))
        return json.loads(_stdin() if text is None or text == "-" else text)
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"the payload is not UTF-8: byte {error.start + 1} is wrong") from error
    except RecursionError as error:
        raise typer.BadParameter(
            f"the payload is nested too deeply: {MAX_LEVELS} levels at most are allowed"
        ) from error
    except ValueError as error:
        raise typer.BadParameter(f"the payload is not JSON: {error}") from error


def duration_from(option: str, text: str | None) -> timedelta | None:
    """A length of time, such as 1h30m; None if there is none."""
    return None if text is None else _duration(option, text)


def _stdin() -> str:
    return sys.stdin.buffer.read().decode("utf-8-sig")


def _instant(option: str, text: str, zone: ZoneInfo | None) -> datetime:
    try:
        return instant(text, zone, lambda why: warn(f"{option}: {why}"))
    except ValueError as error:
        raise typer.BadParameter(f"{option} {error}") from error


def _duration(option: str, text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{option} {error}") from error
