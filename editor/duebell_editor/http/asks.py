"""What the API is asked for: the bodies and queries of requests."""

from typing import Any

from pydantic import ConfigDict, Field

from duebell_editor import IfExists
from duebell_editor.change_many import MAX_MANY
from duebell_editor.filtering import MAX_LIMIT
from duebell_editor.timeline import MAX_BUCKETS, Step
from duebell_shared.recurrence import Missed
from duebell_shared.task import Status
from duebell_shared.verbs import Verb

from .fields import (
    Given,
    GivenCount,
    GivenInstant,
    GivenName,
    GivenSeconds,
    GivenZone,
    KnownName,
    PresentInstant,
    PresentName,
    PresentText,
)

__all__ = [
    "BulkBody",
    "Filters",
    "MoveBody",
    "NewTaskBody",
    "PreviewBody",
    "Stretch",
    "TaskChange",
    "Watching",
    "Where",
]


class NewTaskBody(Given):
    """A task to add; the fields are the arguments of the library's `Editor.add`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "action": "put_on_sale",
                    "due": "2026-12-31T00:00:00Z",
                    "payload": {"item": 42},
                    "id": "sale-42",
                    "if_exists": "keep",
                },
                {"action": "report", "schedule": "cron(0 9 ? * MON-FRI *)", "timezone": "Europe/Berlin"},
            ]
        }
    )

    action: GivenName = Field(description="Name of an action of the worker, 1 to 256 printable characters")
    due: GivenInstant | None = Field(
        default=None, description="When: ISO-8601 with an offset, or with Z; this or a schedule is needed"
    )
    schedule: str | None = Field(default=None, description="Or: rate(…), cron(…), five cron fields, at(…)")
    timezone: str | None = Field(default=None, description="The schedule's, an IANA name; UTC if not given")
    start: GivenInstant | None = Field(default=None, description="No occurrence is before this")
    end: GivenInstant | None = Field(default=None, description="No occurrence is after this")
    missed: Missed | None = Field(default=None, description="What becomes of missed ones; once if not given")
    max_runs: GivenCount | None = Field(default=None, description="It ends after so many")
    spread: GivenSeconds | None = Field(
        default=None, description="Run up to so many seconds after it is due, a day at most"
    )
    expires_after: GivenSeconds | None = Field(
        default=None, description="Not to be run when that many seconds late, a century at most"
    )
    payload: Any = Field(
        default=None, description="Any JSON value, at most 350 KB and 100 levels; null is an empty object"
    )
    id: GivenName | None = Field(
        default=None,
        description="1 to 256 printable characters, but not `.` or `..`, which no address can name. One is "
        "made if none is given",
    )
    if_exists: IfExists = Field(
        default=IfExists.FAIL,
        description="What to do when the id is taken. With an id of your own and `keep`, a request can be "
        "repeated without harm",
    )


class TaskChange(Given):
    """What to change of a task; what is left out stays as it is, and `null` takes away."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"payload": {"item": 43}}, {"end": None, "max_runs": 10}]}
    )

    payload: Any = Field(default=None, description="Any JSON value; null is an empty object")
    action: PresentName = Field(default=None, description="A failed task's too, to be retried then")
    due: PresentInstant = Field(
        default=None, description="Of a recurring task this one occurrence's, and alone: as in /move"
    )
    schedule: PresentText = Field(default=None, description="With its own time zone, start and end")
    timezone: str | None = Field(default=None, description="null: UTC")
    start: GivenInstant | None = Field(default=None, description="null: from now on")
    end: GivenInstant | None = Field(default=None, description="null: no end")
    missed: Missed | None = Field(default=None, description="null: once")
    max_runs: GivenCount | None = Field(default=None, description="null: no limit")
    spread: GivenSeconds | None = Field(default=None, description="null: none")
    expires_after: GivenSeconds | None = Field(default=None, description="null: never")


class MoveBody(Given):
    """Another due date."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"due": "2026-12-31T00:00:00Z"}]})

    due: GivenInstant


class PreviewBody(Given):
    """A schedule to look at; the fields are those of a new task."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"schedule": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"}]}
    )

    schedule: str
    timezone: str | None = None
    start: GivenInstant | None = None
    end: GivenInstant | None = None
    count: int = Field(default=10, strict=True, ge=1, le=100, description="How many occurrences")


class Where(Given):
    """Which tasks."""

    status: list[Status] = Field(default=[], description="One or several; scheduled and running if not given")
    action: str | None = None
    prefix: str = Field(default="", max_length=256, description="What their ids start with")
    after: GivenInstant | None = Field(default=None, description="No earlier than this; write + as %2B")
    before: GivenInstant | None = Field(default=None, description="No later than this; write + as %2B")


class Filters(Where):
    """Which tasks to list, and how."""

    latest_first: bool = Field(default=False, description="The latest first, not the earliest")
    brief: bool = Field(default=False, description="Only what a list shows: no payloads, no tracebacks")
    limit: int = Field(default=100, ge=1, le=MAX_LIMIT, description="At most so many on a page")
    cursor: str | None = Field(default=None, description="The last page's, for the next")


class BulkBody(Given):
    """A change to many tasks: to those that are named, or to those found."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"do": "pause", "where": {"action": "put_on_sale"}, "limit": 500, "dry_run": True},
                {"do": "retry", "ids": ["sale-42", "sale-43"]},
            ]
        }
    )

    do: Verb
    where: Where | None = Field(default=None, description="Which; without a status, those in the queue")
    ids: list[KnownName] | None = Field(
        default=None, max_length=MAX_MANY, description="Or which, by name; give one of `where` and `ids`"
    )
    limit: int = Field(
        default=MAX_MANY, strict=True, ge=1, le=MAX_MANY, description="At most so many of those found"
    )
    dry_run: bool = Field(
        default=False, strict=True, description="Only count those that are there and that it applies to"
    )


class Stretch(Given):
    """A stretch of time, in buckets."""

    start: GivenInstant = Field(description="The first bucket is the step that this is in")
    step: Step = Step.HOUR
    count: int = Field(default=24, ge=1, le=MAX_BUCKETS, description="How many buckets")
    timezone: GivenZone = Field(
        default="UTC", validate_default=True, description="Where days and months begin"
    )


class Watching(Given):
    """What the asker is looking at."""

    after: GivenInstant | None = None
    before: GivenInstant | None = None
    id: list[KnownName] = Field(default=[], max_length=10, description="Tasks that are looked at in full")
