"""Errors are one line, or one JSON object; each kind has its exit status; none is a traceback."""

import itertools
import json
import logging
import re
import shlex
from typing import Any
from unittest import mock

import pytest
import typer
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound

from duebell import Editor
from duebell_editor.cli.context import Context
from duebell_editor.cli.errors import exit_of
from duebell_editor.cli.output import Output
from duebell_editor.cli.program import GROUPS, app
from duebell_infra.errors import DeployFailed
from duebell_shared import errors
from tests.cli.program import Duebell


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (errors.InvalidTask("due", "is missing"), 2, "invalid-task"),
        (ProfileNotFound(profile="nope"), 2, "aws-error"),
        (errors.TaskNotFound("a"), 3, "task-not-found"),
        (errors.TaskExists("a"), 4, "task-exists"),
        (errors.TaskChanged("a", expected=1, rev=2), 4, "task-changed"),
        (errors.AwsUnavailable("away"), 5, "aws-unavailable"),
        (errors.QueueFull("a", 3), 5, "queue-full"),
        (errors.WorkerNotStarted("none"), 6, "worker-not-started"),
        (ClientError({"Error": {"Code": "Throttling"}}, "GetItem"), 5, "aws-error"),
        (errors.UnreadableTask("a", "odd"), 1, "unreadable-task"),
        (ZeroDivisionError(), 1, "unexpected"),
    ],
)
def test_each_kind_of_error_has_its_status_and_its_type(
    duebell: Duebell, error: Exception, status: int, kind: str
) -> None:
    with mock.patch.object(Context, "editor", side_effect=error):
        outcome, as_json = duebell("status"), duebell("status", "--json")
    assert (outcome.status, outcome.out) == (status, "")
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err
    assert json.loads(as_json.err)["error"]["type"] == kind


def test_errors_of_a_deployment_have_the_exit_status_of_aws() -> None:
    failed = DeployFailed("creating the stack")
    failed.__cause__ = BotoCoreError()
    assert exit_of(failed) == 5


def test_an_error_nobody_foresaw_is_one_line_until_more_is_asked_for(duebell: Duebell) -> None:
    with mock.patch.object(Context, "editor", side_effect=ZeroDivisionError("by zero")):
        outcome = duebell("status")
        assert outcome == (1, "", "error: unexpected, ZeroDivisionError: by zero (--verbose shows where)\n")
        assert "Traceback" in duebell("status", "--verbose").err
    logging.getLogger("duebell").setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("show", "nope"), {"type": "task-not-found", "id": "nope"}),
        (("add", "x", "--in", "soon"), {"type": "usage"}),
        (("list", "--cursor", "?"), {"type": "invalid-query", "field": "cursor"}),
    ],
)
def test_with_json_an_error_is_one_object(
    duebell: Duebell, arguments: tuple[str, ...], expected: dict[str, str]
) -> None:
    _, out, err = duebell(*arguments, "--json")
    document = json.loads(err)
    detail = document["error"].pop("detail")
    assert (out, document) == ("", {"error": expected})
    assert detail in duebell(*arguments).err


def test_help_says_the_statuses_and_the_version_can_be_asked_for(duebell: Duebell) -> None:
    out = duebell("-h").out
    assert "3    there is no such task" in out
    assert all(f"  {command} " in out for command in PROGRAM.list_commands(None))
    assert duebell("--version").out.startswith("duebell")
    outcome = duebell()
    assert (outcome.status, outcome.out) == (2, "")
    assert "Operate:" in outcome.err


PROGRAM: Any = typer.main.get_command(app)
NAMES = PROGRAM.list_commands(None)


@pytest.mark.parametrize("command", NAMES)
def test_each_command_has_a_summary_of_one_line_and_examples_that_it_takes(
    duebell: Duebell, command: str
) -> None:
    # Given the help of a command
    status, out, _ = duebell(command, "-h")
    assert status == 0
    assert "--region" in out or command in {"bundle", "template"}
    # Then it begins with the summary that the list of commands has
    summary = next(row[command][1] for row in GROUPS.values() if command in row)
    assert len(summary) <= 60
    assert summary in out
    # And its examples are calls that the program takes
    examples = re.findall(r"^ +duebell (.+)$", out.partition("Example")[2], re.MULTILINE)
    assert any(command in one.split() for one in examples)
    for call in itertools.chain(*(one.split(" | duebell ") for one in examples)):
        words = shlex.split(re.split(" [>|] ", call)[0])
        root = PROGRAM.make_context("duebell", words, obj=Output())
        name, *arguments = list(root._protected_args) + list(root.args)
        PROGRAM.get_command(root, name).make_context(name, arguments, parent=root)


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["lits"], "'list'"), (["explain"], "'why'"), (["list", "--failed"], "--status failed")],
)
def test_a_wrong_word_is_answered_with_the_one_that_was_meant(
    words: list[str], meant: str, duebell: Duebell
) -> None:
    status, out, err = duebell(*words)
    assert (status, out) == (2, "")
    assert meant in err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["add", "x", "--in", "1h", "--payload-file", "/no/such"], "/no/such: No such file"),
        # Errors of the library about its input name the option or argument.
        (["add", "", "--in", "1h"], "ACTION: must be 1 to 256 characters"),
        (["add", "x", "--in", "1h", "--payload", "NaN"], "--payload: "),
        (["add", "x", "--in", "1h", "--payload", '{"a": 1, "a": 2}'], "is not JSON: the name 'a'"),
        (["show", "a\nb\x1b[2J"], r"'a\nb\x1b[2J'"),
        (["preview", "cron(0 9 * * *)"], "EXPRESSION: cron(…) needs six fields"),
    ],
)
def test_wrong_usage_is_explained_and_exits_with_2(
    duebell: Duebell, editor: Editor, arguments: list[str], reason: str
) -> None:
    status, out, err = duebell(*arguments)
    assert (status, out, err[-1]) == (2, "", "\n")
    assert err.startswith("error: ")
    assert reason in err
    assert err[:-1].isprintable()
    assert editor.list().tasks == ()
