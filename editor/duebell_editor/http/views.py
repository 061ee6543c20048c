"""Tasks as the API shows them; the fields are those of the library's `Task`."""

from datetime import datetime, timedelta
from typing import Any, Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from duebell_shared.instants import MILLISECOND
from duebell_shared.recurrence import Missed, Recurrence, Result, Turn
from duebell_shared.task import Status, Task

from .fields import Instant, Seconds

__all__ = ["PageView", "TaskBrief", "TaskView"]

#: A recurring task's next times that are shown.
_UPCOMING = 5


class FailureView(BaseModel):
    """Why an attempt failed."""

    type: str
    message: str
    traceback: str


class FailedAttemptView(BaseModel):
    """An attempt that failed, in short."""

    due: Instant = Field(description="When its occurrence was due")
    attempt: int = Field(description="Which one it was, the first being 1")
    started_at: Instant | None = Field(description="When it was started; null if its run left it running")
    finished_at: Instant | None = Field(description="When it failed; null if its run left it running")
    type: str
    message: str = Field(description="The error's message, its first 200 characters")


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
    words: str = Field(description="The schedule in words")
    upcoming: list[Instant] = Field(description="The schedule's times after the one it stands at")
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


_EXAMPLE: JsonDict = {
    "id": "sale-42",
    "action": "put_on_sale",
    "due": "2026-12-31T00:00:00.000Z",
    "status": "scheduled",
    "payload": {"item": 42},
    "queued": "2026-12-31T00:00:00.000Z",
    "attempt": 0,
    "created_at": "2026-11-21T12:00:00.000Z",
    "started_at": None,
    "finished_at": None,
    "lateness_ms": None,
    "failure": None,
    "failures": [],
    "run": None,
    "expires_at": None,
    "unlisted": False,
    "payload_dropped": None,
    "lane": 3,
    "rev": 1,
    "changed_by": "anna@example.org",
    "spread": 0.0,
    "expires_after": None,
    "recurrence": None,
    "occurrences": [],
}


class TaskView(BaseModel):
    """A task, with all there is to it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]}, hide_input_in_errors=True)

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
    failures: list[FailedAttemptView] = Field(
        description="The failed attempts of the occurrence tried last and of those that wait aside to be "
        "retried: the last ten, oldest first"
    )
    run: str | None = Field(description="The run that started the last attempt")
    expires_at: Instant | None = Field(description="When its history is deleted")
    unlisted: bool = Field(
        description="Whether it is found by its id only when it has ended and did not fail"
    )
    payload_dropped: int | None = Field(
        description="Bytes of the payload that it had until it was done, too large to be kept"
    )
    lane: int
    rev: int = Field(description="Counts the changes; the ETag")
    changed_by: str | None = Field(description="Who added or changed it last; null if unknown. Never a run")
    spread: Seconds = Field(description="It is looked at up to so many seconds after it is due")
    expires_after: Seconds | None = Field(description="It is not run when it is that many seconds late")
    recurrence: RecurrenceView | None = Field(description="How it recurs; null if it runs once")
    occurrences: list[OccurrenceView] = Field(description="The last twenty that are over, oldest first")

    @classmethod
    def of(cls, task: Task) -> Self:
        """The task as it was read."""
        plain = msgspec.to_builtins(task, builtin_types=(datetime, timedelta))
        del plain["payload_json"]
        if task.recurrence:
            schedule = task.recurrence.schedule
            plain["recurrence"]["words"] = schedule.describe()
            plain["recurrence"]["upcoming"] = _upcoming(task.recurrence)
        return cls.model_validate({**plain, "payload": task.payload})


def _upcoming(recurrence: Recurrence) -> list[datetime]:
    if recurrence.next_due is None:
        return []
    most = _UPCOMING
    if recurrence.max_runs is not None:
        most = max(0, min(most, recurrence.max_runs - recurrence.runs - 1))
    return recurrence.schedule.preview(most, recurrence.next_due - MILLISECOND)


class TaskBrief(BaseModel):
    """A task, as much as a list shows."""

    id: str
    action: str
    due: Instant
    status: Status
    queued: Instant | None
    attempt: int
    started_at: Instant | None
    finished_at: Instant | None
    lateness_ms: int | None
    rev: int
    recurs: str | None = Field(description="The schedule in words; null if it runs once")
    failed_with: str | None = Field(description="Why the last attempt failed, in a line")

    @classmethod
    def of(cls, task: Task) -> Self:
        """The task as it was read."""
        same = {name: getattr(task, name) for name in cls.model_fields if hasattr(task, name)}
        recurs = task.recurrence.schedule.describe() if task.recurrence else None
        return cls(**same, recurs=recurs, failed_with=str(task.failure) if task.failure else None)


class PageView(BaseModel):
    """A page of tasks; `cursor` gives the next one, and is null when this is the last.

    A filter that finds little in a long queue gives short pages, or empty ones: go on with the cursor.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"tasks": [_EXAMPLE], "cursor": None}]})

    tasks: list[TaskView] | list[TaskBrief]
    cursor: str | None
