"""Makes a new task, or a changed one, from the fields that a user gives."""

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import to_utc
from duebell_shared.quoting import quoted
from duebell_shared.schedules.schedule import Schedule, make_schedule

from .checks import check_due, check_name
from .fields import FIELDS, RECURRENCE, RECURRING, SCHEDULE, STORED, NewTask, TaskChange, checked
from .recurrence import Recurrence, delay_of, delayed
from .task import Task

if TYPE_CHECKING:
    from duebell_shared.schedules.calendars import Calendar


#: Returns the calendar of a name. Raises InvalidSchedule if there is none.
Calendars = Callable[[str], "Calendar"]


def new_task(*, now: datetime, calendars: Calendars | None = None, **given: Unpack[NewTask]) -> Task:
    """The task that these fields make, in lane 0 until it is placed.

    calendars  returns the calendar of a name; if not given, it is not checked that a calendar exists

    A recurring task is due at its schedule's first occurrence. Raises InvalidTask with the field and the
    reason, InvalidSchedule.
    """
    id, due = given.get("id"), given.get("due")
    recurrence = _new_recurrence(given, now, calendars)
    if recurrence is None:
        first = check_due(due, now)
    elif due is not None:
        raise InvalidTask("due", "cannot be combined with a schedule, which says when the task is due")
    else:
        first = recurrence.next_due or now
        recurrence = replace(recurrence, next_due=recurrence.schedule.next_after(first))
    task = Task(
        id=str(uuid.uuid4()) if id is None else check_name("id", id),
        lane=0,
        due=first,
        created_at=to_utc(now),
        recurrence=recurrence,
        **{
            STORED[name]: checked(name, value)
            for name, value in given.items()
            if name in STORED and (value is not None or name == "action")
        },
    )
    task.check_fields()
    queued = delayed(task.due, delay_of(task.id, task.spread)) if task.spread else task.due
    if task.expires_after is not None and queued + task.expires_after < now:
        raise InvalidTask("expires_after", f"has passed already: the task was due at {task.due}")
    return replace(task, queued=max(queued, task.created_at))


def check_change(change: TaskChange) -> None:
    if not change:
        raise InvalidTask("change", "is empty: give a payload, an action, a due date or a schedule")
    if "due" in change and not change.keys().isdisjoint(RECURRING):
        raise InvalidTask("due", "cannot be combined with a schedule: move the task, then update it")
    if change.get("schedule", "") is None:
        raise InvalidTask("schedule", "cannot be taken away: cancel the task, or give it an end")


def changed_task(
    task: Task, change: TaskChange, *, now: datetime, calendars: Calendars | None = None
) -> Task:
    """The task with the change. A field that is left out stays; None means the same as for a new task.

    Raises TaskConflict, InvalidTask, InvalidSchedule.
    """
    changed = task.updated(**{name: value for name, value in change.items() if name in STORED}, now=now)
    if "due" in change and check_due(change["due"], now) != task.due:
        # The same due date is no move: a move would start all attempts anew, and at once.
        changed = changed.moved(change["due"], now=now)
    if change.keys().isdisjoint(RECURRING):
        return changed
    if (before := changed.recurrence) is None:
        raise InvalidTask(
            "schedule",
            f"cannot be given to task {quoted(task.id)}, which runs once: cancel it, and add a recurring one",
        )
    recurrence = _changed_recurrence(before, change, now, calendars)
    return changed.rescheduled(recurrence.instead_of(before, changed.due, now))


def _new_recurrence(
    given: Mapping[str, Any], now: datetime, calendars: Calendars | None
) -> Recurrence | None:
    if given.get("schedule") is None:
        for name in RECURRING:
            if given.get(name) is not None:
                raise InvalidTask(name, "needs a schedule, and none is given")
        return None
    schedule = _schedule(given, now, calendars)
    return Recurrence(schedule=schedule, next_due=schedule.next_after(now), **_rules(given))


def _changed_recurrence(
    there: Recurrence, change: Mapping[str, Any], now: datetime, calendars: Calendars | None
) -> Recurrence:
    """The recurrence with the changes. A new expression comes with a new time zone, start and end."""
    schedule = there.schedule
    if not change.keys().isdisjoint(SCHEDULE):
        before = {name: getattr(schedule, FIELDS[name].named or name) for name in SCHEDULE}
        if "calendar" in change and change["calendar"] is None:
            before["holidays"] = None
        schedule = _schedule(change if "schedule" in change else {**before, **change}, now, calendars)
    return replace(there, schedule=schedule, **_rules(change))


def _schedule(given: Mapping[str, Any], now: datetime, calendars: Calendars | None) -> Schedule:
    return make_schedule(
        given["schedule"],
        timezone=given.get("timezone") or None,
        start=given.get("start"),
        end=given.get("end"),
        calendar=checked("calendar", given.get("calendar") or None),
        holidays=checked("holidays", given.get("holidays") or None),
        calendars=calendars,
        now=now,
    )


def _rules(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: checked(name, given[name]) for name in RECURRENCE if name in given}
