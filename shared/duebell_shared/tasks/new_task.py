"""Making a task of what a user gives for it."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import to_utc
from duebell_shared.payloads import payload as payloads

from .follow_up import check_follow_ups
from .given import check_due, check_expiry, check_name, check_priority, check_spread
from .recurrence import Recurrence, delay_of, delayed
from .task import Task

__all__ = ["new_task"]


def new_task(
    *,
    id: str,
    action: str,
    due: datetime | timedelta | None,
    payload: object,
    now: datetime,
    recurrence: Recurrence | None = None,
    spread: timedelta | None = None,
    expires_after: timedelta | None = None,
    priority: int | None = None,
    on_failed: str | None = None,
    then: object = None,
) -> Task:
    """A task as a user gives it, checked; raises InvalidTask with the field and the reason.

    `due` is aware, or a timedelta counted from `now`; a recurring task has none, but its schedule's first
    occurrence. A payload of None is an empty object. The task is in lane 0 until it is placed.
    """
    if recurrence is None:
        first = check_due(due, now)
    elif due is not None:
        raise InvalidTask("due", "goes without a schedule: a recurring task is due when that says")
    else:
        first = recurrence.next_due or now
        recurrence = replace(recurrence, next_due=recurrence.schedule.next_after(first))
    on_failed, follow_up = check_follow_ups(check_name("id", id), on_failed, then)
    task = Task(
        id=id,
        lane=0,
        action=check_name("action", action),
        due=first,
        payload_json=payloads.of_task(payload),
        created_at=to_utc(now),
        spread=check_spread(spread),
        expires_after=check_expiry(expires_after, recurs=recurrence is not None),
        priority=check_priority(priority),
        recurrence=recurrence,
        on_failed=on_failed,
        then=follow_up,
    )
    queued = delayed(task.due, delay_of(task.id, task.spread))
    if task.expires_after is not None and queued + task.expires_after < now:
        raise InvalidTask("expires_after", f"has passed already: the task was due at {task.due}")
    return replace(task, queued=max(queued, task.created_at))
