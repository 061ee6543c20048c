"""An invalid task is refused with the field and the reason, before anything is written."""

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from duebell import InvalidTask
from tests.editor.memory import Scheduler
from tests.support import NOON

NAIVE = datetime(2026, 12, 31)  # noqa: DTZ001 - that is what is wrong with it
HOUR = timedelta(hours=1)
HOURLY = {"due": None, "schedule": "rate(1 hour)"}

#: Arguments of `add`, the field that is wrong in them, and what is said of it.
WRONG: list[tuple[dict[str, Any], str, str]] = [
    (
        {"due": NAIVE},
        "due",
        "must be a timedelta, or a datetime with a time zone, such as tzinfo=UTC, not datetime",
    ),
    ({"due": None}, "due", "is missing: give a time or a length of time from now"),
    (
        {"due": "2026-12-31"},
        "due",
        "must be a timedelta, or a datetime with a time zone, such as tzinfo=UTC, not",
    ),
    (
        {"due": datetime(2199, 12, 31, 23, 59, 0, 1, tzinfo=UTC)},
        "due",
        "2199-12-31 23:59:00.001000+00:00 is after 2199, the last year a rule can ring in",
    ),
    ({"due": datetime.max.replace(tzinfo=timezone(-HOUR))}, "due", "is beyond the ends of the calendar"),
    ({"due": datetime.min.replace(tzinfo=timezone(HOUR))}, "due", "is beyond the ends of the calendar"),
    ({"due": timedelta.max}, "due", "is beyond the ends of the calendar"),
    ({"payload": math.nan}, "payload", "payload is nan, which JSON cannot hold: leave it out or use None"),
    ({"payload": {"a": [{"b": math.nan}]}}, "payload", "payload['a'][0]['b'] is nan, which JSON cannot hold"),
    ({"payload": {1: "a"}}, "payload", "payload has the key 1, and JSON has text keys only: use '1'"),
    ({"payload": "x" * 358_399}, "payload", "is 358,401 bytes as JSON, at most 358,400 are allowed"),
    ({"id": "a\nb"}, "id", "'a\\nb' has '\\n' in it: only printable characters are allowed"),
    ({**HOURLY, "schedule": "soon"}, "schedule", "'soon' is no schedule"),
    ({**HOURLY, "due": NOON}, "due", "cannot be combined with a schedule"),
    ({**HOURLY, "timezone": "Mars"}, "timezone", "'Mars' is no IANA"),
    ({**HOURLY, "expires_after": HOUR}, "expires_after", "cannot be combined with a schedule"),
    ({"timezone": "UTC"}, "timezone", "needs a schedule, and none is given"),
    ({"max_runs": 1}, "max_runs", "needs a schedule"),
]


@pytest.mark.parametrize(("wrong", "field", "reason"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_a_task_is_refused_and_nothing_is_written(
    scheduler: Scheduler, wrong: dict[str, Any], field: str, reason: str
) -> None:
    # When the first call that a queue ever sees is wrong
    arguments = {"action": "act", "due": HOUR, **wrong}
    with pytest.raises(InvalidTask) as raised:
        scheduler.editor.add(**arguments)
    # Then it says what is
    assert raised.value.field == field
    assert reason in raised.value.reason
    assert str(raised.value) == f"{field}: {raised.value.reason}"
    # And there is nothing, not even an arming record
    assert scheduler.is_untouched()


def test_the_longest_names_and_the_last_and_first_moments_are_right(scheduler: Scheduler) -> None:
    add = scheduler.editor.add
    assert add("𝄞" * 256, due=datetime(2199, 12, 31, 23, 59, tzinfo=UTC), id="ü" * 256).due.year == 2199
    assert add(" ", due=datetime(1, 1, 1, tzinfo=UTC), id="trial-expiry:XYZ 123/ä").queued is not None
    assert add("act", due=-HOUR).due == NOON - HOUR
