"""Requests: their bodies and queries, read strictly: what could be understood in two ways is refused."""

import json
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from starlette.exceptions import HTTPException

from duebell_editor import IfExists
from duebell_editor.bulk import MAX_BULK, Verb
from duebell_editor.filtering import MAX_LIMIT
from duebell_editor.timeline import MAX_BUCKETS, Step
from duebell_shared.errors import InvalidSchedule
from duebell_shared.given import MAX_COUNT
from duebell_shared.instants import LATEST, MILLISECOND, render, to_utc
from duebell_shared.payload import MAX_LEVELS
from duebell_shared.quoting import quoted, shortened
from duebell_shared.recurrence import Missed
from duebell_shared.task import Status
from duebell_shared.zones import zone_of

__all__ = [
    "BulkChange",
    "Filters",
    "Move",
    "NewTask",
    "SchedulePreview",
    "Stretch",
    "StrictRoute",
    "TaskChange",
    "Watching",
]


class StrictRoute(APIRoute):
    """A route that reads its body strictly: UTF-8, and no name twice in one object."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own, given a request that reads its body strictly."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return handle_strictly


class _JsonRequest(Request):
    async def json(self) -> Any:
        """The body's value. Raises HTTPException: 400, with what is wrong."""
        try:
            return json.loads((await self.body()).decode(), object_pairs_hook=_object)
        except json.JSONDecodeError as error:
            why = f"{error.msg} at character {error.pos}"
        except UnicodeDecodeError:
            why = "it is not UTF-8"
        except RecursionError:
            why = f"it is nested too deeply: a payload has {MAX_LEVELS} levels at most"
        except ValueError as error:
            why = str(error)
        raise HTTPException(400, f"the body is not JSON as it is taken here: {why}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"the name {quoted(name)} is twice in one object")
        made[name] = value
    return made


class Given(BaseModel):
    """A body or a query. An unknown name is most likely a mistake, so it is refused and not ignored."""

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


_TIME = WithJsonSchema({"type": "string", "format": "date-time", "formatMaximum": render(LATEST)})
_DAY, _CENTURY = 86_400, 36_525 * 86_400
_SPREAD = WithJsonSchema({"type": "number", "minimum": 0.001, "maximum": _DAY})
_EXPIRY = WithJsonSchema({"type": "number", "minimum": 0.001, "maximum": _CENTURY})
_NAME = WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 256})
_TEXT = WithJsonSchema({"type": "string"})

GivenInstant = Annotated[datetime, BeforeValidator(_instant), _TIME]
GivenSpread = Annotated[timedelta, BeforeValidator(_seconds), _SPREAD]
GivenExpiry = Annotated[timedelta, BeforeValidator(_seconds), _EXPIRY]
GivenZone = Annotated[ZoneInfo, BeforeValidator(_zone), _TEXT]
GivenCount = Annotated[int, Field(strict=True, ge=1, le=MAX_COUNT)]

#: A name to give, of which the library says what is wrong with it; and one that some task may have.
GivenName = Annotated[str, _NAME]
KnownName = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_known)]

#: What may be left out of a change, but not be null: their types alone would allow it.
PresentInstant = Annotated[GivenInstant | None, _TIME]
PresentName = Annotated[str | None, _NAME]
PresentText = Annotated[str | None, _TEXT]


class NewTask(Given):
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
    spread: GivenSpread | None = Field(
        default=None, description="Run up to so many seconds after it is due, a day at most"
    )
    expires_after: GivenExpiry | None = Field(
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
    spread: GivenSpread | None = Field(default=None, description="null: none")
    expires_after: GivenExpiry | None = Field(default=None, description="null: never")


class Move(Given):
    """Another due date."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"due": "2026-12-31T00:00:00Z"}]})

    due: GivenInstant


class SchedulePreview(Given):
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


class BulkChange(Given):
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
        default=None, max_length=MAX_BULK, description="Or which, by name; give one of `where` and `ids`"
    )
    limit: int = Field(
        default=MAX_BULK, strict=True, ge=1, le=MAX_BULK, description="At most so many of those found"
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
    """The part of the queue, and the tasks, that a client follows."""

    after: GivenInstant | None = None
    before: GivenInstant | None = None
    id: list[KnownName] = Field(default=[], max_length=10, description="Tasks that are looked at in full")
