"""What users say of a task's recurrence, checked and made into a Recurrence."""

from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.given import check_count
from duebell_shared.quoting import quoted
from duebell_shared.recurrence import Missed, Recurrence
from duebell_shared.schedule import make_schedule
from duebell_shared.task import Task

__all__ = ["Recurring", "changed_recurrence", "new_recurrence"]

_T = TypeVar("_T")


class Recurring(msgspec.Struct, frozen=True, kw_only=True):
    """When and how a task recurs, as `Editor.add` and `Editor.update` are given it.

    UNSET: not said, so that it stays as it is. None: none, or what is usual.
    """

    schedule: str | UnsetType | None = UNSET
    timezone: str | UnsetType | None = UNSET
    start: datetime | UnsetType | None = UNSET
    end: datetime | UnsetType | None = UNSET
    missed: Missed | str | UnsetType | None = UNSET
    max_runs: int | UnsetType | None = UNSET

    @property
    def says_something(self) -> bool:
        """Whether anything is said at all."""
        return any(value is not UNSET for value in msgspec.structs.astuple(self))

    @property
    def says_when(self) -> bool:
        """Whether it says something of the schedule itself."""
        return any(value is not UNSET for value in (self.schedule, self.timezone, self.start, self.end))


def new_recurrence(given: Recurring, now: datetime) -> Recurrence | None:
    """The recurrence of a new task; None if it runs once. Raises InvalidSchedule, InvalidTask."""
    if given.schedule is None or given.schedule is UNSET:
        _needs_a_schedule(given)
        return None
    schedule = make_schedule(
        given.schedule,
        timezone=None if given.timezone == "" else _said(given.timezone, None),
        start=_said(given.start, None),
        end=_said(given.end, None),
        now=now,
    )
    return Recurrence(schedule=schedule, next_due=schedule.first(now), **_rules(given))


def changed_recurrence(task: Task, given: Recurring, now: datetime) -> Recurrence:
    """The task's recurrence with what is given changed. Raises InvalidSchedule, InvalidTask.

    Another expression comes with its own time zone, start and end; without one, what is not given stays.
    """
    there = task.recurrence
    if there is None:
        made = new_recurrence(given, now)
        if made is None:
            raise InvalidTask("schedule", f"is missing: task {quoted(task.id)} runs once")
        return made
    schedule = there.schedule
    if given.says_when:
        is_new = given.schedule is not UNSET
        schedule = make_schedule(
            schedule.expression if given.schedule in (None, UNSET) else given.schedule,
            timezone=_said(given.timezone, None if is_new else schedule.timezone),
            start=_said(given.start, None if is_new else schedule.start),
            end=_said(given.end, None if is_new else schedule.end),
            now=now,
        )
    return replace(there, schedule=schedule, **_rules(given))


def _said(given: _T | UnsetType, otherwise: _T) -> _T:
    return otherwise if given is UNSET else given


def _rules(given: Recurring) -> dict[str, Any]:
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


def _needs_a_schedule(given: Recurring) -> None:
    for field in given.__struct_fields__:
        if (value := getattr(given, field)) is not None and value is not UNSET:
            raise InvalidTask(field, "goes with a schedule, and none is given")
