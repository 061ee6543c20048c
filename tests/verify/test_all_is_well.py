"""A verify of a scheduler that is as it should be."""

from datetime import timedelta
from typing import TYPE_CHECKING

import boto3
import msgspec
import pytest

from duebell import Editor
from duebell_infra.testing import InlinePool
from duebell_infra.verify import CHECKS, Result
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.tasks.status import History
from tests.support import Clock, create_schedule
from tests.verify.account import Account, all_ok

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

pytestmark = [pytest.mark.moto, pytest.mark.slow]

HOUR = timedelta(hours=1)


def test_every_check_is_ok_and_nothing_is_left(account: Account) -> None:
    found = account.verify()

    assert list(found) == [check.name for check in CHECKS]
    assert all_ok(found), found
    assert account.items() == []
    assert Editor(backend=account.backend).status().healthy
    # And it is said how late the rule rang, and that a direct call came at once
    figures = found["probe"].figures
    assert figures["lateness_seconds"] == 4
    assert 60 <= figures["set_before_its_minute_seconds"] <= 130
    assert "the rule rang, and the task started 4.0 s after it was due" in found["probe"].found
    assert any("for the rule to ring at" in said for said in account.waited)
    assert found["at-once"].found.endswith("by a direct call")
    assert {} in [event["duebell"] for event in account.invoked]


def test_with_a_schedule_every_check_is_ok_too(
    account: Account, session: boto3.Session, events: "EventBridgeClient", clock: Clock
) -> None:
    # Given a scheduler with a schedule, and no rule
    events.remove_targets(Rule="duebell", Ids=["worker"])
    events.delete_rule(Name="duebell")
    create_schedule(session)
    by_schedule = Account(clock, msgspec.structs.replace(account.settings, bell=BellKind.SCHEDULE))

    found = by_schedule.verify()

    assert all_ok(found), found
    assert found["status"].found.startswith("the schedule is parked")
    assert "the schedule rang, and the task started 4.0 s after it was due" in found["probe"].found
    assert "UpdateSchedule" in found["rule"].answers
    assert by_schedule.items() == []


def test_a_probe_that_is_deleted_when_it_is_done_counts_as_done(account: Account) -> None:
    account.settings = msgspec.structs.replace(account.settings, history=History.NONE)
    deleting = Backend.connect(
        account.settings, account.others, clock=account.clock, sleep=account.clock.sleep
    )
    account.worker = account.worker.over(deleting, pool=lambda _: InlinePool())

    found = account.verify()

    assert all_ok(found), found
    assert 4 <= found["probe"].figures["lateness_seconds"] <= 6


def test_without_the_probe_nothing_is_waited_for(account: Account) -> None:
    before = account.clock()
    found = account.verify(probe=False)

    assert all_ok(found)
    assert {found[name].result for name in ("at-once", "intake", "probe")} == {Result.SKIPPED}
    assert account.clock() == before
    assert account.items() == []


def test_a_queue_in_use_is_left_as_it_is(account: Account) -> None:
    # Given tasks of a user, waiting, recurring, done and paused
    editor = Editor(backend=account.backend)
    editor.add("act", due=HOUR, id="later")
    editor.add("act", schedule="rate(2 hours)", id="recurring")
    editor.add("act", due=2 * HOUR, id="cancelled")
    editor.cancel("cancelled")
    editor.pause(editor.add("act", due=HOUR).id)
    before, expression = account.items(), editor.status().expression
    # When all is verified
    assert all_ok(account.verify())
    # Then they are as they were, and the rule is where it was
    assert account.items() == before
    assert editor.status().healthy
    assert editor.status().expression == expression
