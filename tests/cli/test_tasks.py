"""The commands about tasks and the scheduler, run as a program runs them, over the library on moto."""

import json
import re
import sys
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer
from fastapi.testclient import TestClient
from rich.console import Console

from duebell_editor import Editor, LateRing, SchedulerStatus
from duebell_editor.cli import app, run
from duebell_editor.cli.show import status_facts
from duebell_editor.http import create_app
from duebell_shared import errors
from duebell_shared.instants import render
from tests.cli.program import Duebell, fail, lines
from tests.support import NOON


def test_add_says_what_was_added(duebell: Duebell, editor: Editor) -> None:
    outcome = duebell("add", "put_on_sale", "--in", "3h", "--payload", '{"item": 42}', "--id", "sale-42")
    assert outcome == (0, "sale-42: scheduled, put_on_sale due 2026-11-21 15:00:00 UTC (in 3 h)\n", "")
    task = editor.get("sale-42")
    assert task.payload == {"item": 42}
    assert editor.status().rings_at == task.due


def test_add_gives_the_task_as_json_its_generated_id_among_it(duebell: Duebell, editor: Editor) -> None:
    outcome = duebell("add", "x", "--due", "2026-12-31T09:00", "--timezone", "Europe/Berlin", "--json")
    [task] = lines(outcome.out)
    assert str(uuid.UUID(task["id"])) == task["id"]
    assert task["due"] == "2026-12-31T08:00:00.000Z"
    assert render(editor.get(task["id"]).due) == task["due"]


