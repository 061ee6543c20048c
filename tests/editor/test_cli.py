"""The commands, run as a program runs them, over the library on moto."""

import io
import json
import os
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from unittest import mock

import pytest
import typer
from fastapi.testclient import TestClient

from duebell_editor import Editor, Status
from duebell_editor.cli import app, commands, moving, run, watching
from duebell_editor.http import create_app
from duebell_shared import errors
from duebell_shared.instants import render
from duebell_shared.task import Failure, QueueKey
from tests.support import Clock


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


class Duebell(Protocol):
    def __call__(self, *arguments: str, stdin: str = "") -> Outcome: ...


@pytest.fixture
def duebell(
    editor: Editor, clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Duebell]:
    """The program `duebell`: arguments in; exit status, stdout and stderr out."""
    monkeypatch.setattr(commands, "_editor", lambda: editor)
    monkeypatch.setattr(commands, "utc_now", clock)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()

    def run_it(*arguments: str, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["duebell", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as raised:
            run(app)
        assert isinstance(raised.value.code, int)
        return Outcome(raised.value.code, *capsys.readouterr())

    yield run_it
    monkeypatch.undo()
    time.tzset()


def lines(text: str) -> list[Any]:
    """The JSON documents of an output, one to a line."""
    return [json.loads(line) for line in text.splitlines()]


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
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("error: a task 'a' exists already")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["add"], "give the ACTION to run, or --from FILE"),
        (["add", "x"], "give either --due"),
        (["add", "x", "--due", "2026-12-31T09:00Z", "--in", "1h"], "give either --due"),
        (["add", "x", "--due", "2026-12-31T09:00"], "has no offset: end it with Z"),
        (["add", "x", "--due", "2026-12-31T09:00"], "--timezone Europe/Berlin"),
        (["add", "x", "--due", "soon"], "is not an ISO-8601 date and time"),
        (["add", "x", "--due", "9999-12-31T23:59-10:00"], "is not an ISO-8601 date and time"),
        (["add", "x", "--due", "2026-12-31", "--timezone", "Berlin"], "there is no time zone 'Berlin'"),
        (["add", "x", "--due", "2026-12-31", "--timezone", "../etc"], "there is no time zone '../etc'"),
        (["add", "x", "--due", "2026-12-31", "--timezone", ""], "there is no time zone ''"),
        (["add", "x", "--in", "1h", "--timezone", "Europe/Berlin"], "--timezone goes with --due"),
        (["add", "x", "--in", "soon"], "is not a length of time"),
        (["add", "x", "--in", "1h", "--payload", "{"], "the payload is not JSON"),
        (["add", "x", "--in", "1h", "--payload", "1", "--payload-file", "-"], "either --payload or"),
        (["add", "x", "--in", "1h", "--payload-file", "/no/such"], "cannot read /no/such: No such file"),
        (["add", "x", "--in", "1h", "--if-exists", "maybe"], "'maybe'"),
        (["list", "--status", "lost"], "'lost'"),
        (["list", "--limit", "many"], "Invalid value for '--limit'"),
        (["list", "--after", "2026-12-31T09:00"], "--after 2026-12-31T09:00 has no offset"),
        (["move", "a"], "give either --due"),
        (["show"], "give the ACTION to run, or --from FILE"),
        (["polish"], "No such command 'polish'"),
    ],
)
def test_wrong_usage_is_explained_and_exits_with_2(
    duebell: Duebell, editor: Editor, arguments: list[str], reason: str
) -> None:
    outcome = duebell(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert reason in outcome.err
    assert outcome.err.startswith("Usage: ")
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
        (["show", "a\nb\x1b[2J"], r"'a\nb\x1b[2J'"),
        (["add", "", "--in", "1h"], "action: must be 1 to 256 characters"),
        (["add", "x", "--in", "9999w"], "due: "),
        (["add", "x", "--due", "2200-01-01T00:00Z"], "2199"),
        (["add", "x", "--in", "1h", "--payload", "NaN"], "payload: "),
        (["list", "--limit", "0"], "limit: must be 1 to 1000"),
        (["list", "--cursor", "nonsense"], "cursor: "),
    ],
)
def test_an_error_is_one_line_and_exits_with_1(duebell: Duebell, arguments: list[str], reason: str) -> None:
    status, out, err = duebell(*arguments)
    assert (status, out) == (1, "")
    assert err.startswith("error: ")
    assert reason in err
    assert err.count("\n") == 1
    assert err[:-1].isprintable()


