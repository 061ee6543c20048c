"""The commands `status`, `doctor` and `failures`: what they say, and their exit statuses."""

import re
import shlex
from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, Failure
from duebell_shared.aws.alarms import Alarms, Silence
from duebell_shared.backend import Backend
from duebell_shared.tasks.status import RetentionPolicy
from tests.cli.program import Duebell
from tests.support import NOON


def test_status_says_that_the_rule_is_parked_while_nothing_is_due(duebell: Duebell) -> None:
    assert re.search("(?m)^rings at +parked *$", duebell("status").out)
    duebell("add", "x", "--in", "1h")
    assert re.search(r"(?m)^rings at +2026-11-21 13:00:00 UTC \(in 1 h\) *$", duebell("status").out)


def test_doctor_says_that_nobody_is_told_and_that_is_no_problem(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Alarms, "silence", lambda _: Silence.UNCONFIRMED)
    status, out, _ = duebell("doctor")
    assert status == 0
    assert f"nobody is told when tasks fail: {Silence.UNCONFIRMED}" in out
    assert "the link in the mail that AWS sent" in out


def test_doctor_says_what_it_mended(duebell: Duebell, events: Any) -> None:
    # Given a rule that someone set elsewhere
    duebell("add", "x", "--in", "1h")
    events.put_rule(Name="duebell", ScheduleExpression="cron(0 1 1 1 ? 2030)")
    # When the doctor only looks, it says what is wrong; when it mends, what it was
    assert duebell("doctor").status == 6
    status, out, _ = duebell("doctor", "--fix")
    assert status == 0
    mended, healthy, *_ = out.splitlines()
    assert mended.startswith("repaired: the rule is at cron(0 1 1 1 ? 2030)")
    assert healthy == "healthy: nothing is wrong"


@pytest.fixture
def failed(editor: Editor, backend: Backend) -> None:
    """Two tasks that failed with one error, and a recurring one that fails with it."""
    failure = Failure(type="TimeoutError", message="the bank\ndid not answer")
    for id, when in (
        ("t 1", {"due": timedelta(hours=1)}),
        ("t 2", {"due": timedelta(hours=1)}),
        ("hourly", {"schedule": "rate(1 hour)"}),
    ):
        task = editor.add("charge it", id=id, **when)
        assert backend.store.save(task, task.failed(failure, now=NOON, keep=RetentionPolicy()))


@pytest.mark.usefixtures("failed")
def test_groups_come_with_the_commands_that_run_them_again(duebell: Duebell, editor: Editor) -> None:
    said = [line.strip() for line in duebell("failures").out.splitlines()]
    assert said[:2] == ["3 tasks of charge it: TimeoutError", "the bank did not answer"]
    # Then the commands do it, as they are printed
    retry, run_now = (shlex.split(line)[1:] for line in said if line.startswith("duebell "))
    assert duebell(*retry, "--yes").out == "2 tasks set to be retried now\n"
    assert duebell(*run_now).status == 0
    assert editor.get("t 1").failure is None
    assert [group.failed for group in editor.failures().groups] == [0]


@pytest.mark.usefixtures("failed")
def test_printed_commands_reach_the_scheduler_that_was_named(duebell: Duebell) -> None:
    chosen = ["--name", "B", "--region", "eu-north-1", "--profile", "a b"]
    out = duebell(*chosen, "failures").out
    assert "duebell --name B --region eu-north-1 --profile 'a b' retry --status failed" in out
    assert "duebell --name B --region eu-north-1 --profile 'a b' run-now hourly" in out
    # Also when they stand after the command, and in the ways out of problems
    assert "see why with `duebell --name B failures`" in duebell("doctor", "--name", "B").out
    # And no more than what was given
    assert "see why with `duebell failures`" in duebell("doctor").out


@pytest.mark.usefixtures("failed")
def test_a_question_names_the_scheduler_the_action_and_the_error(duebell: Duebell) -> None:
    err = duebell("retry", "--status", "failed", "--action", "charge it", "--error", "TimeoutError").err
    assert "duebell: 2 tasks (" in err
    for part in ("status failed", "action charge it", "error TimeoutError", "would be set to be retried"):
        assert part in err