def test_a_payload_comes_from_a_file_or_stdin(duebell: Duebell, editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('["ü", 12345678901234567890123]', encoding="utf-8")
    for id, option, name, stdin in (
        ("a", "--payload-file", str(file), ""),
        ("b", "--payload-file", "-", file.read_text(encoding="utf-8")),
        ("c", "--payload", "-", file.read_text(encoding="utf-8")),
    ):
        assert duebell("add", "x", "--in", "1h", "--id", id, option, name, stdin=stdin).status == 0
        assert editor.get(id).payload == ["ü", 12345678901234567890123]


def test_if_exists(duebell: Duebell, editor: Editor) -> None:
    add = ("add", "x", "--in", "1h", "--id", "a", "--payload")
    assert duebell(*add, "1").status == 0
    assert duebell(*add, "2", "--if-exists", "keep").status == 0
    assert editor.get("a").payload == 1
    assert duebell(*add, "3", "--if-exists", "replace").status == 0
    assert editor.get("a").payload == 3
    outcome = duebell(*add, "4")
    assert (outcome.status, outcome.out) == (4, "")
    assert outcome.err.startswith("error: a task 'a' exists already")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["add"], "give the ACTION to run, or --from FILE"),
        (["add", "x"], "give --due, a date and time, --in, a time from now, or --schedule"),
        (
            ["add", "x", "--due", "2026-12-31T09:00Z", "--in", "1h"],
            "give --due or --in, not both",
        ),
        (["add", "x", "--due", "2026-12-31T09:00"], "has no offset: end it with Z"),
        (["add", "x", "--due", "2026-12-31T09:00"], "--timezone Europe/Berlin"),
        (["add", "x", "--due", "soon"], "is not an ISO-8601 date and time"),
        (["add", "x", "--due", "9999-12-31T23:59-10:00"], "is not an ISO-8601 date and time"),
        (
            ["add", "x", "--due", "2026-12-31", "--timezone", "Berlin"],
            "--timezone: 'Berlin' is no IANA time zone; did you mean Europe/Berlin?",
        ),
        (
            ["add", "x", "--due", "2026-12-31", "--timezone", "../etc"],
            "--timezone: '../etc' is no IANA time zone",
        ),
        (["add", "x", "--due", "2026-12-31", "--timezone", ""], "--timezone: '' is no IANA time zone"),
        (["add", "x", "--in", "1h", "--timezone", "Europe/Berlin"], "--timezone goes with --due"),
        (["add", "x", "--in", "soon"], "is not a length of time"),
        (["add", "x", "--in", "1h", "--payload", "{"], "the payload is not JSON"),
        (["add", "x", "--in", "1h", "--payload", '{"a": 1, "a": 2}'], "the name 'a' is twice in one object"),
        (["add", "x", "--in", "1h", "--payload", "1", "--payload-file", "-"], "either --payload or"),
        (["add", "x", "--in", "1h", "--payload-file", "/no/such"], "cannot read /no/such: No such file"),
        (["add", "x", "--in", "1h", "--if-exists", "maybe"], "'maybe'"),
        (["list", "--status", "lost"], "'lost'"),
        (["list", "--limit", "many"], "invalid value for '--limit'"),
        (["list", "--after", "2026-12-31T09:00"], "--after 2026-12-31T09:00 has no offset"),
        (["move", "a"], "give --due, a date and time, or --in, a time from now\n"),
        (["list", "--all", "--limit", "5"], "--all or --limit, not both"),
        (["list", "--after", "2026-12-31T09:00Z", "--before", "2026-12-30T09:00Z"], "--after is later than"),
        (["show"], "missing argument 'ID'; see `duebell show --help`"),
        (["polish"], "no such command 'polish'"),
        # What the library refuses is wrong input as well, and is called what the command line calls it.
        (["add", "", "--in", "1h"], "ACTION: must be 1 to 256 characters"),
        (["add", "x", "--in", "9999w"], "--in: "),
        (["add", "x", "--due", "2200-01-01T00:00Z"], "2199"),
        (["add", "x", "--in", "1h", "--max-runs", "3"], "--max-runs: goes with a schedule"),
        (["add", "x", "--in", "1h", "--payload", "NaN"], "--payload: "),
        (["add", "x", "--schedule", "at(2020-01-01T09:00:00)"], "give a time to come, or a due date"),
        (["add", "x", "--schedule", "rate(1 hour)", "--expires-after", "1h"], "there, --missed skip passes"),
        (["show", "a\nb\x1b[2J"], r"'a\nb\x1b[2J'"),
        (["update", "a"], "nothing is given to change"),
        (["preview", "cron(0 9 * * *)"], "EXPRESSION: cron(…) needs six fields"),
        (["list", "--limit", "0"], "--limit: must be 1 to 1000"),
        (["list", "--cursor", "nonsense"], "--cursor: "),
        (["cancel", "a", "--action", "x"], "give ids or a filter, not both"),
        (["cancel"], "give an ID, several"),
    ],
)
def test_wrong_usage_is_explained_and_exits_with_2(
    duebell: Duebell, editor: Editor, arguments: list[str], reason: str
) -> None:
    outcome = duebell(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert reason in outcome.err
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert outcome.err[:-1].isprintable()
    assert editor.list().tasks == ()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["show", "no/such"], "there is no task 'no/such'"),
        (["cancel", "nothing"], "there is no task 'nothing'"),
        (["pause", "nothing"], "there is no task 'nothing'"),
        (["resume", "nothing"], "there is no task 'nothing'"),
        (["retry", "nothing"], "there is no task 'nothing'"),
        (["move", "nothing", "--in", "1h"], "there is no task 'nothing'"),
    ],
)
def test_what_is_not_there_is_told_in_one_line_and_exits_with_3(
    duebell: Duebell, arguments: list[str], reason: str
) -> None:
    status, out, err = duebell(*arguments)
    assert (status, out) == (3, "")
    assert err.startswith("error: ")
    assert reason in err
    assert err.count("\n") == 1
    assert err[:-1].isprintable()


