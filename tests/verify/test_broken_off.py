"""A verify that is broken off, in order or not, leaves nothing for ever."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, UnknownAction
from duebell_infra.verify import Finding, Result
from duebell_infra.verify.scene import LANE, PREFIX
from tests.verify.account import Account, all_ok

pytestmark = [pytest.mark.moto, pytest.mark.slow]

LONGER_THAN_ANY = timedelta(minutes=31)


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


def test_what_a_killed_verify_left_is_removed_by_the_next(account: Account) -> None:
    # Given a verify that was killed when a task of its own had run
    killed = account.findings()
    until(killed, "at-once")
    assert {item["lane"]["S"] for item in account.items()} > {"-1"}
    # When another one is made soon, then what may be of one at work is left alone
    found = account.verify(probe=False)
    assert found["left-overs"].found == "none"
    assert account.items()
    # When one is made later, then all of it is gone
    account.clock.advance(LONGER_THAN_ANY)
    found = account.verify(probe=False)
    assert found["left-overs"].result is Result.OK
    assert "of an earlier verify that was broken off: removed" in found["left-overs"].found
    assert account.items() == []
    killed.close()


@pytest.mark.parametrize("is_entry", [False, True], ids=["at a task that ran", "at an entry"])
def test_a_verify_that_is_killed_while_it_tidies_up_is_tidied_up_after(
    account: Account, is_entry: bool
) -> None:
    # Given a verify that is killed when it is about to delete that
    def kill(params: dict[str, Any]) -> None:
        if (json.loads(params["body"])["Key"]["lane"]["S"] == str(LANE)) is is_entry:
            raise KeyboardInterrupt

    findings = account.findings()
    until(findings, "at-once")
    account.on("DeleteItem", kill)
    with pytest.raises(KeyboardInterrupt):
        findings.close()
    assert account.items()
    # When another one is made later
    del account._hooks["DeleteItem"]
    account.clock.advance(LONGER_THAN_ANY)
    account.verify(probe=False)
    # Then all of it is gone
    assert account.items() == []


def test_a_probe_that_was_left_runs_and_is_history_that_expires(account: Account) -> None:
    # Given the probe of a verify that was killed as soon as it was added
    editor = Editor(backend=account.backend)
    editor.add("duebell.verify", due=timedelta(minutes=1), id=f"{PREFIX}killed-probe")
    # When it is due
    account.clock.advance(timedelta(minutes=2))
    account.worker.run()
    # Then it is done, and expires as other history does
    [item] = account.items()
    assert (item["status"]["S"], "queued" in item) == ("done", False)
    assert int(item["expires_at"]["N"]) > account.clock().timestamp()


def test_a_users_task_of_such_an_id_is_never_removed(account: Account) -> None:
    # Given a verify that was killed, and then a user's task under its probe's id
    killed = account.findings()
    until(killed, "at-once")
    [probe] = [item for item in account.items() if item["lane"]["S"] != "-1"]
    editor = Editor(backend=account.backend)
    with pytest.warns(UnknownAction):  # the worker here has none
        editor.add("act", due=timedelta(days=9), id=probe["id"]["S"], if_exists="replace")
    account.clock.advance(LONGER_THAN_ANY)
    # When the next one removes what was left
    assert all_ok(account.verify(probe=False))
    # Then that is still there
    assert [item["action"]["S"] for item in account.items()] == ["act"]
    killed.close()
    assert [item["action"]["S"] for item in account.items()] == ["act"]
