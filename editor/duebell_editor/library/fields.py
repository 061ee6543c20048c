"""The fields of a task as JSON has them: how each is read, what it means, and its JSON schema."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from duebell_shared.counts import MAX_PRIORITY
from duebell_shared.instants import LATEST, MILLISECOND, render
from duebell_shared.tasks.follow_up import MAX_AFTER, then_of
from duebell_shared.tasks.given import MAX_COUNT, MAX_EXPIRY, MAX_NAME, read_instant, read_seconds
from duebell_shared.tasks.recurrence import MAX_SPREAD, Missed

__all__ = ["FIELDS", "Field", "read_instant", "read_seconds"]


class Field(NamedTuple):
    """A field as JSON has it.

    schema   its JSON schema, without null
    means    its description, in a line
    changes  its description in a change, if that is another
    read     converts the JSON value; None if it is kept as it is
    """

    schema: Mapping[str, Any]
    means: str
    changes: str = ""
    read: Callable[[str, object], Any] | None = None


_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_TIME = {"type": "string", "format": "date-time"}
_DUE = {**_TIME, "formatMaximum": render(LATEST)}
_SPREAD = {"type": "number", "minimum": MILLISECOND.total_seconds(), "maximum": MAX_SPREAD.total_seconds()}
_EXPIRY = {**_SPREAD, "maximum": MAX_EXPIRY.total_seconds()}
_PRIORITY = {"type": "integer", "minimum": 0, "maximum": MAX_PRIORITY}
_AFTER = {"type": "number", "minimum": 0, "maximum": MAX_AFTER.total_seconds()}
_COUNT = {"type": "integer", "minimum": 1, "maximum": MAX_COUNT}
_MISSED = {"type": "string", "enum": [missed.value for missed in Missed]}

#: Every field of NewTask and TaskChange; and `in`, which is the due date as a length of time.
FIELDS: Mapping[str, Field] = {
    "action": Field(
        _NAME,
        "Name of an action of the worker, 1 to 256 printable characters",
        "A failed task's too, before it is retried",
    ),
    "due": Field(
        _DUE,
        "When: ISO-8601 with an offset, or with Z. One of due, in and schedule is needed",
        "Of a recurring task the current occurrence's, as in /move; not together with a schedule",
        read_instant,
    ),
    "in": Field({"type": "number"}, "Instead of due: this many seconds from now", read=read_seconds),
    "schedule": Field(
        _TEXT,
        "Instead of due: rate(…), cron(…), five cron fields, at(…)",
        "With its time zone, start and end",
    ),
    "timezone": Field(_TEXT, "The schedule's, an IANA name; UTC if not given", "null: UTC"),
    "start": Field(_TIME, "No occurrence is before this", "null: from now on", read_instant),
    "end": Field(_TIME, "No occurrence is after this", "null: no end", read_instant),
    "missed": Field(_MISSED, "The policy for missed occurrences; once if not given", "null: once"),
    "max_runs": Field(_COUNT, "The number of occurrences after which it ends", "null: no limit"),
    "spread": Field(
        _SPREAD, "Delay it by up to this many seconds, a day at most", "null: none", read_seconds
    ),
    "expires_after": Field(
        _EXPIRY, "Not run when this many seconds late, a century at most", "null: never", read_seconds
    ),
    "at_most": Field(
        _EXPIRY,
        "With `if_exists` push: due this many seconds after the first add at the latest; a century at most",
        "",
        read_seconds,
    ),
    "priority": Field(_PRIORITY, "Of what waits, higher ones go first; 0 if not given, 9 at most", "null: 0"),
    "on_failed": Field(
        {"type": "string", "maxLength": MAX_NAME},
        "Name of the action or delivery that is given the task when it has failed for good",
        "null: that of the action; empty: none",
    ),
    "then": Field(
        {
            "type": "object",
            "properties": {"action": _NAME, "payload": {}, "after": _AFTER},
            "required": ["action"],
            "additionalProperties": False,
        },
        "The task to add when this one is done, due so many seconds after",
        "null: none",
        lambda field, given: then_of(given, of_json=True),
    ),
    "payload": Field(
        {},
        "Any JSON value, at most 350 KB and 100 levels; null is an empty object",
        "Any JSON value; null is an empty object",
    ),
    "id": Field(_NAME, "1 to 256 printable characters; one is made if none is given"),
}
