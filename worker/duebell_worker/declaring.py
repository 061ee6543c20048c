"""Recurring tasks that are declared in code, checked when the code is imported."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from duebell_shared import payload as payloads
from duebell_shared.errors import InvalidSchedule, InvalidTask
from duebell_shared.given import check_expiry, check_name, check_spread
from duebell_shared.quoting import quoted
from duebell_shared.recurrence import Missed
from duebell_shared.schedule import make_schedule
from duebell_shared.worker_record import DeclaredTask

from .action import Action

__all__ = ["check_room", "declared_task"]

#: Bytes of all declared tasks of a worker: they stand in one item of the table, beside its description.
_MOST_BYTES = 200 * 1024

#: Schedules are checked as of then, so that one which has come to its end can still be read.
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def declared_task(
    action: Action[..., Any],
    *,
    id: str,
    schedule: str,
    timezone: str | None,
    payload: object,
    missed: str | None,
    spread: timedelta | None,
    expires_after: timedelta | None,
) -> DeclaredTask:
    """A recurring task of this action. Raises InvalidTask, InvalidSchedule for what no task can have.

    A schedule that has come to its end is allowed: code that declares it must still start.
    """
    meant = make_schedule(schedule, timezone=timezone, now=_LONG_AGO)
    if meant.expression.startswith("at("):
        raise InvalidSchedule("schedule", f"{quoted(schedule)} comes once: declare one that recurs")
    if missed is not None and missed not in set(Missed):
        raise InvalidTask("missed", f"must be 'once', 'all' or 'skip', not {quoted(missed)}")
    return DeclaredTask(
        id=check_name("id", id),
        action=action.name,
        schedule=meant.expression,
        timezone=timezone,
        payload_json=payloads.of_task(action.checked(payload)),
        missed=missed,
        spread=check_spread(spread),
        expires_after=check_expiry(expires_after, recurs=True),
    )


def check_room(tasks: Iterable[DeclaredTask]) -> None:
    """Raise ValueError if these tasks take more than the worker record has room for."""
    size = len(msgspec.json.encode(list(tasks)))
    if size > _MOST_BYTES:
        raise ValueError(
            f"the declared recurring tasks take {size:,} bytes, at most {_MOST_BYTES:,} are allowed: keep "
            f"their data elsewhere, in S3 for example, and put its key into the payload"
        )
