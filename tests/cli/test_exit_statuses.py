"""Wrong usage, a task that is not there, wrong settings and Ctrl-C: one line, and an exit status for each."""

import sys
from unittest import mock

import pytest

from duebell import Editor
from duebell_editor.cli.program import run
from tests.cli.program import Duebell


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["add"], "give the ACTION to run, or --from FILE"),
        (["add", "x"], "give --due, a date and time, --in, a time from now, or --schedule"),
        (
            ["add", "x", "--due", "2026-12-31T09:00Z", "--in", "1h"],
            "give --due or --in, not both",
        ),
        (["add", "x", "--due", "2026-12-31T09:00"], "--timezone Europe/Berlin"),
        (["add", "x", "--due", "soon"], "is not an ISO-8601 date and time"),
        (
            ["add", "x", "--due", "2026-12-31", "--timezone", "Berlin"],
            "--timezone: 'Berlin' is no IANA time zone; did you mean Europe/Berlin?",
        ),
        (
            ["add", "x", "--due", "2026-12-31", "--timezone", "../etc"],
            "--timezone: '../etc' is no IANA time zone",
        ),
        (["add", "x", "--in", "1h", "--timezone", "Europe/Berlin"], "--timezone goes with --due"),
        (["add", "x", "--in", "1h", "--payload", "1", "--payload-file", "-"], "either --payload or"),
        (["add", "x", "--in", "1h", "--payload-file", "/no/such"], "cannot read /no/such: No such file"),
        (["list", "--status", "lost"], "'lost'"),
        (["list", "--after", "2026-12-31T09:00"], "--after 2026-12-31T09:00 has no offset"),
        (["move", "a"], "give --due, a date and time, or --in, a time from now\n"),
        (["list", "--all", "--limit", "5"], "--all or --limit, not both"),
        (["list", "--after", "2026-12-31T09:00Z", "--before", "2026-12-30T09:00Z"], "--after is later than"),
        (["show"], "missing argument 'ID'; see `duebell show --help`"),
        # What the library refuses is wrong input as well, and is called what the command line calls it.
        (["add", "", "--in", "1h"], "ACTION: must be 1 to 256 characters"),
        (["add", "x", "--in", "1h", "--payload", "NaN"], "--payload: "),
        (
            ["add", "x", "--schedule", "rate(1 hour)", "--expires-after", "1h"],
            "goes without a schedule",
        ),
        (["show", "a\nb\x1b[2J"], r"'a\nb\x1b[2J'"),
        (["preview", "cron(0 9 * * *)"], "EXPRESSION: cron(…) needs six fields"),
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


def test_settings_that_are_wrong_are_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DUEBELL_LANES", "many")
    monkeypatch.setattr(sys, "argv", ["duebell", "list"])
    with pytest.raises(SystemExit, match="2"):
        run()
    assert capsys.readouterr().err == "error: DUEBELL_LANES: must be a whole number, not 'many'\n"


def test_an_interrupt_exits_with_130(duebell: Duebell, editor: Editor) -> None:
    with mock.patch.object(editor.queue, "lanes_now", side_effect=KeyboardInterrupt):
        assert duebell("list").status == 130
