"""Requests: their bodies and queries, read strictly. Ambiguous input is refused."""

import re
from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import date, datetime
from functools import partial
from typing import Annotated, Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictInt,
    Tag,
    WithJsonSchema,
    create_model,
)
from starlette.exceptions import HTTPException

from duebell_editor.library.batches import FOLLOW_UPS
from duebell_editor.library.change_many import MAX_MANY
from duebell_editor.listing.filters import FILTERS, MAX_LIMIT, Listed
from duebell_editor.listing.timeline import MAX_BUCKETS, Step
from duebell_editor.status.action_limits import LIMITS
from duebell_shared.errors import InvalidQuery, InvalidTask
from duebell_shared.limits.limits import check_at_most, check_closed, check_per_second
from duebell_shared.payloads.payload import read_json
from duebell_shared.settings import Precision
from duebell_shared.tasks import fields
from duebell_shared.tasks.checks import MAX_NAME
from duebell_shared.tasks.fields import FIELDS, SCHEDULE, IfExists, described, names_of
from duebell_shared.tasks.status import Verb

from .problems import ONE_TASK

#: Parameters of queries that may be repeated.
_REPEATABLE = {"status", "id"}


class StrictRoute(APIRoute):
    """A route that reads strictly: its body is UTF-8, and no name is twice in an object or in the query."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, called with a request that was read strictly."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            given = Counter(name for name, _ in request.query_params.multi_items())
            given["If-Match"] = len(request.headers.getlist("If-Match"))
            if twice := [name for name, count in given.items() if count > 1 and name not in _REPEATABLE]:
                raise InvalidQuery(twice[0], "is given more than once")
            return await handle(_JsonRequest(request.scope, request.receive))

        return handle_strictly


class _JsonRequest(Request):
    async def json(self) -> Any:
        """The body's value. Raises HTTPException: 400, with the reason."""
        try:
            return read_json(await self.body())
        except ValueError as error:
            raise HTTPException(400, f"the body is not JSON as it is taken here: {error}") from None


class Given(BaseModel):
    """A body or a query. An unknown name is likely a mistake, so it is refused and not ignored."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    def given(self, *but: str) -> dict[str, Any]:
        """The fields that the request has, except some."""
        return {name: getattr(self, name) for name in self.model_fields_set if name not in but}


class _Timed(Given):
    """A body with a due date, or with `in` instead, the seconds from now until then."""

    def given(self, *but: str) -> dict[str, Any]:
        """The fields that the request has, with the time until it is due as `due`."""
        given = super().given(*but)
        in_ = given.pop("in_", None)
        if in_ is None:
            return given
        if given.get("due") is not None:
            raise InvalidTask("in", "cannot be combined with a due date")
        return {**given, "due": in_}


# The fields of tasks are read and described by the library.

#: Fields that a change cannot set to null, and what they mean there.
_CHANGES = {
    "action": "A failed or expired task's too, before it is retried",
    "due": "Of a recurring task the current occurrence's, as in /move; not together with a schedule",
    "schedule": "With its time zone, start and end",
}


def _read(name: str, given: object) -> Any:
    """The value of a task's field from JSON. Raises ValueError, which pydantic expects."""
    read = FIELDS[name].kind.read
    try:
        return given if given is None or read is None else read(name, given)
    except InvalidTask as error:
        raise ValueError(error.reason if error.field == name else str(error)) from None


def _field(name: str, *, default: Any = None, means: str | None = None, is_nullable: bool = True) -> Any:
    """A task's field for pydantic's create_model; required if the default is `...`."""
    schema = dict(FIELDS[name].kind.schema)
    if schema and is_nullable:
        schema = {"anyOf": [schema, {"type": "null"}]}
    type = Annotated[Any, BeforeValidator(partial(_read, name)), WithJsonSchema(schema)]
    return type, Field(default=default, description=means or described(name), alias=name, **_for_forms(name))


def _for_forms(name: str) -> Any:
    """The title of a field, and how the page's form shows it."""
    row = FIELDS[name]
    return {
        "title": row.title,
        "json_schema_extra": {
            "kind": row.kind.form,
            "goes": row.goes,
            "unset": row.unset,
            "stored": row.stored,
        },
    }


#: The field `in`, which has another name in Python.
_IN = _field("in")


_NewTask = create_model(
    "_NewTask",
    __base__=_Timed,
    action=_field("action", default=..., is_nullable=False),
    due=_field("due"),
    in_=_IN,
    **{
        name: _field(name)
        for name in (*names_of(fields.NewTask), "max_wait")
        if name not in {"action", "due", "id"}
    },
    id=_field("id", means=f"{described('id')}. Not `.` or `..`, which no address can name"),
)

