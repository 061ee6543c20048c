"""Tasks that owe a follow-up: from the write that ends the attempt to the one after the follow-up. Pure.

Meanwhile the task is in the queue, where it was, with a status that no run claims: done or failed. So the run
that looks into its lane next finds it first, whatever became of the run that ended it.
"""

from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from duebell_shared.instants import to_utc
from duebell_shared.tasks.packed_occurrences import Result

from .follow_up import Cause, Owed
from .status import Status

if TYPE_CHECKING:
    from .task import Task

__all__ = ["owing", "paid", "tried"]

#: Characters of the error of a try that the task keeps.
_MOST_ERROR = 300

_T = TypeVar("_T", bound="Task")

_STATUSES = {Cause.DONE: Status.DONE, Cause.FAILED: Status.FAILED}


def owing(over: _T, ended: _T, result: Result, *, on_failed: str | None, now: datetime) -> _T:
    """The task as it has `ended` by this result, with the follow-up that it owes, if it has one.

    `over` is the task with its attempt just over, still at that occurrence and in the queue.
    """
    match result:
        case Result.DONE:
            cause, action = Cause.DONE, over.then and over.then.action
        case Result.FAILED:
            cause, action = Cause.FAILED, on_failed
        case _:
            return ended
    if not action:
        return ended
    owed = Owed(
        cause=cause,
        action=action,
        at=to_utc(now),
        due=over.due,
        attempts=over.attempt,
        queued=ended.queued,
        expires_at=ended.expires_at,
    )
    # A task that was parked while its action was paused stands hours ahead in the queue when it is run.
    queued = min(over.queued or owed.at, owed.at)
    return replace(
        ended,
        status=_STATUSES[cause],
        queued=queued,
        expires_at=None,
        owes=owed,
        follow_up_error=None,  # it is that of an occurrence before
    )


def tried(task: _T, error: str) -> _T:
    """The task that still owes its follow-up, after a try that failed by this error.

    It is the same task, for no write, if the last try failed likewise.
    """
    said = error[:_MOST_ERROR]
    return task if task.follow_up_error == said else replace(task, rev=task.rev + 1, follow_up_error=said)


def paid(task: _T, error: str | None = None) -> _T:
    """The task once its follow-up is added, or could not be, by this error: it has ended, or goes on."""
    if (owed := task.owes) is None:
        return task
    return replace(
        task,
        rev=task.rev + 1,
        status=task.status if owed.queued is None else Status.SCHEDULED,
        queued=owed.queued,
        expires_at=owed.expires_at,
        owes=None,
        follow_up_error=error,
    )
