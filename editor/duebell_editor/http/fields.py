"""Times and lengths of time in the API's JSON: ISO-8601 and seconds. What goes out is UTC."""

from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema

from duebell_shared.instants import render, to_utc

__all__ = ["Given", "GivenInstant", "GivenSeconds", "GivenZone", "Instant", "Seconds"]


class Given(BaseModel):
    """What comes in: a name that is not known is most likely a mistake, and is said, not ignored."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


def _instant(given: object) -> datetime:
    """Stricter than pydantic, which takes numbers for times and says little of a missing offset."""
    if not isinstance(given, str):
        raise ValueError("must be text, such as '2026-12-31T00:00:00Z'")  # noqa: TRY004 - pydantic's protocol
    try:
        instant = datetime.fromisoformat(given)
    except ValueError:
        raise ValueError(f"{given!r} is not an ISO-8601 time, such as '2026-12-31T00:00:00Z'") from None
    if instant.utcoffset() is None:
        raise ValueError(f"{given!r} has no offset: end it with Z for UTC, or with +01:00 and the like")
    try:
        return to_utc(instant)
    except OverflowError:
        raise ValueError(f"{given!r} is outside the calendar") from None


def _seconds(given: object) -> timedelta:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError("must be a number of seconds")  # noqa: TRY004 - pydantic's protocol
    try:
        return timedelta(seconds=given)
    except (OverflowError, ValueError):
        raise ValueError(f"{given} seconds are too many") from None


def _zone(given: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(given))
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{given!r} is no IANA time zone, such as Europe/Berlin") from None


_TIME = WithJsonSchema({"type": "string", "format": "date-time"})

GivenInstant = Annotated[datetime, BeforeValidator(_instant), _TIME]
GivenSeconds = Annotated[timedelta, BeforeValidator(_seconds), WithJsonSchema({"type": "number"})]
GivenZone = Annotated[ZoneInfo, BeforeValidator(_zone), WithJsonSchema({"type": "string"})]
Instant = Annotated[datetime, PlainSerializer(render, return_type=str), _TIME]
Seconds = Annotated[timedelta, PlainSerializer(timedelta.total_seconds, return_type=float)]