_TaskChange = create_model(
    "_TaskChange",
    __base__=_Timed,
    **{
        name: _field(
            name, means=_CHANGES.get(name, described(name, in_change=True)), is_nullable=name not in _CHANGES
        )
        for name in names_of(fields.TaskChange)
    },
    in_=_IN,
)

_Move = create_model(
    "_Move", __base__=_Timed, due=_field("due", means="When: ISO-8601 with an offset"), in_=_IN
)

_Schedule = create_model(
    "_Schedule",
    __base__=Given,
    schedule=_field("schedule", default=..., is_nullable=False),
    **{name: _field(name) for name in SCHEDULE if name != "schedule"},
)


class NewTask(_NewTask):  # type: ignore[misc, valid-type]
    """A task to add; the fields are the arguments of the library's `Editor.add`."""

    if_exists: IfExists = Field(
        default=IfExists.FAIL,
        **_for_forms("if_exists"),
        description=f"{described('if_exists')}. With an id of your own and `keep`, a request can be repeated "
        "without harm",
    )


_Id = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]

_NewBatch = create_model(
    "_NewBatch",
    __base__=Given,
    id=_field("id"),
    **{name: _field(name, means=row.means) for name, row in FOLLOW_UPS.items()},
)


class NewBatch(_NewBatch):  # type: ignore[misc, valid-type]
    """A batch to make. With `tasks` or `wait_for` it is closed; else tasks join it by `batch`."""

    tasks: list[NewTask] | None = Field(default=None, max_length=MAX_MANY, description="Its tasks")
    wait_for: list[_Id] | None = Field(
        default=None, max_length=MAX_MANY, description="Ids of tasks that are there, which it waits for too"
    )


#: One task to add, or a list of them. The tags stand in the places of errors: see ONE_TASK.
NewTasks = Annotated[
    Annotated[NewTask, Tag(ONE_TASK)] | Annotated[list[NewTask], Field(max_length=MAX_MANY), Tag("tasks")],
    Discriminator(lambda body: "tasks" if isinstance(body, list) else ONE_TASK),
]


class TaskChange(_TaskChange):  # type: ignore[misc, valid-type]
    """Changes to a task; a field that is left out stays as it is, and `null` removes its value."""


class Move(_Move):  # type: ignore[misc, valid-type]
    """A new due date, or `in`."""


class SchedulePreview(_Schedule):  # type: ignore[misc, valid-type]
    """A schedule to preview; the fields are those of a new task."""

    count: int = Field(default=10, strict=True, ge=1, le=100, description="How many occurrences")


# Queries, and changes to many tasks.

