"""Adding a task that waits already with `if_exists="push"`: it waits anew, for so long at most. Pure."""

from datetime import timedelta

from msgspec.structs import replace

from duebell_shared.errors import InvalidTask, TaskConflict
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import checked
from duebell_shared.tasks.recurrence import delay_of, delayed
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

__all__ = ["check_at_most", "check_not_recurring", "check_push", "limited", "pushed"]

#: The statuses of a task that has not begun: a push keeps the time of its first add.
_WAITING = frozenset({Status.SCHEDULED, Status.PAUSED})

_UNENDED = _WAITING | {Status.RUNNING}


def check_push(task: Task, *, is_generated: bool) -> None:
    """Raise InvalidTask if this new task cannot be added with `if_exists="push"`."""
    if is_generated:
        raise InvalidTask("id", "is missing: if_exists='push' needs one, by which the waiting task is found")
    check_not_recurring(task.recurrence)


def check_not_recurring(schedule: object) -> None:
    """Raise InvalidTask if there is a schedule, with which no task can be added by `if_exists="push"`."""
    if schedule:
        raise InvalidTask("schedule", "goes without if_exists='push': a recurring task is not put off")


def check_at_most(given: object, *, is_push: bool) -> timedelta | None:
    """The longest that a task can be pushed, in whole milliseconds; None for no limit. Raises InvalidTask."""
    if given is not None and not is_push:
        raise InvalidTask("at_most", "goes with if_exists='push'")
    at_most: timedelta | None = checked("at_most", given)
    return at_most


def limited(new: Task, at_most: timedelta | None) -> Task:
    """This new task, due `at_most` from now at the latest."""
    if at_most is None or new.due <= (limit := new.created_at + at_most):
        return new
    return replace(new, due=limit, queued=delayed(limit, delay_of(new.id, new.spread)))


def pushed(there: Task, new: Task, at_most: timedelta | None) -> Task:
    """The task to store when `new` is added with `if_exists="push"` in place of `there`, which has its id.

    A task that waits is as `new`, but due `at_most` after its first add at the latest, which `created_at`
    keeps. If that time has passed, it keeps its place in the queue, and in the line of its action's limit, so
    that pushes cannot hold it up. One that is paused stays so. One that runs or is over gives way to `new`:
    what runs may have seen nothing of the reason for this add, so a run follows, and its own outcome no
    longer applies.

    Raises TaskConflict if a recurring task has the id.
    """
    if there.recurrence and there.status in _UNENDED:
        raise TaskConflict(f"cannot push task {quoted(there.id)}: it recurs. Choose another id, or cancel it")
    if there.status not in _WAITING:
        return new
    now = new.created_at
    due, queued, limited_since = new.due, new.queued, None
    if at_most is not None and due > (limit := there.created_at + at_most):
        if limit > now:
            due, queued = limit, delayed(limit, delay_of(new.id, new.spread))
        elif there.limited_since and there.action == new.action:
            due, queued, limited_since = min(there.due, now), there.queued, there.limited_since
        else:
            due, queued = min(there.due, now), min(there.queued or now, now)
    is_paused = there.status is Status.PAUSED
    return replace(
        new,
        created_at=there.created_at,
        due=due,
        status=there.status,
        queued=None if is_paused else queued,
        limited_since=limited_since,
    )
