"""Tables in terminals of several widths: ids are whole, and what says least gives way."""

import pytest
from rich.console import Console

from duebell import Editor
from duebell_editor.cli.tasks import tasks_table
from tests.cli.program import Duebell, fail
from tests.support import NOON


def drawn(table: object, width: int) -> list[str]:
    """The lines that a terminal of this width shows."""
    console = Console(width=width, force_terminal=True, no_color=True, highlight=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(table)
    lines = [
        line.rstrip() for line in capture.get().replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    ]
    assert all(len(line) <= width for line in lines)
    return lines


def test_finished_tasks_say_when_they_ended_and_why_they_failed(duebell: Duebell, editor: Editor) -> None:
    # Given a task that failed, and one that was cancelled
    for id in ("bad", "gone"):
        duebell("add", "x", "--in", "1h", "--id", id)
    fail(editor, "bad")
    duebell("cancel", "gone")
    tasks = [editor.get("bad"), editor.get("gone")]
    # When they are shown
    heading, bad, gone = drawn(tasks_table(tasks, NOON), 120)
    # Then their ends are, and of the one, why
    assert heading.split() == ["id", "status", "action", "due", "ended", "error"]
    assert r"2026-11-21 13:00  ValueError: \x1b[2Jgone [red]" in bad
    assert gone.endswith("2026-11-21 12:00")


def test_a_list_on_a_terminal_is_a_table(duebell: Duebell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    assert duebell("list").out == "no tasks\n"
    duebell("add", "x", "--in", "1h", "--id", "a")
    heading, row = duebell("list").out.splitlines()
    assert "status" in heading
    assert "in 1 h" in row