_Instant = Annotated[
    datetime,
    BeforeValidator(partial(_read, "due")),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


def _filter(row: fields.Field) -> Any:
    """A filter for pydantic's create_model."""
    type: Any = {"choices": list[Listed], "time": _Instant}.get(row.kind.form, str)
    unset = f"; {row.unset} if not given" if row.unset else ""
    encoded = "; write + as %2B" if type is _Instant else ""
    return type | None, Field(
        default=None,
        max_length=row.kind.schema.get("maxLength"),
        title=row.title,
        description=f"{row.means}{unset}{encoded}",
        json_schema_extra={"kind": row.kind.form},
    )


_Where = create_model("_Where", __base__=Given, **{name: _filter(row) for name, row in FILTERS.items()})


class Where(_Where):  # type: ignore[misc, valid-type]
    """A filter of tasks."""


class _Paged(Given):
    """A query that is answered page by page."""

    limit: int = Field(default=100, ge=1, le=MAX_LIMIT, description="At most this many on a page")
    cursor: str | None = Field(default=None, description="The last page's, for the next")


class _BriefOrNot(_Paged):
    """A query for pages of tasks, in full or in brief."""

    brief: bool = Field(
        default=False, description="Only what a list shows: no tracebacks, and of payloads the beginning"
    )


class Filters(_BriefOrNot, Where):
    """The tasks to list, and their order."""

    latest_first: bool = Field(default=False, description="The latest first, not the earliest")


class Search(_BriefOrNot):
    """The beginning of the ids of tasks to find."""

    prefix: str = Field(min_length=1, max_length=MAX_NAME, description="The beginning of their ids")


class BulkChange(Given):
    """A change to many tasks, given by their ids or found by a filter."""

    do: Verb = Field(json_schema_extra={"enum": [verb.value for verb in Verb if verb.rules.for_many]})
    where: Where | None = Field(default=None, description="A filter; without a status, those in the queue")
    ids: list[_Id] | None = Field(
        default=None, max_length=MAX_MANY, description="Or their ids; give one of `where` and `ids`"
    )
    limit: int = Field(
        default=MAX_MANY, strict=True, ge=1, le=MAX_MANY, description="At most this many of those found"
    )
    dry_run: bool = Field(
        default=False,
        strict=True,
        description="Only count and name the tasks that exist and that it applies to",
    )


class BackfillRange(Given):
    """A range that has passed, whose occurrences are added."""

    start: _Instant = Field(description="The first moment of the range")
    end: _Instant = Field(description="The last moment of the range, not after now")
    per_second: float | None = Field(
        default=None,
        strict=True,
        description="Space them: so many are started a second; all at once if not given",
    )
    dry_run: bool = Field(default=False, strict=True, description="Only tell the occurrences")


class TimeSpan(Given):
    """A span of time, in buckets."""

    start: _Instant = Field(description="The first bucket is the step that this is in")
    step: Step = Step.HOUR
    count: int = Field(default=24, ge=1, le=MAX_BUCKETS, description="How many buckets")
    timezone: str = Field(default="UTC", description="The time zone in which days begin")


class StatusZone(Given):
    """The time zone that decides when tonight ends."""

    timezone: str = Field(default="UTC", description="Tonight ends at the next 06:00 there")


class RecurringTasks(_Paged):
    """The recurring tasks to list."""

    prefix: str = Field(default="", max_length=MAX_NAME, description="The beginning of their ids")


class AuditQuery(_Paged):
    """The changes to list."""

    id: _Id | None = Field(default=None, description="Only those of this task")


class LettersToDelete(Given):
    """The messages to delete, by SQS's ids; all of the queue if `ids` is left out."""

    ids: list[str] | None = Field(default=None, max_length=MAX_MANY)


class Following(StatusZone):
    """The part of the queue, and the tasks, that a client follows."""

    after: _Instant | None = None
    before: _Instant | None = None
    id: list[_Id] = Field(default=[], max_length=10, description="Tasks to follow, wherever they are")


def _checked(check: Callable[[object], Any]) -> BeforeValidator:
    def validate(given: object) -> Any:
        try:
            return check(given)
        except InvalidTask as error:
            raise ValueError(error.reason) from None

    return BeforeValidator(validate)


class NewLimit(Given):
    """Limits of an action to set; null restores what its code declares."""

    at_most: Annotated[int | None, _checked(check_at_most)] = Field(
        default=None, description=LIMITS["at_most"]
    )
    per_second: Annotated[float | None, _checked(check_per_second)] = Field(
        default=None, description=LIMITS["per_second"]
    )
    closed: Annotated[str | None, _checked(check_closed)] = Field(default=None, description=LIMITS["closed"])


_Until = create_model(
    "_Until",
    __base__=_Timed,
    due=(_Instant | None, Field(default=None, alias="until", description="Until then; or give `in`")),
    in_=_IN,
)


class Proposal(_Until):  # type: ignore[misc, valid-type]
    """The end of the simulation, and changes to simulate; nothing is changed."""

    add: list[NewTask] = Field(default=[], max_length=MAX_MANY, description="Tasks to add")
    limits: dict[str, NewLimit] = Field(default={}, description="Limits to set, by action")
    pause: list[str] = Field(default=[], description="Actions to pause")
    spread: dict[
        str, Annotated[Any, BeforeValidator(partial(_read, "spread")), WithJsonSchema({"type": "number"})]
    ] = Field(default={}, description="Spreads in seconds, by the id of a recurring task")
    precision: Precision | None = Field(default=None, description="Another precision")
    flatten: bool = Field(
        default=False, strict=True, description="Spread recurring tasks so that the peak halves, and say how"
    )


def _day(given: object) -> date:
    if not isinstance(given, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", given, re.ASCII):
        raise ValueError("must be a day, such as 2026-12-25")
    return date.fromisoformat(given)


_Day = Annotated[date, BeforeValidator(_day)]


class NewCalendar(Given):
    """A calendar of holidays; it replaces an earlier one of its name."""

    days: dict[_Day, str] = Field(description="The holidays, and their names")
    ends: _Day = Field(description="The last day that it knows")
    weekend: tuple[StrictInt, ...] = Field(
        default=(5, 6), description="Days of the week that nothing is moved to; Monday is 0"
    )
    source: str = Field(default="", max_length=200, description="The origin of the calendar")