def test_list_shows_the_queue_as_a_table(duebell: Duebell) -> None:
    duebell("add", "b", "--in", "2h", "--id", "[bold red]second[/]")
    duebell("add", "a", "--in", "1h", "--id", "first")
    duebell("add", "a", "--in", "3h", "--id", "third " + "x" * 240)
    status, out, err = duebell("list")
    assert (status, err) == (0, "")
    _, _, _, first, second, third, *_ = [line.split() for line in out.splitlines()]
    assert first == ["2026-11-21", "13:00:00", "UTC", "in", "1", "h", "first", "a", "scheduled"]
    assert second[6:8] == ["[bold", "red]second[/]"]
    assert third[7] == "x" * 240  # not cut, not wrapped: nobody looks at it
    assert "\x1b" not in out


def test_an_empty_list_says_so(duebell: Duebell) -> None:
    assert duebell("list") == (0, "no tasks\n", "")
    assert duebell("list", "--json") == (0, "", "")


def test_list_filters_and_goes_on(duebell: Duebell) -> None:
    for hours, action in ((1, "a"), (2, "b"), (3, "a")):
        duebell("add", action, "--in", f"{hours}h", "--id", f"t{hours}")
    duebell("cancel", "t2")

    def ids(*arguments: str) -> list[str]:
        return [task["id"] for task in lines(duebell("list", "--json", *arguments).out)]

    assert ids() == ["t1", "t3"]
    assert ids("--status", "cancelled", "--status", "scheduled") == ["t1", "t2", "t3"]
    assert ids("--action", "a", "--after", "2026-11-21T14:00Z") == ["t3"]
    assert ids("--before", "2026-11-21T14:00", "--timezone", "Europe/Berlin") == ["t1"]
    first = duebell("list", "--json", "--limit", "1")
    assert first.err.startswith("there is more: repeat with --cursor ")
    assert ids("--cursor", first.err.split()[-1]) == ["t3"]


