"""The API's JSON. Times are ISO-8601; those that go out are UTC, with milliseconds."""

from datetime import datetime
from typing import Annotated, Any, Self

import msgspec
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from duebell_editor import IfExists, ProblemKind, SchedulerStatus
from duebell_shared.instants import render, to_utc
from duebell_shared.task import Failure, Status, Task

__all__ = ["Filters", "NewTaskBody", "PageView", "StatusView", "TaskChange", "TaskView"]


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


GivenInstant = Annotated[datetime, BeforeValidator(_instant)]
Instant = Annotated[datetime, PlainSerializer(render, return_type=str)]


class _Given(BaseModel):
    """What comes in: a name that is not known is most likely a mistake, and is said, not ignored."""

    model_config = ConfigDict(extra="forbid")


class NewTaskBody(_Given):
    """A task to add; the fields are the arguments of the library's `Editor.add`."""

    action: str = Field(description="Name of an action of the worker, 1 to 256 printable characters")
    due: GivenInstant = Field(description="When to run it: ISO-8601 with an offset, or with Z")
    payload: Any = Field(default=None, description="Any JSON value, at most 350 KB; null is an empty object")
    id: str | None = Field(default=None, description="1 to 256 printable characters; generated if not given")
    if_exists: IfExists = Field(default=IfExists.FAIL, description="What to do when the id is taken")


class TaskChange(_Given):
    """What to change of a task; what is left out, or null, stays as it is."""

    payload: Any = None
    action: str | None = None
    due: GivenInstant | None = None


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

    @classmethod
    def of(cls, failure: Failure) -> Self:
        """What is known of the failure."""
        return cls.model_validate(msgspec.structs.asdict(failure))


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

    @classmethod
    def of(cls, task: Task) -> Self:
        """The task as it was read."""
        plain = msgspec.structs.asdict(task)
        del plain["payload_json"]
        failure = FailureView.of(task.failure) if task.failure else None
        return cls.model_validate({**plain, "payload": task.payload, "failure": failure})


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
