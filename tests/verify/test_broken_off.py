"""A verify that is broken off, in order or not, leaves nothing for ever."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from duebell import Editor, UnknownAction
from duebell_infra.verify import Finding
from tests.verify.account import Account

pytestmark = [pytest.mark.moto, pytest.mark.slow]


def until(findings: Iterator[Finding], check: str) -> None:
    """Go on until this check is made."""
    assert any(finding.check == check for finding in findings)


@pytest.mark.parametrize("check", ["claim-many", "at-once"])
def test_a_verify_that_is_ended_removes_what_it_stored(account: Account, check: str) -> None:
    findings = account.findings()
    until(findings, check)
    assert account.items()

    findings.close()

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
    until(findings, "at-once")
    [probe] = [item for item in account.items() if item["lane"]["S"] != "-1"]
    editor = Editor(backend=account.backend)
    with pytest.warns(UnknownAction):  # the worker here has none
        editor.add("act", due=timedelta(days=9), id=probe["id"]["S"], if_exists="replace")
    # When the verify is ended, then that is still there
    findings.close()
    assert [item["action"]["S"] for item in account.items()] == ["act"]
