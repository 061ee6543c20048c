"""The commands that change and show tasks: one, several, or those of a filter; recurring ones."""

import logging
import re
import socket
from datetime import timedelta
from unittest import mock

import pytest
from fastapi.testclient import TestClient

from duebell import Editor, WaitCause, Why
from duebell_editor.cli import change
from duebell_editor.cli.account import Account
from duebell_editor.cli.context import Context
from duebell_editor.cli.output import Output
from duebell_editor.http import create_app
from duebell_shared.instants import render
from tests.cli.program import Duebell, fail, lines
from tests.support import NOON


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
    out = duebell("show", "a [bold]").out
    facts = dict(re.findall(r"(?m)^(\w+(?: \w+)*)  +(.*?) *$", out.partition("\nfailures\n")[0]))
    assert (facts["id"], facts["status"], facts["failure"]) == ("a [bold]", "failed", "type: ValueError")
    assert facts["due"] == "2026-11-21 13:00:00 UTC (in 1 h)"
    assert r'"text": "\u001b[31m \u202e ü [red]"' in out
    assert "line 2" in out
    told = ["2026-11-21 13:00:00 UTC", "attempt 1 failed", r"ValueError: \x1b[2Jgone [red]"]
    assert re.split(r"  +", out.splitlines()[-1].strip()) == told


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


