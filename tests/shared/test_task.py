"""A task's life: which change each status allows, and what the change makes of it."""

from datetime import timedelta

import msgspec
import pytest

from duebell_shared.queue.places import lane_of
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task
from tests.support import NOON


def task() -> Task:
    return new_task(id="one", action="act", due=NOON + timedelta(hours=1), payload={"n": 1}, now=NOON)


@pytest.mark.parametrize(
    ("id", "of_4", "of_16"),
    [("sale-42", 2, 14), ("trial-expiry:XYZ123", 1, 13), ("ü", 1, 5), ("a", 3, 3)],
)
def test_an_id_has_the_same_lane_for_ever(id: str, of_4: int, of_16: int) -> None:
    assert (lane_of(id, 4), lane_of(id, 16)) == (of_4, of_16)


def test_a_task_in_a_log_is_one_short_line_without_payload_and_traceback() -> None:
    secret = Failure(type="ValueError", message="no", traceback="secret" * 1_000)
    tried = msgspec.structs.replace(task(), attempt=2, failure=secret, payload_json='{"card": "secret"}')
    due = "due='2026-11-21T13:00:00.000Z'"
    assert repr(tried) == f"Task(id='one', action='act', status='scheduled', {due}, attempt=2, rev=1)"
    assert repr([tried]) == f"[{tried}]"


def test_a_task_that_runs_once_has_no_occurrences() -> None:
    one = task()
    assert (one.runs, one.missed_runs, one.consecutive_failures, one.last) == (0, 0, 0, None)
