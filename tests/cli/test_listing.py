"""The commands `list` and `changes`: their rows, their pages, and the way to the next page."""

import json
import re
import shlex
from datetime import timedelta

import boto3
import msgspec
import pytest
from rich.text import Text

from duebell import Editor, Page, Settings
from duebell_editor.cli import tasks as listing
from duebell_editor.cli.context import Context
from duebell_editor.cli.output import console
from duebell_shared.backend import Backend
from duebell_shared.settings import AuditTo
from tests.cli.program import Duebell, fail, lines
from tests.support import Clock


def test_all_comes_page_after_page(duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [f"t{hours}" for hours in range(1, 6)]
    for hours, id in enumerate(ids):
        duebell("add", "x", "--in", f"{hours}h", "--id", id)
    monkeypatch.setattr(listing, "MAX_LIMIT", 2)
    status, out, err = duebell("list", "--all", "--json")
    assert (status, [task["id"] for task in lines(out)], err) == (0, ids, "")
    # And a last page that is empty is not told
    pages = iter([msgspec.structs.replace(editor.list(), cursor="more"), Page(tasks=())])
    monkeypatch.setattr(editor, "list", lambda **_: next(pages))
    status, out, err = duebell("list", "--all")
    assert (status, len(out.splitlines()), err) == (0, 6, "")


def test_a_list_in_a_pipe_is_a_row_for_each_task(duebell: Duebell, editor: Editor) -> None:
    # Given tasks with odd ids, one that recurs and one that failed, then each is a row, and nothing is cut
    duebell("add", "b", "--in", "2h", "--id", "[bold red]second[/]")
    duebell("add", "a", "--in", "1h", "--id", "first")
    duebell("add", "a", "--schedule", "rate(3 hours)", "--id", "third " + "x" * 240)
    out = duebell("list").out
    first, second, third = (re.split("  +", line.strip()) for line in out.splitlines()[1:])
    assert " ".join(first) == "first scheduled a 2026-11-21 13:00 (in 1 h)"
    assert second[0] == "[bold red]second[/]"
    assert third[:2] == ["third " + "x" * 240, "scheduled, recurs"]
    # And a failure is told in its row, however many lines it had
    fail(editor, "first")
    [_, failed] = duebell("list", "--status", "failed").out.splitlines()
    assert failed.rstrip().endswith(r"ValueError: \x1b[2Jgone [red]")
    assert "\x1b" not in out + failed


def test_list_filters_and_goes_on(duebell: Duebell) -> None:
    for hours, action in ((1, "a"), (2, "b"), (3, "a")):
        duebell("add", action, "--in", f"{hours}h", "--id", f"t{hours}")
    duebell("cancel", "t2")

    def ids(*arguments: str) -> list[str]:
        return [task["id"] for task in lines(duebell("list", "--json", *arguments).out)]

    assert ids("--status", "cancelled", "--status", "scheduled") == ["t2", "t1", "t3"]
    assert ids("--latest-first") == ["t3", "t1"]
    assert ids("--action", "a", "--after", "2026-11-21T14:00Z") == ["t3"]
    assert ids("--before", "2026-11-21T14:00", "--timezone", "Europe/Berlin") == ["t1"]
    first = duebell("list", "--json", "--limit", "1")
    assert ids("--cursor", json.loads(first.err)["cursor"]) == ["t3"]
    first = duebell("list", "--limit", "1")
    assert first.err.startswith("there is more: repeat with --cursor ")
    assert ids("--cursor", first.err.split()[-1]) == ["t3"]
    assert [line.split()[0] for line in duebell("list", "--all").out.splitlines()] == ["id", "t1", "t3"]


def test_stored_values_are_no_commands_for_terminals(duebell: Duebell, editor: Editor) -> None:
    # Given a task of someone else's, then nothing is obeyed when it is exported
    hostile = "=1+1\x9b2J\u202e"
    editor.add("act", due=timedelta(hours=1), payload={"text": hostile})
    exported = duebell("export").out
    assert all(one.isprintable() for one in exported.strip())
    assert json.loads(lines(exported)[0]["payload_json"]) == {"text": hostile}
    # And neither on a terminal
    out = console()
    with out.capture() as capture:
        out.print(Text(hostile))
    assert capture.get().strip() == r"=1+1\x9b2J\u202e"


def test_changes_are_a_table_or_a_line_each_and_go_on(
    duebell: Duebell, session: boto3.Session, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(audit=AuditTo.TABLE)
    backend = Backend.connect(settings, session, clock=clock, sleep=clock.sleep)
    editor = Editor(backend=backend, changed_by="anna")
    monkeypatch.setattr(Context, "editor", lambda _, **__: editor)
    duebell("add", "x", "--in", "1h", "--id", "a")
    clock.advance(timedelta(seconds=1))
    duebell("pause", "a")
    _, out, err = duebell("changes", "--limit", "1")
    heading, row = out.splitlines()
    assert heading.split()[:3] == ["at", "what", "who"]
    assert row.split()[3:5] == ["pause", "anna"]
    cursor = shlex.split(err.partition("--cursor ")[2])[0]
    [added] = lines(duebell("changes", "--cursor", cursor, "--json").out)
    assert (added["what"], added["who"], added["id"]) == ("add", "anna", "a")
