"""A task's life: which change each status allows, and what the change makes of it."""

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from duebell_shared.errors import TaskConflict
from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.follow_up import Members
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import Task
from tests.support import NOON

KEEP, FAILURE = RetentionPolicy(), Failure(type="ValueError", message="no")
DUE, LATER = NOON + timedelta(hours=1), NOON + timedelta(hours=2)


def task(status: Status = Status.SCHEDULED, attempt: int = 0) -> Task:  # noqa: PLR0911
    """A task of this status, as it would be after these attempts."""
    fresh = new_task(id="one", action="act", due=DUE, payload={"n": 1}, now=NOON)
    tried = msgspec.structs.replace(fresh, attempt=attempt, failure=FAILURE if attempt else None)
    match status:
        case Status.SCHEDULED:
            return tried
        case Status.RUNNING:
            return msgspec.structs.replace(tried, status=status, attempt=attempt + 1, run="run")
        case Status.PAUSED:
            return tried.paused()
        case Status.RESERVED:
            return tried.reserved("token", until=DUE)
        case Status.BLOCKED:
            return msgspec.structs.replace(tried, status=status, queued=None, members=Members(left=1))
        case Status.CANCELLED:
            return tried.cancelled(now=DUE, keep=KEEP)
        case Status.FAILED:
            return tried.failed(FAILURE, now=DUE, keep=KEEP)
        case Status.EXPIRED:
            return tried.expired(now=DUE, keep=KEEP)
        case Status.DONE:
            return tried.done(now=DUE, keep=KEEP)


VERBS: dict[str, Callable[[Task], Task]] = {
    "move": lambda one: one.moved(LATER, now=NOON),
    "update": lambda one: one.updated(payload={"n": 2}, now=NOON),
    "cancel": lambda one: one.cancelled(now=NOON, keep=KEEP),
    "pause": Task.paused,
    "resume": lambda one: one.resumed(now=NOON),
    "retry": lambda one: one.retried(now=NOON),
    "run": lambda one: one.run_now(now=NOON),
}

#: From which status each verb leads to which; from all others it is refused.
ALLOWED = {
    "move": {"scheduled": "scheduled", "running": "scheduled", "paused": "paused"},
    "update": {status: status for status in ("scheduled", "paused", "failed", "expired")},
    "cancel": dict.fromkeys(
        ("scheduled", "running", "paused", "reserved", "blocked", "failed", "expired"), "cancelled"
    ),
    "pause": {"scheduled": "paused"},
    "resume": {"paused": "scheduled"},
    "retry": {"failed": "scheduled", "expired": "scheduled"},
    "run": {"scheduled": "scheduled"},
}

_RETRY = ": use `retry` instead"

#: The way out that a refusal names.
INSTEAD = {
    ("retry", Status.SCHEDULED): ": use `run-now` instead",
    ("run", Status.FAILED): _RETRY,
    ("run", Status.EXPIRED): _RETRY,
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("status", Status)
def test_what_each_status_allows(verb: str, status: Status) -> None:
    before = task(status)
    if status in ALLOWED[verb]:
        after = VERBS[verb](before)
        assert (after.status, after.rev) == (ALLOWED[verb][status], before.rev + 1)
        assert (after.queued is not None) == (after.status in {Status.SCHEDULED, Status.RUNNING})
        return
    with pytest.raises(TaskConflict) as raised:
        VERBS[verb](before)
    needed = " or ".join(ALLOWED[verb])
    not_yet = ": its transaction is not committed yet" if status is Status.RESERVED else ""
    way_out = INSTEAD.get((verb, status), not_yet)
    assert (
        str(raised.value) == f"cannot {verb} task 'one': it is {status}, and this needs it {needed}{way_out}"
    )


@pytest.mark.parametrize(
    ("id", "of_4", "of_16"),
    [("sale-42", 2, 14), ("trial-expiry:XYZ123", 1, 13), ("ü", 1, 5), ("a", 3, 3)],
)
def test_an_id_has_the_same_lane_for_ever(id: str, of_4: int, of_16: int) -> None:
    assert (lane_of(id, 4), lane_of(id, 16)) == (of_4, of_16)


def test_a_task_in_a_log_is_one_short_line_without_payload_and_traceback() -> None:
    secret = Failure(type="ValueError", message="no", traceback="secret" * 1_000)
    tried = msgspec.structs.replace(task(attempt=2), failure=secret, payload_json='{"card": "secret"}')
    due = "due='2026-11-21T13:00:00.000Z'"
    assert repr(tried) == f"Task(id='one', action='act', status='scheduled', {due}, attempt=2, rev=1)"
    assert repr([tried]) == f"[{tried}]"


def test_a_task_that_runs_once_has_no_occurrences() -> None:
    one = task()
    assert (one.runs, one.missed_runs, one.consecutive_failures, one.last) == (0, 0, 0, None)
