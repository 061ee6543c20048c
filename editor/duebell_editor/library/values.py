"""New tasks and changes to tasks as users give them; checked, and made into a Task.

Each field has its Python type here; `fields.py` says how it is read from JSON.
"""

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Self, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.queue.item_size import check_size
from duebell_shared.quoting import quoted, shortened
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.tasks.follow_up import Then
from duebell_shared.tasks.given import check_count, check_due, check_missed
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.recurrence import Missed, Recurrence
from duebell_shared.tasks.task import Task

from .fields import FIELDS, Field, read_instant, read_seconds

__all__ = ["FIELDS", "Field", "NewTask", "TaskChange", "read_instant", "read_seconds"]

_T = TypeVar("_T")

#: The fields that say when and how a task recurs.
_RECURRING = ("schedule", "timezone", "start", "end", "missed", "max_runs")

_recurring_of = attrgetter(*_RECURRING)

#: The fields of the schedule itself.
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
    priority: int | None = None
    on_failed: str | None = None
    then: Then | Mapping[str, Any] | None = None
    payload: object = None
    id: str | None = None

    @classmethod
    def from_mapping(cls, given: object) -> Self:
        """A new task from a mapping with its fields. Raises InvalidTask for an unknown field."""
        return cls(**_known(cls, given))

    @classmethod
    def from_json(cls, given: object, *, instant: Callable[[str, object], datetime] | None = None) -> Self:
        """A new task from JSON values: times are ISO-8601 text, lengths of time are numbers of seconds.

        `in`, seconds from now, can be given instead of `due`. `instant` replaces `read_instant` where that is
        too strict. Raises InvalidTask, naming the field.
        """
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
            priority=self.priority,
            on_failed=self.on_failed,
            then=self.then,
        )
        return check_size(task)


class TaskChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change to a task; the fields are the arguments of `Editor.update`.

    UNSET leaves a field as it is; None makes it as for a task that was added without it.
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
    priority: int | UnsetType | None = UNSET
    on_failed: str | UnsetType | None = UNSET
    then: Then | Mapping[str, Any] | UnsetType | None = UNSET

    @classmethod
    def from_mapping(cls, given: object) -> Self:
        """A change from a mapping with its fields. Raises InvalidTask for an unknown field."""
        return cls(**_known(cls, given))

    @classmethod
    def from_json(cls, given: object, *, instant: Callable[[str, object], datetime] | None = None) -> Self:
        """A change from JSON values, as in `NewTask.from_json`. Raises InvalidTask, naming the field."""
        return cls(**_read(cls, given, instant))

    def check(self) -> None:
        """Raise InvalidTask for a change that no task allows."""
        if all(value is UNSET for value in msgspec.structs.astuple(self)):
            raise InvalidTask("change", "is empty: give a payload, an action, a due date or a schedule")
        if self.due is not UNSET and _has_any(self, _RECURRING):
            raise InvalidTask("due", "goes without a schedule: move the occurrence, then update the schedule")
        if self.schedule is None:
            raise InvalidTask("schedule", "cannot be taken away: cancel the task, or give it an end")

    def applied_to(self, task: Task, *, now: datetime) -> Task:
        """The task with the changes. Raises TaskConflict, InvalidTask, InvalidSchedule."""
        changed = task.updated(
            payload=self.payload,
            action=self.action,
            expires_after=self.expires_after,
            priority=self.priority,
            on_failed=self.on_failed,
            then=self.then,
        )
        if self.spread is not UNSET:
            changed = changed.spread_over(self.spread, now=now)
        if self.due is not UNSET and check_due(self.due, now) != task.due:
            # The same due date is no move: it would make all attempts anew, and at once.
            changed = changed.moved(self.due, now=now)
        if _has_any(self, _RECURRING):
            changed = changed.rescheduled(_changed_recurrence(changed, self, now), now=now)
        return check_size(changed)


# The recurrence.


def _new_recurrence(given: NewTask | TaskChange, now: datetime) -> Recurrence | None:
    """The recurrence of a task that has none yet; None if it runs once."""
    values = zip(_RECURRING, _recurring_of(given), strict=True)
    present = {name: value for name, value in values if value is not None and value is not UNSET}
    if "schedule" not in present:
        for field in present:
            raise InvalidTask(field, "goes with a schedule, and none is given")
        return None
    timezone = present.get("timezone")
    schedule = make_schedule(
        present["schedule"],
        timezone=None if timezone == "" else timezone,
        start=present.get("start"),
        end=present.get("end"),
        now=now,
    )
    return Recurrence(schedule=schedule, next_due=schedule.first(now), **_rules(given))


def _changed_recurrence(task: Task, given: TaskChange, now: datetime) -> Recurrence:
    """The task's recurrence with the changes.

    Another expression comes with its own time zone, start and end. Otherwise they stay if they are not given.
    """
    there = task.recurrence
    if there is None:
        made = _new_recurrence(given, now)
        if made is None:
            raise InvalidTask("schedule", f"is missing: task {quoted(task.id)} runs once")
        return made
    schedule = there.schedule
    if _has_any(given, _SCHEDULE):
        is_new = given.schedule is not UNSET
        schedule = make_schedule(
            schedule.expression if given.schedule in (None, UNSET) else given.schedule,
            timezone=_given_or(given.timezone, None if is_new else schedule.timezone),
            start=_given_or(given.start, None if is_new else schedule.start),
            end=_given_or(given.end, None if is_new else schedule.end),
            now=now,
        )
    return replace(there, schedule=schedule, **_rules(given))


def _has_any(given: TaskChange, fields: tuple[str, ...]) -> bool:
    return any(getattr(given, name) is not UNSET for name in fields)


def _given_or(given: _T | UnsetType, otherwise: _T) -> _T:
    return otherwise if given is UNSET else given


def _rules(given: NewTask | TaskChange) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    if given.missed is not UNSET:
        rules["missed"] = check_missed(given.missed)
    if given.max_runs is not UNSET:
        rules["max_runs"] = None if given.max_runs is None else check_count("max_runs", given.max_runs)
    return rules


# Reading from JSON.


def _read(
    kind: type[NewTask] | type[TaskChange],
    given: object,
    instant: Callable[[str, object], datetime] | None,
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    given, delay = _without_in(given)
    for name, value in _known(kind, given).items():
        read = FIELDS[name].read
        if read is read_instant and instant is not None:
            read = instant
        values[name] = value if value is None or read is None else read(name, value)
    return values if delay is None else {**values, "due": delay}


def _without_in(given: object) -> tuple[object, timedelta | None]:
    """The mapping without `in`, which null leaves out, and its value. Raises InvalidTask."""
    if not isinstance(given, Mapping) or "in" not in given:
        return given, None
    if given["in"] is None:
        return {name: value for name, value in given.items() if name != "in"}, None
    if given.get("due") is not None:
        raise InvalidTask("in", "goes without a due date")
    rest = {name: value for name, value in given.items() if name not in {"in", "due"}}
    return rest, read_seconds("in", given["in"])


def _known(kind: type[NewTask] | type[TaskChange], given: object) -> dict[str, Any]:
    """The fields of the mapping. Raises InvalidTask for an unknown one, and for a new task without action."""
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
