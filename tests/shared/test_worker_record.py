"""The worker record: what a start makes of it, and what it says at a moment."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from duebell_shared.instants import to_json
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.worker_record import (
    ActionDescription,
    WorkerDescription,
    WorkerRecord,
)
from tests.support import NOON

MINUTE = timedelta(minutes=1)
FAILURE = Failure(type="ImportError", message="no")


def worker(version: str, *actions: str, **fields: Any) -> WorkerDescription:
    described = tuple(ActionDescription(name=name, attempts=5) for name in actions)
    given = {"duebell": "0.1.0", "python": "3.13", "tzdata": "2026f", "started_at": NOON, **fields}
    return WorkerDescription(version=version, actions=described, **given)


ONE = WorkerRecord().begun(worker("1")).started(worker("1", "act"), ())


def test_a_new_version_is_unknown_until_its_start_has_ended() -> None:
    starting = ONE.begun(worker("2"))
    assert starting.known is None
    assert not starting.has_started("1")
    assert starting.described(NOON) == worker("1", "act")
    assert starting.started(worker("2", "act", "more"), ()).known == worker("2", "act", "more")


@pytest.mark.parametrize(("after", "is_lost"), [(MINUTE - timedelta(seconds=1), False), (MINUTE, True)])
def test_a_start_that_has_not_ended_for_a_minute_is_lost(after: timedelta, is_lost: bool) -> None:
    described = ONE.begun(worker("2")).described(NOON + after)
    assert described
    assert bool(described.error) is is_lost
    assert [one.name for one in described.actions] == ["act"]
    assert described.version == ("2" if is_lost else "1")


def test_an_error_that_comes_again_changes_nothing() -> None:
    failed = ONE.begun(worker("2")).failed(worker("2"), FAILURE)
    assert failed.known is None
    assert failed.worker == worker("2", "act", error=FAILURE)
    later = worker("2", started_at=NOON + MINUTE)
    assert failed.failed(later, FAILURE) == failed
    assert failed.failed(later, Failure(type="ImportError", message="other")) != failed


def test_schemas_are_left_out_when_they_take_too_much() -> None:
    schema = {"description": "x" * 40_000}
    a, b, c = (ActionDescription(name=name, attempts=5, schema=schema) for name in "abc")
    small = replace(worker("1"), actions=(a, replace(b, schema=None)))
    assert WorkerRecord().started(small, ()).known == small
    large = replace(worker("1"), actions=(*small.actions, c))
    known = WorkerRecord().started(large, ()).known
    assert known
    assert [one.schema and [*one.schema] for one in known.actions] == [["$comment"], None, ["$comment"]]


def test_an_error_is_bounded() -> None:
    long = Failure(type="t" * 10_000, message="m" * 100_000, traceback="x" * 100_000)
    assert len(to_json(WorkerRecord().failed(worker("1"), long))) < 13_000
