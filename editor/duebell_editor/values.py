"""What users say of a task: a new one, or a change to one that is there; checked, and made into a Task.

Each field is described once here: what it is in Python, how it is read from JSON, and its JSON schema.
"""

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Self, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.given import MAX_COUNT, MAX_EXPIRY, MAX_NAME, check_count
from duebell_shared.instants import LATEST, MILLISECOND, render, to_utc
from duebell_shared.item_size import check_size
from duebell_shared.new_task import new_task
from duebell_shared.quoting import quoted, shortened
from duebell_shared.recurrence import MAX_SPREAD, Missed, Recurrence
from duebell_shared.schedule import make_schedule
from duebell_shared.task import Task

__all__ = ["FIELDS", "Field", "NewTask", "TaskChange", "read_instant", "read_seconds"]

_T = TypeVar("_T")

#: The fields that say when and how a task recurs.
_RECURRING = ("schedule", "timezone", "start", "end", "missed", "max_runs")

#: Those of them that make the schedule itself.
_SCHEDULE = ("schedule", "timezone", "start", "end")


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task to add; the fields are the arguments of `Editor.add`."""

    action: str
    due: datetime | timedelta | None = None
    schedule: str | None = None
    timezone: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    missed: Missed | str | None = None
    max_runs: int | None = None
    spread: timedelta | None = None
    expires_after: timedelta | None = None
    payload: object = None
    id: str | None = None

    @classmethod
    def from_mapping(cls, given: object) -> Self:
        """A new task from a mapping with its fields. Raises InvalidTask, naming one that is unknown."""
        return cls(**_known(cls, given))

    @classmethod
    def from_json(cls, given: object, *, instant: Callable[[str, object], datetime] | None = None) -> Self:
        """A new task from what JSON can say: times are ISO-8601 text, lengths of time numbers of seconds.

        `in`, seconds from now, stands for `due`. `instant` reads a field's time where `read_instant` is too
        strict. Raises InvalidTask, naming the field.
        """
        if isinstance(given, Mapping) and given.get("in") is not None:
            if given.get("due") is not None:
                raise InvalidTask("in", "goes without a due date")
            rest = {name: value for name, value in given.items() if name not in {"in", "due"}}
            return replace(cls.from_json(rest, instant=instant), due=read_seconds("in", given["in"]))
        return cls(**_read(cls, given, instant))

    def task(self, now: datetime) -> Task:
        """The task to be stored, not placed in a lane yet. Raises InvalidTask, InvalidSchedule."""
        task = new_task(
            id=str(uuid.uuid4()) if self.id is None else self.id,
            action=self.action,
            due=self.due,
            payload=self.payload,
            now=now,
            recurrence=_new_recurrence(self, now),
            spread=self.spread,
            expires_after=self.expires_after,
        )
        return check_size(task)


class TaskChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change to a task; the fields are the arguments of `Editor.update`.

    UNSET: it stays as it is; None: as for a task added without it.
    """

    payload: object = UNSET
    action: str | UnsetType = UNSET
    due: datetime | timedelta | UnsetType = UNSET
    schedule: str | UnsetType | None = UNSET
    timezone: str | UnsetType | None = UNSET
    start: datetime | UnsetType | None = UNSET
    end: datetime | UnsetType | None = UNSET
    missed: Missed | str | UnsetType | None = UNSET
    max_runs: int | UnsetType | None = UNSET
    spread: timedelta | UnsetType | None = UNSET
    expires_after: timedelta | UnsetType | None = UNSET

    @classmethod
    def from_json(cls, given: object, *, instant: Callable[[str, object], datetime] | None = None) -> Self:
        """A change from what JSON can say, as `NewTask.from_json`. Raises InvalidTask, naming the field."""
        return cls(**_read(cls, given, instant))

    def check(self) -> None:
        """Raise InvalidTask for what no task could be asked for."""
        if all(value is UNSET for value in msgspec.structs.astuple(self)):
            raise InvalidTask("change", "is empty: give a payload, an action, a due date or a schedule")
        if self.due is not UNSET and _says(self, _RECURRING):
            raise InvalidTask("due", "goes without a schedule: move the occurrence, then update the schedule")
        if self.schedule is None:
            raise InvalidTask("schedule", "cannot be taken away: cancel the task, or give it an end")

    def applied_to(self, task: Task, *, now: datetime) -> Task:
        """The task with the changes. Raises TaskConflict, InvalidTask, InvalidSchedule."""
        changed = task.updated(payload=self.payload, action=self.action, expires_after=self.expires_after)
        if self.spread is not UNSET:
            changed = changed.spread_over(self.spread, now=now)
        if self.due is not UNSET:
            changed = changed.moved(self.due, now=now)
        if _says(self, _RECURRING):
            changed = changed.rescheduled(_changed_recurrence(changed, self, now), now=now)
        return check_size(changed)


# The recurrence.


def _new_recurrence(given: NewTask | TaskChange, now: datetime) -> Recurrence | None:
    """The recurrence of a task that has none yet; None if it runs once."""
    values = ((name, getattr(given, name)) for name in _RECURRING)
    said = {name: value for name, value in values if value is not None and value is not UNSET}
    if "schedule" not in said:
        for field in said:
            raise InvalidTask(field, "goes with a schedule, and none is given")
        return None
    timezone = said.get("timezone")
    schedule = make_schedule(
        said["schedule"],
        timezone=None if timezone == "" else timezone,
        start=said.get("start"),
        end=said.get("end"),
        now=now,
    )
    return Recurrence(schedule=schedule, next_due=schedule.first(now), **_rules(given))


