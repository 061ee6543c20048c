"""Points in time as duebell keeps them: UTC, whole milliseconds, text that sorts.

`2026-12-31T00:00:00.000Z` has a fixed width, so its order as text is its order in time. The queue's
index sorts by it, and it reads well in the DynamoDB console.
"""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

#: A time that JSON must give with its offset.
Instant = Annotated[datetime, msgspec.Meta(tz=True)]

#: Before every other instant.
FIRST = datetime.min.replace(tzinfo=UTC)

#: After every other instant: the due of an empty lane.
NEVER = datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)

#: The last instant a rule can ring for: the years of an EventBridge cron expression end with 2199.
#: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
LATEST = datetime(2199, 12, 31, 23, 59, tzinfo=UTC)

#: The clocks of two machines may be this far apart.
MOST_SKEW = timedelta(minutes=1)

#: No time, as one object. msgspec leaves out a default only if it is the same object, and Python 3.11 makes a
#: new one for each `timedelta(0)`.
NO_TIME = timedelta(0)

#: The resolution of tasks' times.
MILLISECOND = timedelta(milliseconds=1)
_MINUTE = timedelta(minutes=1)

#: The Unix epoch.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    return datetime.now(UTC)


def to_utc(instant: datetime) -> datetime:
    """`instant` in UTC, rounded *up* to the millisecond, so that nothing ever runs early.

    `instant` must be aware.
    """
    if instant.tzinfo is not UTC:
        instant = instant.astimezone(UTC)
    beyond = instant.microsecond % 1000
    return instant + timedelta(microseconds=1000 - beyond) if beyond else instant


def in_utc(value: Any) -> Any:
    """The value with all its times as `to_utc` gives them. Raises OverflowError beyond the calendar."""
    match value:
        case datetime():
            return to_utc(value)
        case tuple():
            return tuple(map(in_utc, value))
        case msgspec.Struct():
            return replace(
                value, **{field: in_utc(getattr(value, field)) for field in value.__struct_fields__}
            )
    return value


def time_text(value: object) -> str:
    """The JSON text of a time whose type is a subclass of datetime, which msgspec does not take.

    freezegun and pendulum have such types. For msgspec's `enc_hook`.
    """
    if isinstance(value, date | time):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def to_json(value: object) -> str:
    """The value as JSON text, with times of any kind."""
    return _encoder.encode(value).decode()


_encoder = msgspec.json.Encoder(enc_hook=time_text)


def floor(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def ceil_to_minute(instant: datetime) -> datetime:
    return instant + (-(instant - EPOCH) % _MINUTE)


def render(instant: datetime) -> str:
    """`instant` as fixed-width text with milliseconds, rounded up: `2026-12-31T00:00:00.000Z`."""
    return to_utc(instant).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parse(text: str, zone: tzinfo = UTC) -> datetime:
    """The instant that ISO-8601 `text` means, in UTC; text without an offset is taken as in `zone`.

    Raises ValueError if the text is not a date and time, or one beyond the calendar's ends in UTC.
    """
    instant = datetime.fromisoformat(text)
    try:
        return to_utc(instant if instant.tzinfo else instant.replace(tzinfo=zone))
    except OverflowError:
        raise ValueError(f"{text} is beyond the end of the calendar") from None


def as_text(value: datetime | timedelta) -> str | float:
    """A time as ISO-8601 text, a length of time as seconds: for `json.dumps(default=…)`."""
    return render(value) if isinstance(value, datetime) else value.total_seconds()
