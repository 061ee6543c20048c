"""A verify of a scheduler that is as it should be, to its end or broken off: nothing is left of it."""

from datetime import timedelta
from typing import TYPE_CHECKING

import boto3
import msgspec
import pytest

from duebell import Editor, UnknownAction
from duebell_editor.intake import Intake
from duebell_infra.testing import InlinePool
from duebell_infra.verify import CHECKS, Result
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.parallel import Parallel
from duebell_shared.tasks.status import History
from tests.intake.conftest import Queues
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


@pytest.fixture
def queues(account: Account, session: boto3.Session) -> Queues:
    """The queues of the account's intake."""
    account.settings = msgspec.structs.replace(account.settings, intake="duebell-intake")
    return Queues()


def test_a_message_becomes_a_task_and_it_is_said_how_soon(account: Account, queues: Queues) -> None:
    # Given a worker that takes messages after seven seconds
    soon = account.clock() + timedelta(seconds=7)
    assert account.backend.client
    editor = Editor(backend=account.backend, changed_by="intake")
    intake = Intake(editor, account.backend.client, clock=account.clock, parallel=Parallel(1))

    def take() -> None:
        if account.clock() >= soon and (records := queues.received()):
            intake.take(records)

    account.during = take
    # When all is verified
    found = account.verify()
    # Then it is said, and nothing is left of it, in the queue or as a dead letter
    assert all_ok(found), found
    assert found["intake"].found == "a task 7 s after it was sent"
    assert found["intake"].figures == {"added_after_seconds": 7}
    assert found["intake"].answers[0] == "SendMessage"
    assert "waiting for a message of the intake queue to become a task" in account.waited
    assert (account.items(), queues.dead()) == ([], [])


def test_a_message_that_nobody_takes_is_a_failure(account: Account, queues: Queues) -> None:
    found = account.verify()

    assert found["intake"].result is Result.FAILED
    assert "is no task yet" in found["intake"].found
    assert "duebell doctor" in str(found["intake"].way_out)
    assert all_ok(found, "intake"), found
    assert account.items() == []


def test_ctrl_c_while_it_waits_takes_the_probe_out_of_the_queue(account: Account) -> None:
    # Given a verify that waits for the rule to ring
    def ctrl_c() -> None:
        if account.waited and "for the rule to ring" in account.waited[-1]:
            raise KeyboardInterrupt

    account.during = ctrl_c
    # When Ctrl-C ends it
    with pytest.raises(KeyboardInterrupt):
        account.verify()
    # Then nothing is left, and the run that comes finds nothing to do
    assert account.items() == []
    account.during = lambda: None
    account.clock.advance(timedelta(minutes=3))
    assert account.worker.run().done == 0
    assert Editor(backend=account.backend).status().healthy


def test_a_users_task_of_such_an_id_is_never_removed(account: Account) -> None:
    # Given a verify at work, and then a user's task under its probe's id
    findings = account.findings()
    assert any(finding.check == "at-once" for finding in findings)
    [probe] = [item for item in account.items() if item["lane"]["S"] != "-1"]
    editor = Editor(backend=account.backend)
    with pytest.warns(UnknownAction):  # the worker here has none
        editor.add("act", due=timedelta(days=9), id=probe["id"]["S"], if_exists="replace")
    # When the verify is ended, then that is still there
    findings.close()
    assert [item["action"]["S"] for item in account.items()] == ["act"]
