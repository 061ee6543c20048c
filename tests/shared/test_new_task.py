"""What a user gives for a task: taken as it is meant, or refused with the field and the reason."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from duebell_shared.errors import InvalidTask
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task
from tests.support import NOON

DUE = datetime(2026, 12, 31, tzinfo=UTC)


def make(**given: Any) -> Task:
    """A good task, but for what is given."""
    arguments: dict[str, Any] = {"id": "one", "action": "act", "due": DUE, "payload": {"n": 1}}
    return new_task(**(arguments | given), now=NOON)


def refused(**given: Any) -> InvalidTask:
    with pytest.raises(InvalidTask) as raised:
        make(**given)
    assert str(raised.value) == f"{raised.value.field}: {raised.value.reason}"
    return raised.value


@pytest.mark.parametrize(
    ("due", "expected"),
    [
        (timedelta(days=2, hours=10), NOON + timedelta(days=2, hours=10)),
        (timedelta(0), NOON),
        (datetime(2026, 12, 31, 1, tzinfo=ZoneInfo("Europe/Berlin")), DUE),
        (datetime(2000, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC)),
        (datetime(2199, 12, 31, 23, 59, tzinfo=UTC), datetime(2199, 12, 31, 23, 59, tzinfo=UTC)),
        # In 2200 by its own clock, and yet in 2199 by the rule's.
        (
            datetime(2200, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
            datetime(2199, 12, 31, 23, tzinfo=UTC),
        ),
    ],
)
def test_due_dates_in_utc_and_never_early(due: datetime | timedelta, expected: datetime) -> None:
    task = make(due=due)
    assert (task.due, task.queued) == (expected, max(expected, NOON))


LAST_YEAR = "is after 2199, the last year a rule can ring in"


@pytest.mark.parametrize(
    ("due", "reason"),
    [
        (None, "is missing: give an aware datetime, or a timedelta from now"),
        (
            datetime(2026, 12, 31),  # noqa: DTZ001
            "2026-12-31 00:00:00 has no time zone: add tzinfo=UTC, or ZoneInfo('Europe/Berlin') and the like",
        ),
        ("2026-12-31T00:00Z", "must be a datetime or a timedelta, not str"),
        (1798675200, "must be a datetime or a timedelta, not int"),
        (datetime(2200, 1, 1, tzinfo=UTC), f"2200-01-01 00:00:00+00:00 {LAST_YEAR}"),
        (datetime(2199, 12, 31, 23, 59, 0, 1, tzinfo=UTC), f"2199-12-31 23:59:00.001000+00:00 {LAST_YEAR}"),
        (
            datetime(2199, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))),
            f"2200-01-01 01:00:00+00:00 {LAST_YEAR}",
        ),
        (
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-2))),
            "9999-12-31 23:59:59.999999-02:00 is beyond the ends of the calendar",
        ),
        (
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
            "0001-01-01 00:00:00+02:00 is beyond the ends of the calendar",
        ),
        (timedelta.max, "is too far away: the year must be 1 to 2199"),
    ],
)
def test_due_dates_that_cannot_be(due: object, reason: str) -> None:
    error = refused(due=due)
    assert (error.field, error.reason) == ("due", reason)