def test_list_is_a_line_with_tabs_for_each_task_when_nobody_looks(duebell: Duebell, editor: Editor) -> None:
    # Given tasks with odd ids, one that recurs and one that failed
    duebell("add", "b", "--in", "2h", "--id", "[bold red]second[/]")
    duebell("add", "a", "--in", "1h", "--id", "first")
    duebell("add", "a", "--schedule", "rate(3 hours)", "--id", "third " + "x" * 240)
    # When they are listed
    status, out, err = duebell("list")
    # Then each is a line of fields, nothing cut, nothing padded, and no heading
    assert (status, err) == (0, "")
    first, second, third = (line.split("\t") for line in out.splitlines())
    due = "2026-11-21T13:00:00.000Z"
    assert first == ["first", "scheduled", "a", due, due, "0", "", "", ""]
    assert second[0] == "[bold red]second[/]"
    assert (third[0], third[7]) == ("third " + "x" * 240, "rate(3 hours)")
    # And a failure is told in its line, however many lines it had
    fail(editor, "first")
    [failed] = duebell("list", "--status", "failed").out.splitlines()
    assert failed.split("\t")[5:] == ["1", due, "", r"ValueError: \x1b[2Jgone [red]"]
    assert "\x1b" not in out + failed


def test_an_empty_list_says_so(duebell: Duebell) -> None:
    assert duebell("list") == (0, "", "no tasks\n")
    assert duebell("list", "--json") == (0, "", "")


def test_list_filters_and_goes_on(duebell: Duebell) -> None:
    for hours, action in ((1, "a"), (2, "b"), (3, "a")):
        duebell("add", action, "--in", f"{hours}h", "--id", f"t{hours}")
    duebell("cancel", "t2")

    def ids(*arguments: str) -> list[str]:
        return [task["id"] for task in lines(duebell("list", "--json", *arguments).out)]

    assert ids() == ["t1", "t3"]
    assert ids("--status", "cancelled", "--status", "scheduled") == ["t2", "t1", "t3"]
    assert ids("--latest-first") == ["t3", "t1"]
    assert ids("--action", "a", "--after", "2026-11-21T14:00Z") == ["t3"]
    assert ids("--before", "2026-11-21T14:00", "--timezone", "Europe/Berlin") == ["t1"]
    first = duebell("list", "--json", "--limit", "1")
    assert ids("--cursor", json.loads(first.err)["cursor"]) == ["t3"]
    first = duebell("list", "--limit", "1")
    assert first.err.startswith("there is more: repeat with --cursor ")
    assert ids("--cursor", first.err.split()[-1]) == ["t3"]
    assert [line.split("\t")[0] for line in duebell("list", "--all").out.splitlines()] == ["t1", "t3"]