def test_why_tells_what_a_task_waits_for_also_over_http(
    duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a")
    assert duebell("why", "a").out.splitlines() == [
        "it is not due yet: 2026-11-21T13:00:00.000Z",
        "  it starts by 2026-11-21 13:03:30 UTC (in 1 h 4 min), if nothing goes wrong",
    ]
    client = TestClient(create_app(editor), base_url="http://localhost")
    assert lines(duebell("why", "a", "--json").out) == [client.get("/api/tasks/a/why").json()]
    duebell("pause", "a")
    assert "duebell resume a`" in duebell("why", "a").out
    # While nothing runs at all, no start is promised
    off = Why(id="a", cause=WaitCause.SCHEDULER, what="nothing runs", starts_by=NOON + timedelta(hours=1))
    monkeypatch.setattr(Editor, "why", lambda *_: off)
    assert duebell("why", "a").out == "nothing runs\n"


@pytest.fixture
def three(duebell: Duebell, editor: Editor) -> Editor:
    """Three tasks; the last has another action."""
    for id, action in (("a-1", "x"), ("a-2", "x"), ("b-1", "y")):
        duebell("add", action, "--in", "1h", "--id", id)
    return editor


def statuses(editor: Editor) -> list[str]:
    return [editor.get(id).status.value for id in ("a-1", "a-2", "b-1")]


def test_tasks_that_forbid_it_are_listed_and_others_are_changed(duebell: Duebell, three: Editor) -> None:
    status, out, err = duebell("cancel", "a-1", "nope", "a-2")
    assert (status, out) == (7, "2 tasks cancelled, 1 failed\n")
    assert err.startswith("id nope: there is no task 'nope'")
    assert statuses(three) == ["cancelled", "cancelled", "scheduled"]
    # And a program has them as one object
    status, out, err = duebell("cancel", "a-1", "b-1", "--json")
    [document] = lines(out)
    assert (status, err, document["found"], document["changed"]) == (7, "", 2, ["b-1"])
    assert document["failures"][0]["id"] == "a-1"


def test_what_was_changed_is_told_if_it_is_broken_off(
    duebell: Duebell, three: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given chunks of two, and someone who ends it at the second
    monkeypatch.setattr(change, "_CHUNK", 2)
    calls = mock.Mock(side_effect=[mock.DEFAULT, KeyboardInterrupt], wraps=three.change_many)
    with mock.patch.object(three, "change_many", calls):
        status, _, err = duebell("cancel", "a-1", "a-2", "b-1")
    assert (status, statuses(three)) == (130, ["cancelled", "cancelled", "scheduled"])
    assert "broken off: 2 tasks cancelled, 0 failed, and perhaps up to 2 more were changed" in err


def test_a_filter_is_counted_before_anything_is_done(duebell: Duebell, three: Editor) -> None:
    # When it is only counted, or nobody can be asked and nobody has said yes, then nothing has changed
    outcome = duebell("cancel", "--prefix", "a-", "--dry-run")
    assert outcome == (0, "2 tasks would be cancelled; nothing was changed\n", "")
    status, out, err = duebell("cancel", "--prefix", "a-")
    assert (status, out) == (2, "")
    assert "would be cancelled: give --yes to do it" in err
    assert statuses(three) == ["scheduled"] * 3
    # And with a yes it has
    assert duebell("cancel", "--prefix", "a-", "--yes").status == 0
    assert statuses(three) == ["cancelled", "cancelled", "scheduled"]


@pytest.mark.parametrize(("answer", "after"), [("y\n", "cancelled"), ("n\n", "scheduled"), ("", "scheduled")])
def test_someone_at_a_terminal_is_asked(duebell: Duebell, three: Editor, answer: str, after: str) -> None:
    with mock.patch.object(Output, "can_ask", new=True):
        outcome = duebell("cancel", "--action", "y", stdin=answer)
    assert "would be cancelled. Do it?" in outcome.err
    assert outcome.err.startswith("duebell: 1 task (")
    assert outcome.status == (0 if after == "cancelled" else 1)
    assert statuses(three) == ["scheduled", "scheduled", after]


def test_a_filter_takes_those_whose_status_allows_it(duebell: Duebell, three: Editor) -> None:
    fail(three, "a-1")
    assert duebell("retry", "--prefix", "a-", "--yes").out == "1 task set to be retried now\n"
    status, _, err = duebell("retry", "--status", "done", "--yes")
    assert (status, err) == (2, "error: --status: to retry a task it must be expired or failed\n")
    assert duebell("resume", "--status", "paused", "--yes").out == "0 tasks resumed\n"


def test_a_recurring_task(duebell: Duebell) -> None:
    arguments = ("--timezone", "Europe/Berlin", "--missed", "skip", "--max-runs", "5", "--spread", "90s")
    added = duebell("add", "report", "--schedule", "cron(0 9 ? * MON-FRI *)", *arguments, "--id", "r")
    assert "report due 2026-11-23 08:00" in added.out
    [shown] = lines(duebell("show", "r", "--json").out)
    assert (shown["spread"], shown["recurrence"]["missed"]) == (90, "skip")
    text = duebell("show", "r").out
    assert "every weekday at 09:00, Europe/Berlin" in text
    assert "max runs: 5" in text


def test_a_task_is_changed(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--schedule", "0 9 * * *", "--timezone", "Europe/Berlin", "--id", "r")
    assert duebell("update", "r", "--timezone", "America/New_York", "--payload", '{"n": 2}').status == 0
    task = editor.get("r")
    assert (task.payload, render(task.due)) == ({"n": 2}, "2026-11-21T14:00:00.000Z")
    assert "due 2026-11-21 13:00" in duebell("update", "r", "--schedule", "0 13 * * *", "--action", "y").out
    status, _, err = duebell("update", "r")
    assert (status, "change: is empty: give a payload" in err) == (2, True)


def test_optional_fields_can_be_unset(duebell: Duebell, editor: Editor) -> None:
    rules = ("--end", "2027-01-01T00:00Z", "--max-runs", "3", "--spread", "10m")
    duebell("add", "x", "--schedule", "0 9 * * *", "--id", "r", *rules)
    duebell("add", "x", "--in", "1h", "--expires-after", "1h", "--id", "once")
    assert duebell("update", "r", "--no-end", "--no-max-runs", "--no-spread").status == 0
    task = editor.get("r")
    assert task.recurrence
    assert (task.recurrence.schedule.end, task.recurrence.max_runs) == (None, None)
    assert task.spread == timedelta(0)
    assert duebell("update", "once", "--no-expires-after").status == 0
    assert editor.get("once").expires_after is None
    status, _, err = duebell("update", "r", "--end", "2027-01-01T00:00Z", "--no-end")
    assert (status, "either --end or --no-end" in err) == (2, True)


def test_a_backfill_counts_and_adds(duebell: Duebell, editor: Editor) -> None:
    # Given a report at nine in Berlin; now it is noon UTC on 21 November
    duebell("add", "report", "--schedule", "0 9 * * *", "--timezone", "Europe/Berlin", "--id", "r")
    days = ("backfill", "r", "--from", "2026-11-20", "--to", "2026-11-21")
    plan = duebell(*days, "--dry-run")
    added = duebell(*days, "--per-second", "0.1")
    [again] = lines(duebell(*days, "--json").out)
    # Then the days are those of the schedule's zone, the last one as far as it has passed
    assert plan.out == "2 tasks would be added; nothing was changed\n"
    assert added.out == "`duebell list --prefix r@`: 2 added, 0 there already\n"
    assert (again["added"], again["there_already"], again["failures"]) == (0, 2, [])
    dues = [render(task.due) for task in editor.find("r@").tasks]
    assert dues == ["2026-11-20T08:00:00.000Z", "2026-11-21T08:00:00.000Z"]
    # And an error names the option or the value
    for options, words in (
        (("--from", "2026-11-20", "--to", "2026-11-22T00:00Z"), "--to"),
        (("--from", "soon", "--to", "2026-11-21"), "soon is not an ISO-8601"),
        (("--from", "2026-11-20", "--to", "9999-12-31"), "out of range"),
    ):
        wrong = duebell("backfill", "r", *options)
        assert (wrong.status, words in wrong.err) == (2, True)


def test_a_command_says_who_is_at_this_machine(
    duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "duebell.audit")
    monkeypatch.setenv("LOGNAME", "anna")
    monkeypatch.setattr(socket, "gethostname", lambda: "laptop")
    assert Account().editor(by="http").changed_by == "anna@laptop via http"
    assert Account().editor(by=None).changed_by is None
    # And it is kept by what a command changes
    monkeypatch.setattr(Context, "editor", lambda context: context.account.editor())
    assert duebell("add", "x", "--in", "1h", "--id", "a").status == 0
    assert editor.get("a").changed_by == "anna@laptop via cli"
    assert [vars(record)["fields"]["where"] for record in caplog.records] == ["cli on laptop"]
    # And what the environment says wins
    monkeypatch.setenv("DUEBELL_CHANGED_BY", "night shift")
    assert Account().editor().changed_by == "night shift"
