"""Errors are one line, or one JSON object; each kind has its exit status; none is a traceback."""

import itertools
import json
import logging
import re
import runpy
import shlex
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound
from fastapi.testclient import TestClient

from duebell import DuebellError, Editor
from duebell_editor.cli.context import Context
from duebell_editor.cli.errors import WrongUsage
from duebell_editor.cli.output import Output
from duebell_editor.cli.program import GROUPS, app
from duebell_editor.http import create_app
from duebell_infra.errors import DeployFailed
from duebell_shared import errors
from tests.cli.program import Duebell
from tests.support import NOON
from tests.transcript import compare


def caused_by(cause: Exception, error: Exception | None = None) -> Exception:
    error = error or DeployFailed("creating the stack")
    error.__cause__ = cause
    return error


NO = errors.AwsRefused("no")


def interrupted() -> typer.Abort:
    error = typer.Abort()
    error.__context__ = KeyboardInterrupt()
    return error


REPORT = errors.AddReport(added=("b", "a"), failures=(errors.AddFailure(index=2, id="c", error=NO),))

ERRORS = [
    errors.InvalidTask("due", "is missing"),
    errors.InvalidTask("payload.to", "is missing"),
    errors.InvalidSchedule("schedule", "is none"),
    errors.InvalidQuery("action", "is odd"),
    errors.InvalidSettings("table", "is empty"),
    errors.TaskNotFound("a"),
    errors.TaskNotFound("ü"),
    errors.TaskExists("a"),
    errors.TaskExists("a", reserved_until=NOON),
    errors.TaskConflict("cannot pause"),
    errors.TaskChanged("a", expected=1, rev=2),
    errors.QueueFull("a", 3),
    errors.UnreadableTask("a", "odd"),
    errors.NotArmed("stored, but no ring", way_out="call ensure_armed()"),
    errors.NotArmed("stored, but no ring", report=REPORT),
    errors.NotDeployed("no table"),
    errors.IndexNotReady("no index"),
    errors.TransactionCancelled((errors.ItemRefusal(index=0, code="Odd"),)),
    errors.WorkerNotStarted("none"),
    errors.AwsRefused("see `duebell doctor`"),
    errors.AwsUnavailable("away"),
    errors.TransactionUnknown("away"),
    errors.DuebellError("no"),
    caused_by(BotoCoreError()),
    caused_by(errors.TaskNotFound("a")),
    caused_by(ValueError()),
    caused_by(errors.NotDeployed("no rule"), errors.NotArmed("stored, but no ring", way_out="deploy")),
    WrongUsage("give --due"),
    ProfileNotFound(profile="nope"),
    BotoCoreError(),
    ClientError({"Error": {"Code": "Throttling", "Message": "slow\ndown"}}, "GetItem"),
    FileNotFoundError(2, "No such file", "x.json"),
    OSError(28, "No space left"),
    OSError("odd"),
    ZeroDivisionError("\x1b[2J by\nzero"),
    typer.Abort(),
    typer.BadParameter("odd"),
    typer.BadParameter("odd", param_hint="--due"),
    typer.Exit(9),
    interrupted(),
    KeyboardInterrupt(),
    SystemExit(9),
]


def of_a_list(error: DuebellError, duebell: Duebell, http: TestClient) -> str:
    """The command prints this if all tasks of a list fail with the error, or the second of two."""
    told, task = "", {"action": "x", "in": 60, "id": "t"}
    for added in ((), ("t",)):
        failure = errors.AddFailure(index=len(added), id="u", error=error)
        report = errors.AddReport(added=added, failures=(failure,))
        tasks = [task, {**task, "id": "u"}][: 1 + len(added)]
        with mock.patch.object(Editor, "add_many", return_value=report):
            answer = http.post("/api/tasks", json=tasks)
            status, out, err = duebell("add", "--from", "-", stdin="\n".join(map(json.dumps, tasks)))
        told += f"{answer.status_code} {answer.text}\n{status} {out}{err}"
    return told


def test_each_error_is_told_as_kept(duebell: Duebell, editor: Editor) -> None:
    http = TestClient(create_app(editor), base_url="http://127.0.0.1", raise_server_exceptions=False)
    now = ""
    for error in ERRORS:
        raising: Any = {"side_effect": error}
        with mock.patch.object(Context, "editor", **raising), mock.patch.object(Editor, "pause", **raising):
            told = duebell("--name", "shop", "add", "x", "--in", "1h")
            as_json = duebell("add", "x", "--due", "2026-12-31T00:00Z", "--json")
            answer = http.post("/api/tasks/a%2Fb/pause") if isinstance(error, Exception) else None
        assert (told.status, told.out) == (as_json.status, as_json.out)
        now += f"{type(error).__name__}: {told.status}\n{told.out}{told.err}{as_json.err}"
        if answer is not None:
            now += f"{answer.status_code} {answer.headers.get('retry-after', '-')} {answer.text}\n"
        now += of_a_list(error, duebell, http) if isinstance(error, DuebellError) else ""
    compare(Path(__file__).with_name("errors.txt"), now)


def test_an_error_nobody_foresaw_is_one_line_until_more_is_asked_for(duebell: Duebell) -> None:
    with mock.patch.object(Context, "editor", side_effect=ZeroDivisionError("by zero")):
        outcome = duebell("status")
        assert outcome == (1, "", "error: unexpected, ZeroDivisionError: by zero (--verbose shows where)\n")
        assert "Traceback" in duebell("status", "--verbose").err
    logging.getLogger("duebell").setLevel(logging.NOTSET)


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
def test_each_command_has_a_summary_of_one_line_and_valid_examples(duebell: Duebell, command: str) -> None:
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


def test_it_runs_as_a_module_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["duebell", "--version"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("duebell", run_name="__main__")
    assert capsys.readouterr().out.startswith("duebell ")