def test_json_is_the_same_here_and_over_http(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a", "--payload", '{"n": [1e22, 12345678901234567890123, "ü"]}')
    duebell("add", "x", "--schedule", "rate(1 hour)", "--id", "b")
    fail(editor, "a")
    client = TestClient(create_app(editor), base_url="http://localhost")
    for task_id in ("a", "b"):
        assert lines(duebell("show", task_id, "--json").out) == [client.get(f"/api/tasks/{task_id}").json()]
    assert lines(duebell("status", "--json").out) == [client.get("/api/status").json()]


def test_show_tells_all_there_is_to_know(duebell: Duebell, editor: Editor) -> None:
    duebell(
        "add", "x", "--in", "1h", "--id", "a [bold]", "--payload", '{"text": "\\u001b[31m \\u202e ü [red]"}'
    )
    fail(editor, "a [bold]")
    status, out, _ = duebell("show", "a [bold]")
    facts = dict(line.split(maxsplit=1) for line in out.splitlines() if line[:1].strip())
    assert status == 0
    assert facts["id"].strip() == "a [bold]"
    assert facts["status"].strip() == "failed"
    assert facts["due"].strip() == "2026-11-21 13:00:00 UTC (in 1 h)"
    assert facts["lateness"].strip() == "0.000 s"
    assert facts["failure"].strip() == r"ValueError: \x1b[2Jgone [red]"
    assert r'"text": "\u001b[31m \u202e ü [red]"' in out
    assert "line 2" in out
    told = ["1", *["2026-11-21 13:00:00 UTC"] * 3, r"ValueError: \x1b[2Jgone [red]"]
    assert re.split(r"  +", out.splitlines()[-1].strip()) == told
    assert "\x1b" not in out


def test_a_task_is_moved_paused_resumed_retried_and_cancelled(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a")
    assert duebell("move", "a", "--in", "2h").out.endswith("due 2026-11-21 14:00:00 UTC (in 2 h)\n")
    assert duebell("move", "a", "--due", "2026-11-21T16:00+01:00").out.endswith("15:00:00 UTC (in 3 h)\n")
    assert duebell("pause", "a").out.startswith("a: paused, x due ")
    assert duebell("pause", "a").err.startswith("error: cannot pause task 'a': it is paused")
    assert lines(duebell("resume", "a", "--json").out)[0]["status"] == "scheduled"
    fail(editor, "a")
    assert duebell("retry", "a").out.startswith("a: scheduled, ")
    assert duebell("cancel", "a").out.startswith("a: cancelled, ")
    assert duebell("cancel", "a").status == 4


def test_ids_that_begin_with_a_dash_follow_two(duebell: Duebell) -> None:
    duebell("add", "x", "--in", "1h", "--id", "-rf")
    assert "-rf" in duebell("show", "--", "-rf").out


def test_status_exits_with_0_when_all_is_well(duebell: Duebell) -> None:
    duebell("add", "x", "--in", "1h")
    status, out, err = duebell("status")
    assert (status, err) == (0, "")
    assert "healthy" in out
    assert "cron(0,4,12,27 13-23" in out


def test_status_says_that_the_rule_is_parked_while_nothing_is_due(duebell: Duebell) -> None:
    def rings() -> str:
        rows = [line.split(maxsplit=1) for line in duebell("status").out.splitlines()]
        return next(row[1].strip() for row in rows if row[0] == "rings")

    assert rings() == "parked"
    duebell("add", "x", "--in", "1h")
    assert rings() == "2026-11-21 13:00:00 UTC (in 1 h)"


def test_status_exits_with_6_when_something_is_wrong(duebell: Duebell, events: Any) -> None:
    duebell("add", "x", "--in", "1h")
    events.disable_rule(Name="duebell")
    status, out, _ = duebell("status")
    assert status == 6
    assert "needs attention" in out
    assert "problem 1" in out
    assert "disabled" in out
    outcome = duebell("status", "--json")
    assert outcome.status == 6
    assert lines(outcome.out)[0]["healthy"] is False


def test_a_task_that_could_not_be_armed_is_named(duebell: Duebell, editor: Editor) -> None:
    refusal = errors.AwsRefused("not allowed\nto PutRule")
    with mock.patch.object(editor._backend.rule, "ring_at", side_effect=refusal):
        status, out, err = duebell("add", "x", "--in", "1h", "--id", "a")
    assert (status, out) == (5, "")
    assert "'a' is stored, but" in err
    assert "`duebell doctor --fix` sets it right" in err
    assert err.count("\n") == 1


def test_the_editor_is_served_on_a_port(duebell: Duebell, editor: Editor) -> None:
    with mock.patch("duebell_editor.http.serve") as serve:
        serve.side_effect = lambda _, *, port, started, **__: started(f"http://127.0.0.1:{port}/")
        outcome = duebell("editor", "--port", "8200")
    assert serve.call_args.args == (editor,)
    given = {name: value for name, value in serve.call_args.kwargs.items() if name not in {"port", "started"}}
    assert given == {
        "host": "127.0.0.1",
        "token": None,
        "allowed_hosts": (),
        "read_only": False,
        "identity_header": None,
    }
    assert outcome == (0, "duebell is at http://127.0.0.1:8200/ (Ctrl-C ends it)\n", "")


def test_the_editor_takes_its_token_from_the_environment(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUEBELL_EDITOR_TOKEN", "0123456789abcdef")
    with mock.patch("duebell_editor.http.serve") as serve:
        serve.side_effect = lambda _, *, started, **__: started("http://10.0.0.7:8125/")
        hosts = ("--allowed-host", "duebell.example.org", "--allowed-host", "other")
        outcome = duebell("editor", "--host", "10.0.0.7", *hosts)
    given = {name: serve.call_args.kwargs[name] for name in ("host", "token", "allowed_hosts")}
    assert given == {
        "host": "10.0.0.7",
        "token": "0123456789abcdef",
        "allowed_hosts": ["duebell.example.org", "other"],
    }
    assert "asks for the token" in outcome.out
    assert "0123456789abcdef" not in outcome.out


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.7", "::"])
def test_an_address_that_others_reach_takes_a_token(duebell: Duebell, host: str) -> None:
    status, out, err = duebell("editor", "--host", host)
    assert (status, out) == (2, "")
    assert f"host: {host} can be reached from other machines, and that takes a token" in err
    assert "DUEBELL_EDITOR_TOKEN" in err


def test_a_list_can_be_of_ids_with_one_beginning_and_of_the_latest(duebell: Duebell, editor: Editor) -> None:
    for id in ("a-1", "a-2", "b-1"):
        duebell("add", "x", "--in", "1h", "--id", id)
    assert [task["id"] for task in lines(duebell("list", "--prefix", "a-", "--json").out)] == ["a-1", "a-2"]
    for id in ("b-1", "a-1"):
        duebell("cancel", id)
    listed = duebell("list", "--status", "cancelled", "--latest-first", "--limit", "1", "--json")
    assert [task["id"] for task in lines(listed.out)] == ["b-1"]  # of one moment, the last id first
    assert list(json.loads(listed.err)) == ["cursor"]


def test_an_id_that_is_taken_is_told_with_the_options_there_are(duebell: Duebell) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a")
    status, _, err = duebell("add", "x", "--in", "1h", "--id", "a")
    assert status == 4
    assert "--if-exists keep" in err
    assert duebell("add", "x", "--in", "2h", "--id", "a", "--if-exists", "keep").status == 0


def test_without_fastapi_the_editor_says_what_to_install(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("duebell_editor.http")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    status, _, err = duebell("editor")
    assert status == 1
    assert (
        err == "error: the HTTP editor needs fastapi, which is not installed: pip install 'duebell[http]'\n"
    )


def test_settings_that_are_wrong_are_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DUEBELL_LANES", "many")
    monkeypatch.setattr(sys, "argv", ["duebell", "list"])
    with pytest.raises(SystemExit, match="2"):
        run(app)
    assert capsys.readouterr().err == "error: DUEBELL_LANES: must be a whole number, not 'many'\n"


def test_an_interrupt_exits_with_130(duebell: Duebell, editor: Editor) -> None:
    with mock.patch.object(editor.queue, "lanes_now", side_effect=KeyboardInterrupt):
        assert duebell("list").status == 130


def test_other_apps_are_run_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = typer.Typer()

    @other.command()
    def refuse() -> None:
        raise errors.NotDeployed("no table")

    monkeypatch.setattr(sys, "argv", ["other"])
    with pytest.raises(SystemExit, match="5"):
        run(other)
    assert capsys.readouterr() == ("", "error: no table\n")


@pytest.mark.parametrize(("days", "is_told"), [(6, True), (8, False)])
def test_status_tells_of_a_ring_that_was_lost_for_a_week(days: int, is_told: bool) -> None:
    came_at = NOON - timedelta(days=days)
    ring = LateRing(minute=came_at - timedelta(minutes=4), came_at=came_at)
    console = Console(width=200)
    with console.capture() as said:
        console.print(status_facts(SchedulerStatus(table="t", rule="r", late_ring=ring), NOON))
    assert ("late ring" in said.get()) is is_told
    assert ("a run came at" in said.get()) is is_told
