"""Times and lengths of time in the API's JSON: ISO-8601 and seconds. What goes out is UTC."""

from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

from duebell_shared.errors import InvalidSchedule
from duebell_shared.given import MAX_COUNT
from duebell_shared.instants import MILLISECOND, render, to_utc
from duebell_shared.quoting import quoted, shortened
from duebell_shared.zones import zone_of

__all__ = [
    "Given",
    "GivenCount",
    "GivenInstant",
    "GivenName",
    "GivenSeconds",
    "GivenZone",
    "Instant",
    "KnownName",
    "PresentInstant",
    "PresentName",
    "PresentText",
    "Seconds",
]


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
        raise ValueError(f"{quoted(given)} is not an ISO-8601 time, such as '2026-12-31T00:00:00Z'") from None
    if instant.utcoffset() is None:
        raise ValueError(f"{quoted(given)} has no offset: end it with Z for UTC, or with +01:00 and the like")
    try:
        return to_utc(instant)
    except OverflowError:
        raise ValueError(f"{quoted(given)} is outside the calendar") from None


def _seconds(given: object) -> timedelta:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError("must be a number of seconds")  # noqa: TRY004 - pydantic's protocol
    try:
        length = timedelta(seconds=given)
    except (OverflowError, ValueError):
        raise ValueError(f"{shortened(given)} seconds are too many") from None
    if length < MILLISECOND:
        raise ValueError(f"must be 0.001 seconds or more, not {shortened(given)}")
    return length


def _zone(given: object) -> ZoneInfo:
    try:
        return zone_of(str(given))
    except InvalidSchedule as error:
        raise ValueError(error.reason) from None


def _known(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError("has half of a surrogate pair, and no id has") from None
    return name


_TIME = WithJsonSchema({"type": "string", "format": "date-time"})
_SECONDS = WithJsonSchema({"type": "number", "minimum": 0.001})
_NAME = WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 256})
_TEXT = WithJsonSchema({"type": "string"})

GivenInstant = Annotated[datetime, BeforeValidator(_instant), _TIME]
GivenSeconds = Annotated[timedelta, BeforeValidator(_seconds), _SECONDS]
GivenZone = Annotated[ZoneInfo, BeforeValidator(_zone), _TEXT]
GivenCount = Annotated[int, Field(strict=True, ge=1, le=MAX_COUNT)]

#: A name to give, of which the library says what is wrong with it; and one that some task may have.
GivenName = Annotated[str, _NAME]
KnownName = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_known)]

#: What may be left out of a change, but not be null: their types alone would allow it.
PresentInstant = Annotated[GivenInstant | None, _TIME]
PresentName = Annotated[str | None, _NAME]
PresentText = Annotated[str | None, _TEXT]

Instant = Annotated[datetime, PlainSerializer(render, return_type=str), _TIME]
Seconds = Annotated[timedelta, PlainSerializer(timedelta.total_seconds, return_type=float)]
