"""`duebell failures`, and filters by error and text."""

import json
import shlex
from datetime import timedelta

import pytest

from duebell import Editor, Failure
from duebell_shared.backend import Backend
from duebell_shared.tasks.status import RetentionPolicy
from tests.cli.program import Duebell
from tests.support import NOON

KEEP = RetentionPolicy(retention=timedelta(days=14))


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
        assert backend.store.save(task, task.failed(failure, now=NOON, keep=KEEP))


@pytest.mark.usefixtures("failed")
def test_groups_come_with_the_commands_that_run_them_again(duebell: Duebell, editor: Editor) -> None:
    status, out, err = duebell("failures")
    assert (status, err) == (0, "")
    said = [line.strip() for line in out.splitlines()]
    assert said[0] == "3 tasks of charge it: TimeoutError"
    assert said[1] == "the bank did not answer"
    # Then the commands do it, as they are printed
    retry, run_now = (shlex.split(line)[1:] for line in said if line.startswith("duebell "))
    assert duebell(*retry, "--yes").out == "2 tasks set to be retried now, 0 failed\n"
    assert duebell(*run_now).status == 0
    assert editor.get("t 1").failure is None
    assert [group.failed for group in editor.failures().groups] == [0]


@pytest.mark.usefixtures("failed")
def test_programs_get_json(duebell: Duebell) -> None:
    found = json.loads(duebell("failures", "--json").out)
    assert (found["groups"][0]["failed"], found["groups"][0]["failing"]) == (2, ["hourly"])
    assert found["is_all"] is True


@pytest.mark.usefixtures("failed")
def test_printed_commands_reach_the_scheduler_that_was_named(duebell: Duebell) -> None:
    chosen = ["--name", "B", "--region", "eu-north-1", "--profile", "a b"]
    out = duebell(*chosen, "failures").out
    assert "duebell --name B --region eu-north-1 --profile 'a b' retry --status failed" in out
    assert "duebell --name B --region eu-north-1 --profile 'a b' run-now hourly" in out
    # Also when they stand after the command, and in the ways out of problems
    assert "see them with `duebell --name B list --status failed`" in duebell("doctor", "--name", "B").out
    # And no more than what was given
    assert "see them with `duebell list --status failed`" in duebell("doctor").out


@pytest.mark.usefixtures("failed")
def test_a_question_names_the_scheduler_the_action_and_the_error(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUEBELL_LABEL", "production")
    err = duebell("retry", "--status", "failed", "--action", "charge it", "--error", "TimeoutError").err
    assert "duebell (production): 2 tasks (" in err
    for part in ("status failed", "action charge it", "error TimeoutError", "would be set to be retried"):
        assert part in err