def _changed_recurrence(task: Task, given: TaskChange, now: datetime) -> Recurrence:
    """The task's recurrence with what is given changed.

    Another expression comes with its own time zone, start and end; without one, what is not given stays.
    """
    there = task.recurrence
    if there is None:
        made = _new_recurrence(given, now)
        if made is None:
            raise InvalidTask("schedule", f"is missing: task {quoted(task.id)} runs once")
        return made
    schedule = there.schedule
    if _says(given, _SCHEDULE):
        is_new = given.schedule is not UNSET
        schedule = make_schedule(
            schedule.expression if given.schedule in (None, UNSET) else given.schedule,
            timezone=_said(given.timezone, None if is_new else schedule.timezone),
            start=_said(given.start, None if is_new else schedule.start),
            end=_said(given.end, None if is_new else schedule.end),
            now=now,
        )
    return replace(there, schedule=schedule, **_rules(given))


def _says(given: TaskChange, fields: tuple[str, ...]) -> bool:
    return any(getattr(given, name) is not UNSET for name in fields)


def _said(given: _T | UnsetType, otherwise: _T) -> _T:
    return otherwise if given is UNSET else given


def _rules(given: NewTask | TaskChange) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    if given.missed is not UNSET:
        rules["missed"] = Missed.ONCE if given.missed is None else _missed(given.missed)
    if given.max_runs is not UNSET:
        rules["max_runs"] = None if given.max_runs is None else check_count("max_runs", given.max_runs)
    return rules


def _missed(given: object) -> Missed:
    if isinstance(given, str) and given in set(Missed):
        return Missed(given)
    raise InvalidTask("missed", f"must be 'once', 'all' or 'skip', not {quoted(given)}")


# Reading from JSON.


class Field(NamedTuple):
    """A field as JSON has it.

    schema   its JSON schema, without null
    means    what it is, in a line
    changes  what it is in a change, where that needs other words
    read     makes the value of it; None if it is taken as it is
    """

    schema: Mapping[str, Any]
    means: str
    changes: str = ""
    read: Callable[[str, object], Any] | None = None


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


_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_TIME = {"type": "string", "format": "date-time"}
_DUE = {**_TIME, "formatMaximum": render(LATEST)}
_SPREAD = {"type": "number", "minimum": MILLISECOND.total_seconds(), "maximum": MAX_SPREAD.total_seconds()}
_EXPIRY = {**_SPREAD, "maximum": MAX_EXPIRY.total_seconds()}
_COUNT = {"type": "integer", "minimum": 1, "maximum": MAX_COUNT}
_MISSED = {"type": "string", "enum": [missed.value for missed in Missed]}

#: Every field of NewTask and TaskChange.
FIELDS: Mapping[str, Field] = {
    "action": Field(
        _NAME,
        "Name of an action of the worker, 1 to 256 printable characters",
        "A failed task's too, to be retried then",
    ),
    "due": Field(
        _DUE,
        "When: ISO-8601 with an offset, or with Z; this or a schedule is needed",
        "Of a recurring task this one occurrence's, and alone: as in /move",
        read_instant,
    ),
    "schedule": Field(
        _TEXT, "Or: rate(…), cron(…), five cron fields, at(…)", "With its own time zone, start and end"
    ),
    "timezone": Field(_TEXT, "The schedule's, an IANA name; UTC if not given", "null: UTC"),
    "start": Field(_TIME, "No occurrence is before this", "null: from now on", read_instant),
    "end": Field(_TIME, "No occurrence is after this", "null: no end", read_instant),
    "missed": Field(_MISSED, "What becomes of missed ones; once if not given", "null: once"),
    "max_runs": Field(_COUNT, "It ends after so many", "null: no limit"),
    "spread": Field(
        _SPREAD, "Run up to so many seconds after it is due, a day at most", "null: none", read_seconds
    ),
    "expires_after": Field(
        _EXPIRY, "Not to be run when that many seconds late, a century at most", "null: never", read_seconds
    ),
    "payload": Field(
        {},
        "Any JSON value, at most 350 KB and 100 levels; null is an empty object",
        "Any JSON value; null is an empty object",
    ),
    "id": Field(_NAME, "1 to 256 printable characters; one is made if none is given"),
}


def _read(
    kind: type[NewTask] | type[TaskChange],
    given: object,
    instant: Callable[[str, object], datetime] | None,
) -> dict[str, Any]:
    values = {}
    for name, value in _known(kind, given).items():
        read = FIELDS[name].read
        if read is read_instant and instant is not None:
            read = instant
        values[name] = value if value is None or read is None else read(name, value)
    return values


def _known(kind: type[NewTask] | type[TaskChange], given: object) -> dict[str, Any]:
    """The fields that are given, as far as they are known."""
    fields = kind.__struct_fields__
    if not isinstance(given, Mapping):
        raise InvalidTask("task", f"must be a NewTask or a mapping, not {type(given).__name__}")
    if unknown := [name for name in given if name not in fields]:
        raise InvalidTask(
            shortened(unknown[0]), f"is not a field of a task; the fields are {', '.join(fields)}"
        )
    if kind is NewTask and "action" not in given:
        raise InvalidTask("action", "is missing")
    return dict(given)
