"""Recurring tasks that are declared in code, checked when the code is imported."""

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypedDict

import msgspec

from duebell_shared.errors import InvalidSchedule, InvalidTask
from duebell_shared.payloads import payload as payloads
from duebell_shared.quoting import quoted
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.tasks.follow_up import Then, check_follow_ups
from duebell_shared.tasks.given import check_expiry, check_missed, check_name, check_spread
from duebell_shared.tasks.recurrence import Missed
from duebell_shared.tasks.worker_record import DeclaredTask

from .action import Action

__all__ = ["RecurringOptions", "declare_among", "declared_task"]

#: Bytes of all declared tasks of a worker: they stand in one item of the table, beside its description.
_MOST_BYTES = 200 * 1024

#: Schedules are checked as of then, so that one which has come to its end can still be read.
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class RecurringOptions(TypedDict, total=False):
    """The arguments of `Worker.recurring` that are those of `Editor.add`, and seldom given."""

    missed: Missed | Literal["once", "all", "skip"] | None
    spread: timedelta | None
    expires_after: timedelta | None
    on_failed: str | None
    then: Then | Mapping[str, Any] | None


def declared_task(
    action: Action[..., Any],
    *,
    id: str,
    schedule: str,
    timezone: str | None,
    payload: object,
    missed: str | None = None,
    spread: timedelta | None = None,
    expires_after: timedelta | None = None,
    on_failed: str | None = None,
    then: Then | Mapping[str, Any] | None = None,
) -> DeclaredTask:
    """A recurring task of this action. Raises InvalidTask, InvalidSchedule for what no task can have.

    The error names the action, and the place of its function: the traceback ends in duebell's own code.
    A schedule that has come to its end is allowed: code that declares it must still start.
    """
    try:
        meant = make_schedule(schedule, timezone=timezone, now=_LONG_AGO)
        if meant.expression.startswith("at("):
            raise InvalidSchedule("schedule", f"{quoted(schedule)} comes once: declare one that recurs")
        failure_action, follow_up = check_follow_ups(check_name("id", id), on_failed, then)
        return DeclaredTask(
            id=id,
            action=action.name,
            schedule=meant.expression,
            timezone=timezone,
            payload_json=payloads.of_task(action.checked(payload)),
            missed=None if missed is None else check_missed(missed),
            spread=check_spread(spread),
            expires_after=check_expiry(expires_after, recurs=True),
            on_failed=failure_action,
            then=follow_up,
        )
    except InvalidTask as error:
        at = f"in @worker.recurring of the action {quoted(action.name)}, {_place_of(action.function)}"
        raise type(error)(error.field, f"{error.reason} ({at})") from None


def _place_of(function: Callable[..., Any]) -> str:
    """The file and the line of a function's first decorator; of one without source, its own text."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else quoted(function)


def declare_among(declared: dict[str, DeclaredTask], task: DeclaredTask) -> None:
    """Add this task to those that a worker declares. Raises ValueError if its id is taken, or for no room."""
    if task.id in declared:
        raise ValueError(f"a recurring task {quoted(task.id)} is declared twice: give each an id of its own")
    size = len(msgspec.json.encode([*declared.values(), task]))
    if size > _MOST_BYTES:
        raise ValueError(
            f"the declared recurring tasks take {size:,} bytes, at most {_MOST_BYTES:,} are allowed: keep "
            f"their data elsewhere, in S3 for example, and put its key into the payload"
        )
    declared[task.id] = task
