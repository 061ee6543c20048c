"""A task: what shall happen, when, and what has become of it. Values and pure functions only."""

import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, Self

import msgspec

from . import payload as payloads
from .errors import InvalidTask, TaskConflict
from .instants import LATEST, to_utc

__all__ = ["Failure", "QueueKey", "Status", "Task", "check_name", "lane_of", "new_task"]

MAX_NAME = 256


class Status(StrEnum):
    """What has become of a task.

    scheduled → running → done, or back to scheduled (a retry), or failed; scheduled ↔ paused; → cancelled.
    """

    SCHEDULED = "scheduled"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_finished(self) -> bool:
        """Whether the task is history: nothing happens to it any more by itself."""
        return self in {Status.DONE, Status.FAILED, Status.CANCELLED}


class QueueKey(NamedTuple):
    """A task's place in the queue: when the worker shall look at it, and which one it is."""

    queued: datetime
    id: str
    lane: int


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an attempt failed: the exception's type, its message and the end of its traceback."""

    type: str
    message: str
    traceback: str = ""


class Task(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One task, as it was when it was read. All times are UTC, in whole milliseconds.

    id           the user's own, or generated; stable for the task's life
    lane         the partition of the queue that the id's hash puts it in
    action       name of the action that handles it
    due          when it shall run; the nominal date, which retries do not change
    payload_json the payload as JSON text; `payload` is the value
    status       what has become of it
    queued       when the worker shall next look at it; None once it is finished, or while paused
    attempt      how many attempts have been started
    rev          counts the changes; every change is conditional on it
    created_at   when it was added
    started_at   when the last attempt was started
    finished_at  when it was done, failed for good or cancelled
    run          id of the run that started the last attempt
    lateness_ms  how long after `queued` the last attempt was started, in milliseconds
    failure      why the last attempt failed
    expires_at   when its history is deleted (by DynamoDB, within days of it)
    """

    id: str
    lane: int
    action: str
    due: datetime
    payload_json: str = "{}"
    status: Status = Status.SCHEDULED
    queued: datetime | None = None
    attempt: int = 0
    rev: int = 1
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    run: str | None = None
    lateness_ms: int | None = None
    failure: Failure | None = None
    expires_at: datetime | None = None

    @cached_property
    def payload(self) -> Any:
        """The payload as JSON's own types."""
        return payloads.decode(self.payload_json)

    # What an editor may do. Each returns the changed task, or raises TaskConflict.

    def moved(self, due: datetime | timedelta, *, now: datetime) -> Self:
        """Due at another time, with all attempts to come; a running attempt's outcome no longer applies."""
        self._only("move", Status.SCHEDULED, Status.RUNNING, Status.PAUSED)
        due = _due(due, now)
        if self.status is Status.PAUSED:
            return self._next(due=due, attempt=0, failure=None)
        return self._scheduled(due, due=due)

    def updated(self, *, payload: object = None, action: str | None = None) -> Self:
        """With another payload or action, or both; a failed task too, to be retried then."""
        self._only("update", Status.SCHEDULED, Status.PAUSED, Status.FAILED)
        return self._next(
            payload_json=self.payload_json if payload is None else payloads.encode(payload),
            action=self.action if action is None else check_name("action", action),
        )

    def cancelled(self, *, now: datetime, retention: timedelta) -> Self:
        """Never to run; a running attempt is not stopped, but its outcome no longer applies."""
        self._only("cancel", Status.SCHEDULED, Status.RUNNING, Status.PAUSED, Status.FAILED)
        return self._finished(Status.CANCELLED, now=now, retention=retention)

    def paused(self) -> Self:
        """Out of the queue until it is resumed."""
        self._only("pause", Status.SCHEDULED)
        return self._next(status=Status.PAUSED, queued=None)

    def resumed(self) -> Self:
        """Back in the queue; if its due date has passed meanwhile, it runs at once."""
        self._only("resume", Status.PAUSED)
        return self._next(status=Status.SCHEDULED, queued=self.due)

    def retried(self, *, now: datetime) -> Self:
        """A failed task once more, now, with all attempts to come. Its due date stays what it was."""
        self._only("retry", Status.FAILED)
        return self._scheduled(now)

    # What a run makes of an attempt.

    def done(self, *, now: datetime, retention: timedelta) -> Self:
        """The attempt succeeded."""
        return self._finished(Status.DONE, now=now, retention=retention, failure=None)

    def to_retry(self, at: datetime, failure: Failure) -> Self:
        """The attempt failed, and another is made at `at`."""
        return self._next(status=Status.SCHEDULED, queued=to_utc(at), failure=failure)

    def failed(
        self, failure: Failure, *, now: datetime, retention: timedelta, attempt: int | None = None
    ) -> Self:
        """The attempt failed and no other is made."""
        attempt = self.attempt if attempt is None else attempt
        return self._finished(Status.FAILED, now=now, retention=retention, failure=failure, attempt=attempt)

    def _scheduled(self, queued: datetime, **changes: Any) -> Self:
        return self._next(
            status=Status.SCHEDULED,
            queued=to_utc(queued),
            attempt=0,
            failure=None,
            finished_at=None,
            expires_at=None,
            **changes,
        )

    def _finished(self, status: Status, *, now: datetime, retention: timedelta, **changes: Any) -> Self:
        expires_at = (now + retention).replace(microsecond=0)  # DynamoDB's time to live counts whole seconds
        return self._next(
            status=status, queued=None, finished_at=to_utc(now), expires_at=expires_at, **changes
        )

    def _next(self, **changes: Any) -> Self:
        return msgspec.structs.replace(self, rev=self.rev + 1, **changes)

    def _only(self, verb: str, *statuses: Status) -> None:
        if self.status not in statuses:
            allowed = " or ".join(statuses)
            raise TaskConflict(
                f"cannot {verb} task {self.id!r}: it is {self.status}, and this needs it {allowed}"
            )


def new_task(
    *,
    id: str,
    action: str,
    due: datetime | timedelta | None,
    payload: object,
    now: datetime,
    lane_of: Callable[[str], int],
) -> Task:
    """A task as a user gives it, checked; raises InvalidTask with the field and the reason.

    `due` is aware, or a timedelta counted from `now`. A payload of None is an empty object. `lane_of` is
    asked last, when all else is right: it may have to look into the queue.
    """
    task = Task(
        id=check_name("id", id),
        lane=0,
        action=check_name("action", action),
        due=_due(due, now),
        payload_json="{}" if payload is None else payloads.encode(payload),
        created_at=to_utc(now),
    )
    return msgspec.structs.replace(task, queued=task.due, lane=lane_of(task.id))


def lane_of(id: str, lanes: int) -> int:
    """The lane of the task with this id: a hash that is the same everywhere and for ever."""
    return zlib.crc32(id.encode()) % lanes


def check_name(field: str, name: object) -> str:
    """`name` if it can be an id or an action's name: 1 to 256 printable characters. Raises InvalidTask."""
    if not isinstance(name, str):
        raise InvalidTask(field, f"must be text, not {type(name).__name__}")
    if not 1 <= len(name) <= MAX_NAME:
        raise InvalidTask(field, f"must be 1 to {MAX_NAME} characters, not {len(name)}")
    if not name.isprintable():
        odd = next(character for character in name if not character.isprintable())
        raise InvalidTask(field, f"{name!r} has {odd!r} in it: only printable characters are allowed")
    return name


def _due(due: datetime | timedelta | None, now: datetime) -> datetime:
    match due:
        case timedelta():
            try:
                due = now + due
            except OverflowError:
                raise InvalidTask("due", "is too far away: the year must be 1 to 2199") from None
        case datetime():
            if due.utcoffset() is None:
                raise InvalidTask(
                    "due",
                    f"{due} has no time zone: add tzinfo=UTC, or ZoneInfo('Europe/Berlin') and the like",
                )
        case None:
            raise InvalidTask("due", "is missing: give an aware datetime, or a timedelta from now")
        case _:
            raise InvalidTask("due", f"must be a datetime or a timedelta, not {type(due).__name__}")
    if due.replace(tzinfo=UTC) > LATEST + timedelta(days=2):
        # Checked before converting, which overflows at the end of the calendar.
        raise InvalidTask("due", f"{due} is after {LATEST:%Y}, the last year a rule can ring in")
    try:
        due = to_utc(due)
    except OverflowError:
        raise InvalidTask("due", f"{due} is before the calendar begins") from None
    if due > LATEST:
        raise InvalidTask("due", f"{due} is after {LATEST:%Y}, the last year a rule can ring in")
    return due
