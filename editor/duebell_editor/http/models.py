"""The API's JSON. Times are ISO-8601; those that go out are UTC, with milliseconds."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Self

import msgspec
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from duebell_editor import IfExists, ProblemKind, SchedulerStatus
from duebell_shared.instants import render, to_utc
from duebell_shared.recurrence import Missed, Result, Turn
from duebell_shared.task import Status, Task

__all__ = [
    "Filters",
    "NewTaskBody",
    "PageView",
    "PreviewBody",
    "PreviewView",
    "StatusView",
    "TaskChange",
    "TaskView",
]


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


GivenSeconds = Annotated[timedelta, BeforeValidator(_seconds)]
GivenInstant = Annotated[datetime, BeforeValidator(_instant)]
Instant = Annotated[datetime, PlainSerializer(render, return_type=str)]
Seconds = Annotated[timedelta, PlainSerializer(timedelta.total_seconds, return_type=float)]


class _Given(BaseModel):
    """What comes in: a name that is not known is most likely a mistake, and is said, not ignored."""

    model_config = ConfigDict(extra="forbid")


class NewTaskBody(_Given):
    """A task to add; the fields are the arguments of the library's `Editor.add`."""

    action: str = Field(description="Name of an action of the worker, 1 to 256 printable characters")
    due: GivenInstant | None = Field(default=None, description="When: ISO-8601 with an offset, or with Z")
    schedule: str | None = Field(default=None, description="Or: rate(…), cron(…), five cron fields, at(…)")
    timezone: str | None = Field(default=None, description="The schedule's, an IANA name; UTC if not given")
    start: GivenInstant | None = Field(default=None, description="No occurrence is before this")
    end: GivenInstant | None = Field(default=None, description="No occurrence is after this")
    missed: Missed | None = Field(default=None, description="What becomes of missed ones; once if not given")
    max_runs: int | None = Field(default=None, description="It ends after so many")
    spread: GivenSeconds | None = Field(default=None, description="Run up to so many seconds after it is due")
    expires_after: GivenSeconds | None = Field(
        default=None, description="Not to be run when that many seconds late"
    )
    payload: Any = Field(default=None, description="Any JSON value, at most 350 KB; null is an empty object")
    id: str | None = Field(default=None, description="1 to 256 printable characters; generated if not given")
    if_exists: IfExists = Field(default=IfExists.FAIL, description="What to do when the id is taken")


class TaskChange(_Given):
    """What to change of a task; what is left out, or null, stays as it is."""

    payload: Any = None
    action: str | None = None
    due: GivenInstant | None = None
    schedule: str | None = None
    timezone: str | None = None
    start: GivenInstant | None = None
    end: GivenInstant | None = None
    missed: Missed | None = None
    max_runs: int | None = None


class PreviewBody(_Given):
    """A schedule to look at; the fields are those of a new task."""

    schedule: str
    timezone: str | None = None
    start: GivenInstant | None = None
    end: GivenInstant | None = None
    count: int = Field(default=10, ge=1, le=100, description="How many occurrences")


class PreviewView(BaseModel):
    """What a schedule means."""

    words: str
    occurrences: list[Instant]


class Filters(_Given):
    """Which tasks to list."""

    status: list[Status] = Field(default=[], description="One or several; scheduled and running if not given")
    action: str | None = None
    after: GivenInstant | None = Field(default=None, description="No earlier than this; write + as %2B")
    before: GivenInstant | None = Field(default=None, description="No later than this; write + as %2B")
    limit: int = Field(default=100, description="1 to 1,000")
    cursor: str | None = Field(default=None, description="The last page's, for the next")


class FailureView(BaseModel):
    """Why an attempt failed."""

    type: str
    message: str
    traceback: str


class ScheduleView(BaseModel):
    """When something recurs."""

    expression: str
    timezone: str
    start: Instant | None
    end: Instant | None


class SeatView(BaseModel):
    """An occurrence that waits aside: to be retried, moved, or extra."""

    due: Instant
    queued: Instant
    attempt: int
    turn: Turn
    missed: int


class RecurrenceView(BaseModel):
    """How a task recurs, and where in that it stands; the fields are those of the library's `Recurrence`."""

    schedule: ScheduleView
    missed: Missed = Field(description="What becomes of occurrences that were missed")
    max_runs: int | None
    runs: int = Field(description="How many occurrences are over")
    consecutive_failures: int = Field(description="How many of the last of them failed in a row")
    next_due: Instant | None = Field(description="The schedule's next after the one it stands at")
    turn: Turn
    missed_runs: int = Field(description="How many before this one were missed, for which it stands too")
    aside: list[SeatView]


class OccurrenceView(BaseModel):
    """An occurrence that is over."""

    due: Instant
    started_at: Instant | None
    finished_at: Instant
    lateness_ms: int | None
    attempts: int
    result: Result
    missed: int
    extra: bool
    failure: str | None


class TaskView(BaseModel):
    """A task; the fields are those of the library's `Task`."""

    id: str
    action: str
    due: Instant
    status: Status
    payload: Any
    queued: Instant | None = Field(description="When the worker next looks at it; null if it does not")
    attempt: int = Field(description="How many attempts have been started")
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    lateness_ms: int | None = Field(description="How long after `queued` the last attempt was started")
    failure: FailureView | None = Field(description="Why the last attempt failed")
    run: str | None = Field(description="The run that started the last attempt")
    expires_at: Instant | None = Field(description="When its history is deleted")
    lane: int
    rev: int = Field(description="Counts the changes")
    spread: Seconds = Field(description="It is looked at up to so many seconds after it is due")
    expires_after: Seconds | None = Field(description="It is not run when it is that many seconds late")
    recurrence: RecurrenceView | None = Field(description="How it recurs; null if it runs once")
    occurrences: list[OccurrenceView] = Field(description="The last twenty that are over, oldest first")

    @classmethod
    def of(cls, task: Task) -> Self:
        """The task as it was read."""
        plain = msgspec.to_builtins(task, builtin_types=(datetime, timedelta))
        del plain["payload_json"]
        return cls.model_validate({**plain, "payload": task.payload})


class PageView(BaseModel):
    """A page of tasks; `cursor` gives the next one, and is null when this is the last."""

    tasks: list[TaskView]
    cursor: str | None


class ProblemView(BaseModel):
    """One thing that is wrong."""

    kind: ProblemKind
    what: str
    way_out: str
    mendable: bool = Field(description="Whether `duebell doctor --fix` mends it")


class StatusView(BaseModel):
    """How the scheduler stands; the fields are those of the library's `SchedulerStatus`."""

    healthy: bool = Field(description="Whether nothing is wrong")
    problems: list[ProblemView] = Field(description="What is wrong, each with the way out")
    rule: str
    table: str
    expression: str = Field(description="The rule's cron expression, as EventBridge has it")
    enabled: bool = Field(description="Whether the rule rings at all")
    rings_at: Instant | None = Field(description="The minute the rule rings at; null when it is parked")
    next_due: Instant | None = Field(description="When the earliest task is looked at; null when none waits")
    armed: bool = Field(description="Whether the rule is confirmed to be where the queue needs it")
    lanes: int
    running: int = Field(description="How many lanes a run holds now")

    @classmethod
    def of(cls, status: SchedulerStatus) -> Self:
        """The status as it was read."""
        problems = [msgspec.structs.asdict(problem) for problem in status.problems]
        plain = msgspec.structs.asdict(status)
        return cls.model_validate({**plain, "problems": problems, "healthy": status.healthy})