def test_json_is_the_same_here_and_over_http(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a", "--payload", '{"n": [1e22, 12345678901234567890123, "ü"]}')
    fail(editor, "a")
    client = TestClient(create_app(editor), base_url="http://localhost")
    assert lines(duebell("show", "a", "--json").out) == [client.get("/api/tasks/a").json()]
    assert lines(duebell("status", "--json").out) == [client.get("/api/status").json()]


def fail(editor: Editor, id: str) -> None:
    """Let the task fail as a run would, with an error that plays tricks on terminals."""
    task = editor.get(id)
    assert task.queued
    claimed = editor._store.claim(
        QueueKey(task.queued, id, task.lane), run="r1", now=task.queued, status=Status.SCHEDULED
    )
    assert claimed
    failure = Failure(type="ValueError", message="\x1b[2Jgone [red]", traceback="line 1\nline 2\n")
    retention = editor._backend.settings.retention
    assert editor._store.save(claimed, claimed.failed(failure, now=task.queued, retention=retention))


def test_show_tells_all_there_is_to_know(duebell: Duebell, editor: Editor) -> None:
    duebell(
        "add", "x", "--in", "1h", "--id", "a [bold]", "--payload", '{"text": "\\u001b[31m \\u202e ü [red]"}'
    )
    fail(editor, "a [bold]")
    status, out, _ = duebell("show", "a [bold]")
    facts = dict(line.split(maxsplit=1) for line in out.splitlines() if not line.startswith(" "))
    assert status == 0
    assert facts["id"].strip() == "a [bold]"
    assert facts["status"].strip() == "failed"
    assert facts["due"].strip() == "2026-11-21 13:00:00 UTC (in 1 h)"
    assert facts["lateness"].strip() == "0.000 s"
    assert facts["failure"].strip() == r"ValueError: \x1b[2Jgone [red]"
    assert r'"text": "\u001b[31m \u202e ü [red]"' in out
    assert "line 2" in out
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
    assert duebell("cancel", "a").status == 1


def test_ids_that_begin_with_a_dash_follow_two(duebell: Duebell) -> None:
    duebell("add", "x", "--in", "1h", "--id", "-rf")
    assert "-rf" in duebell("show", "--", "-rf").out


def test_status_exits_with_0_when_all_is_well(duebell: Duebell) -> None:
    duebell("add", "x", "--in", "1h")
    status, out, err = duebell("status")
    assert (status, err) == (0, "")
    assert "healthy" in out
    assert "cron(0 13 21 11 ? 2026)" in out


def test_status_exits_with_1_when_something_is_wrong(duebell: Duebell, events: Any) -> None:
    duebell("add", "x", "--in", "1h")
    events.disable_rule(Name="duebell")
    status, out, _ = duebell("status")
    assert status == 1
    assert "needs attention" in out
    assert "problem 1" in out
    assert "disabled" in out
    outcome = duebell("status", "--json")
    assert outcome.status == 1
    assert lines(outcome.out)[0]["healthy"] is False


def test_a_task_that_could_not_be_armed_is_named(duebell: Duebell, editor: Editor) -> None:
    refusal = errors.AwsRefused("not allowed\nto PutRule")
    with mock.patch.object(editor._backend.rule, "ring_at", side_effect=refusal):
        status, out, err = duebell("add", "x", "--in", "1h", "--id", "a")
    assert (status, out) == (1, "")
    assert "'a' is stored, but" in err
    assert err.count("\n") == 1


def test_the_editor_is_served_on_a_port(duebell: Duebell, editor: Editor) -> None:
    with mock.patch("duebell_editor.http.serve") as serve:
        serve.side_effect = lambda _, *, port, started: started(f"http://127.0.0.1:{port}/")
        outcome = duebell("editor", "--port", "8200")
    assert serve.call_args.args == (editor,)
    assert outcome == (0, "duebell is at http://127.0.0.1:8200/ (Ctrl-C ends it)\n", "")


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
    with pytest.raises(SystemExit, match="1"):
        run(app)
    assert capsys.readouterr().err == "error: DUEBELL_LANES: must be a whole number, not 'many'\n"


def test_an_interrupt_exits_with_130(duebell: Duebell, editor: Editor) -> None:
    with mock.patch.object(editor, "list", side_effect=KeyboardInterrupt):
        assert duebell("list").status == 130


def test_other_apps_are_run_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = typer.Typer()

    @other.command()
    def refuse() -> None:
        raise errors.NotDeployed("no table")

    monkeypatch.setattr(sys, "argv", ["other"])
    with pytest.raises(SystemExit, match="1"):
        run(other)
    assert capsys.readouterr() == ("", "error: no table\n")


def test_a_recurring_task(duebell: Duebell) -> None:
    expression = "cron(0 9 ? * MON-FRI *)"
    arguments = ("--timezone", "Europe/Berlin", "--missed", "skip", "--max-runs", "5", "--spread", "90s")
    status, out, err = duebell("add", "report", "--schedule", expression, *arguments, "--id", "r")
    assert (status, err) == (0, "")
    assert "report due 2026-11-23 08:00" in out
    [shown] = lines(duebell("show", "r", "--json").out)
    assert shown["spread"] == 90
    assert shown["recurrence"]["missed"] == "skip"
    assert shown["recurrence"]["schedule"]["timezone"] == "Europe/Berlin"
    assert shown["recurrence"]["next_due"] == "2026-11-24T08:00:00.000Z"
    text = duebell("show", "r").out
    assert "every weekday at 09:00, Europe/Berlin" in text
    assert "0 of 5" in text
    assert "scheduled" in duebell("run-now", "r").out


def test_occurrences_are_shown(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "report", "--schedule", "rate(1 hour)", "--id", "r")
    fail(editor, "r")
    text = duebell("show", "r").out
    assert "1, the last 1 failed" in text
    assert "ValueError: " in text
    assert "2026-11-21 13:00" in text


def test_a_schedule_and_a_due_date_do_not_go_together(duebell: Duebell) -> None:
    status, _, err = duebell("add", "report", "--schedule", "rate(1 hour)", "--in", "1h")
    assert status == 2
    assert "give --schedule, or --due or --in, not both" in err


def test_preview(duebell: Duebell) -> None:
    arguments = (
        "cron(30 2 * * ? *)",
        "--timezone",
        "Europe/Berlin",
        "--start",
        "2027-03-27T12:00",
        "--count",
        "2",
    )
    status, out, _ = duebell("preview", *arguments)
    assert status == 0
    assert "every day at 02:30, Europe/Berlin" in out
    assert "Sun 2027-03-28 03:00:00 +0200" in out
    [document] = lines(duebell("preview", *arguments, "--json").out)
    assert document["occurrences"] == ["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"]


def test_a_preview_of_what_is_no_schedule(duebell: Duebell) -> None:
    status, out, err = duebell("preview", "cron(0 9 * * *)")
    assert (status, out) == (1, "")
    assert "cron(…) needs six fields" in err


@pytest.fixture
def queue(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands about a whole queue, over the same queue as the others."""
    monkeypatch.setattr(moving, "_backend", lambda: editor._backend)


@pytest.mark.usefixtures("queue")
def test_a_queue_comes_out_and_goes_in_again(duebell: Duebell, tmp_path: Path) -> None:
    duebell("add", "x", "--in", "1h", "--id", "ü", "--payload", '{"n": 12345678901234567890123}')
    duebell("add", "x", "--schedule", "rate(1 hour)", "--id", "r")
    status, out, _ = duebell("export")
    assert (status, sorted(line["id"] for line in lines(out))) == (0, ["r", "ü"])
    file = tmp_path / "queue.jsonl"
    file.write_text(out, encoding="utf-8")
    assert duebell("import", str(file)).out == "0 written, 2 there already, 0 failed\n"
    status, _, err = duebell("import", str(tmp_path / "missing"))
    assert (status, "cannot read" in err) == (2, True)
    file.write_text(out + "oops\n", encoding="utf-8")
    status, _, err = duebell("import", str(file))
    assert status == 1
    assert "line 3: is no task that was exported" in err


@pytest.mark.usefixtures("queue")
def test_more_lanes(duebell: Duebell) -> None:
    assert duebell("relane", "9").out.startswith("9 lanes; restart the editors")
    duebell("add", "x", "--in", "1h")
    status, _, err = duebell("relane", "16")
    assert status == 1
    assert "the queue is not empty" in err


# Many at once.


@pytest.fixture
def tasks_file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.jsonl"


def test_many_are_added_from_a_file(duebell: Duebell, editor: Editor, tasks_file: Path) -> None:
    tasks_file.write_text(
        '{"action": "x", "due": "2026-12-31T09:00", "id": "a", "payload": {"n": 1}}\n'
        "\n"
        '{"action": "x", "in": 3600, "id": "b", "expires_after": 90}\n'
        '{"action": "x", "schedule": "rate(1 hour)", "id": "c", "end": "2027-01-01T00:00:00Z"}\n'
    )
    status, out, err = duebell("add", "--from", str(tasks_file), "--timezone", "Europe/Berlin")
    assert (status, out, err) == (0, "3 added, 0 failed\n", "")
    assert render(editor.get("a").due) == "2026-12-31T08:00:00.000Z"
    assert render(editor.get("b").due) == "2026-11-21T13:00:00.000Z"
    assert editor.get("c").recurrence
    # And those that are there already are told, beside those that are not
    with tasks_file.open("a") as file:
        file.write('{"action": "x", "in": 1, "id": "d"}\n')
    status, out, err = duebell("add", "--from", str(tasks_file), "--timezone", "Europe/Berlin")
    assert (status, out) == (1, "1 added, 3 failed\n")
    assert "a: a task 'a' exists already" in err
    assert (
        duebell("add", "--from", "-", "--if-exists", "keep", stdin='{"action":"x","in":1,"id":"d"}').status
        == 0
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("oops", "line 2: is not JSON"),
        ("[]", "line 2: must be an object with the arguments of a task"),
        ("{}", "line 2: action: is missing, or is not text"),
        ('{"action": 7}', "line 2: action: is missing, or is not text"),
        ('{"action": "x", "due": "soon"}', "line 2: due: 'soon' is not an ISO-8601 time"),
        ('{"action": "x", "due": 5}', "line 2: due: 5 is not an ISO-8601 time"),
        ('{"action": "x", "due": "2026-12-31T09:00"}', "line 2: due: 2026-12-31T09:00 has no offset"),
        ('{"action": "x", "in": "1h"}', "line 2: in: must be a number of seconds, not '1h'"),
        ('{"action": "x", "in": 1e300}', "line 2: in: 1e+300 seconds are too many"),
        ('{"action": "x", "in": 1, "due": "2026-12-31T09:00Z"}', "line 2: in: goes without a due date"),
        ('{"action": "x", "when": 1}', "line 2: when: is not a field of a task; those are action, due"),
        ('{"action": "x"}', "tasks[1].due: is missing"),
        ('{"action": "x", "in": 1, "id": "first"}', "tasks[1].id: 'first' is the id of tasks[0] too"),
    ],
)
def test_a_line_that_cannot_be_right_is_named_and_nothing_is_added(
    duebell: Duebell, editor: Editor, tasks_file: Path, line: str, message: str
) -> None:
    tasks_file.write_text('{"action": "x", "in": 1, "id": "first"}\n' + line)
    status, out, err = duebell("add", "--from", str(tasks_file))
    assert (status, out) == (1, "")
    assert message in err
    assert editor.list().tasks == ()


def test_wrong_usage_of_many(duebell: Duebell, tmp_path: Path) -> None:
    for arguments, message in (
        (("add", "--from", str(tmp_path / "missing")), "cannot read"),
        (("add", "x", "--from", "-"), "--from goes without ACTION"),
        (("add", "--in", "1h"), "give the ACTION to run, or --from FILE"),
    ):
        status, _, err = duebell(*arguments)
        assert status == 2
        assert message in err


# For every command.


def test_where_aws_is_can_be_said(duebell: Duebell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.setenv(name, "before")
    given = ("--profile", "p", "--region", "mars-north-1", "--endpoint-url", "http://127.0.0.1:1")
    assert duebell(*given, "preview", "rate(1 hour)").status == 0
    assert [os.environ[name] for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION")] == [
        "p",
        "mars-north-1",
        "mars-north-1",
    ]
    assert os.environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"


def test_watch_looks_again_and_again(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch, editor: Editor
) -> None:
    duebell("add", "x", "--in", "1h", "--id", "soon")
    looks = 0

    def look(seconds: float) -> None:
        nonlocal looks
        looks += 1
        assert seconds == 5
        if looks == 1:
            editor.add("x", due=editor._clock(), id="new")
            return
        if looks == 2:
            monkeypatch.setattr(editor, "status", mock.Mock(side_effect=errors.AwsUnavailable("throttled")))
            return
        raise KeyboardInterrupt

    monkeypatch.setattr(watching.watch, "__kwdefaults__", {"sleep": look})
    status, out, _ = duebell("watch", "--every", "5")
    assert status == 130
    assert "AWS does not answer, trying again: throttled" in out
