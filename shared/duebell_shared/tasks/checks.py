"""Checks of the values that users give for a task. Each raises InvalidTask."""

import re
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import LATEST, to_utc
from duebell_shared.quoting import quoted, shortened

#: The largest number: thirty thousand years in milliseconds. JavaScript's numbers are exact up to nine times
#: as much, DynamoDB's up to 38 digits.
LARGEST = 10**15

#: The highest priority. The lowest is 0, which is also the default.
MAX_PRIORITY = 9

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Milliseconds = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Priority = Annotated[int, msgspec.Meta(ge=0, le=MAX_PRIORITY)]


#: The names of duebell's own actions start with this.
RESERVED = "duebell."

#: An action of every worker, which does nothing and succeeds: `duebell verify` adds tasks for it.
VERIFY = f"{RESERVED}verify"


#: The action of a batch that has no follow-up. It is never run.
NO_FOLLOW_UP = f"{RESERVED}batch"


def is_reserved(action: str) -> bool:
    return action.startswith(RESERVED)


MAX_NAME = 256

#: The most characters of an author's name.
_MAX_CHANGED_BY = 128

#: More than there are minutes until the last due date that a rule can ring for.
MAX_COUNT = 1_000_000_000

#: More changes than any task has seen.
MAX_REV = 10**18


def check_name(field: str, name: object, *, most: int = MAX_NAME) -> str:
    """`name` if it can be an id or an action's name: 1 to 256 printable characters. Raises InvalidTask."""
    if not isinstance(name, str):
        raise InvalidTask(field, f"must be text, not {type(name).__name__}")
    if not 1 <= len(name) <= most:
        raise InvalidTask(field, f"must be 1 to {most} characters, not {len(name)}")
    if not name.isprintable():
        odd = next(character for character in name if not character.isprintable())
        raise InvalidTask(
            field, f"{quoted(name)} has {quoted(odd)} in it: only printable characters are allowed"
        )
    return name


def check_changed_by(given: object) -> str | None:
    """`given` if it can name who changes tasks: 1 to 128 printable characters, or None for unknown."""
    return None if given is None else check_name("changed_by", given, most=_MAX_CHANGED_BY)


def fit_changed_by(name: str) -> str | None:
    """`name`, such as a login's, made a valid `changed_by`: shortened, without control characters."""
    fit = "".join(character if character.isprintable() else "?" for character in name.strip())
    return f"{fit[: _MAX_CHANGED_BY - 1]}…" if len(fit) > _MAX_CHANGED_BY else fit or None


def check_due(due: datetime | timedelta | None, now: datetime) -> datetime:
    """The due date in UTC; a length of time counts from now. Raises InvalidTask."""
    if due is None:
        raise InvalidTask(
            "due", "is missing: give a time or a length of time from now; a new task can have a schedule"
        )
    is_time = isinstance(due, datetime) and due.utcoffset() is not None
    if not is_time and not isinstance(due, timedelta):
        raise InvalidTask(
            "due",
            f"must be a timedelta, or a datetime with a time zone, such as tzinfo=UTC, not {quoted(due)}",
        )
    try:
        at = to_utc(now + due if isinstance(due, timedelta) else due)
    except OverflowError:
        raise InvalidTask("due", f"{due} is beyond the ends of the calendar") from None
    if at > LATEST:
        raise InvalidTask("due", f"{at} is after {LATEST:%Y}, the last year a rule can ring in")
    return at


def check_count(field: str, given: object, *, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise InvalidTask(field, f"must be a whole number, {least} to {most:,}, not {quoted(given)}")
    return given


# Values as JSON has them.


def read_instant(field: str, given: object) -> datetime:
    """A time from ISO-8601 text with an offset. Raises InvalidTask."""
    if not isinstance(given, str):
        raise InvalidTask(field, "must be text, such as '2026-12-31T00:00:00Z'")
    try:
        instant = datetime.fromisoformat(given)
    except ValueError:
        raise InvalidTask(
            field, f"{quoted(given)} is not an ISO-8601 time, such as '2026-12-31T00:00:00Z'"
        ) from None
    if instant.utcoffset() is None:
        raise InvalidTask(
            field, f"{quoted(given)} has no offset: end it with Z for UTC, or with +01:00 and the like"
        )
    try:
        return to_utc(instant)
    except OverflowError:
        raise InvalidTask(field, f"{quoted(given)} is outside the calendar") from None


def read_seconds(field: str, given: object) -> timedelta:
    """A length of time from a number of seconds. Raises InvalidTask."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise InvalidTask(field, f"must be a number of seconds, not {quoted(given)}")
    try:
        return timedelta(seconds=given)
    except (OverflowError, ValueError):
        raise InvalidTask(field, f"{shortened(given)} seconds are too many") from None


def fit_traceparent(text: str) -> str | None:
    """The text if it is a W3C trace context, else None: an edit by hand may have stored anything.

    https://www.w3.org/TR/trace-context/#traceparent-header
    """
    pattern = "00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
    return text if re.fullmatch(pattern, text) else None
