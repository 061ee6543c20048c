"""A verify of the intake: a message goes in, and becomes a task."""

from collections.abc import Callable
from datetime import timedelta

import boto3
import msgspec
import pytest

from duebell import Editor
from duebell_editor.intake import Intake
from duebell_infra.verify import Result
from duebell_shared.parallel import Parallel
from tests.intake.conftest import Queues
from tests.verify.account import Account, all_ok

pytestmark = [pytest.mark.moto, pytest.mark.slow]


@pytest.fixture
def queues(account: Account, session: boto3.Session) -> Queues:
    """The queues of the account's intake."""
    account.settings = msgspec.structs.replace(account.settings, intake="duebell-intake")
    return Queues()


@pytest.fixture
def take(account: Account, queues: Queues) -> Callable[[], None]:
    """Has the worker take what is in the queue."""
    assert account.backend.client
    editor = Editor(backend=account.backend, changed_by="intake")
    intake = Intake(editor, account.backend.client, clock=account.clock, parallel=Parallel(1))

    def take() -> None:
        if records := queues.received():
            intake.take(records)

    return take


def test_a_message_becomes_a_task_and_it_is_said_how_soon(
    account: Account, queues: Queues, take: Callable[[], None]
) -> None:
    # Given a worker that takes messages after seven seconds
    soon = account.clock() + timedelta(seconds=7)
    account.during = lambda: take() if account.clock() >= soon else None

    found = account.verify()

    assert all_ok(found), found
    assert found["intake"].found == "a task 7 s after it was sent"
    assert found["intake"].figures == {"added_after_seconds": 7}
    assert found["intake"].answers[0] == "SendMessage"
    assert "waiting for a message of the intake queue to become a task" in account.waited
    # And nothing is left of it, in the queue or as a dead letter
    assert account.items() == []
    assert queues.dead() == []
    assert Editor(backend=account.backend).status().healthy


def test_a_message_that_nobody_takes_is_a_failure(account: Account, queues: Queues) -> None:
    found = account.verify()

    assert found["intake"].result is Result.FAILED
    assert "is no task yet" in found["intake"].found
    assert "duebell doctor" in str(found["intake"].way_out)
    assert all_ok(found, "intake"), found
    assert account.items() == []
