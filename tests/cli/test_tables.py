"""Tables in terminals of several widths: ids are whole, and what says least gives way."""

from datetime import timedelta

import pytest
from rich.console import Console

from duebell import Editor
from duebell_editor.cli.output import relative
from duebell_editor.cli.show import attempts_table, occurrences_table, times_table
from duebell_editor.cli.tasks import tasks_table
from tests.cli.program import Duebell, fail
from tests.support import NOON

ID = "17c276de-baae-47a7-b5fd-5328b687fee8"


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


@pytest.fixture
def uuid_task(duebell: Duebell, editor: Editor) -> Editor:
    duebell("add", "put_on_sale", "--in", "1h29m", "--id", ID)
    return editor


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (
            120,
            ["put_on_sale", "2026-11-21 13:29:00 UTC", "in 1 h 29 min"],
        ),
        (90, ["put_on_sale", "2026-11-21 13:29:00 UTC"]),
        (80, ["put_on_sale", "2026-11-21 13:29"]),
    ],
)
def test_a_narrow_terminal_loses_what_says_least(uuid_task: Editor, width: int, expected: list[str]) -> None:
    _, row = drawn(tasks_table([uuid_task.get(ID)], NOON, width), width)
    assert [cell.strip() for cell in row.split("  ") if cell.strip()] == [ID, "scheduled", *expected]


def test_on_the_narrowest_an_id_stands_alone_and_whole(uuid_task: Editor) -> None:
    assert drawn(tasks_table([uuid_task.get(ID)], NOON, 40), 40) == [
        ID,
        "  scheduled, put_on_sale, due 2026-11-21",
        "  13:29 (in 1 h 29 min)",
    ]


def test_what_a_change_says_is_one_line_on_any_terminal(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a terminal that is narrower than what is said: a line that it breaks can still be copied as one
    monkeypatch.setenv("COLUMNS", "40")
    added = duebell("add", "put_on_sale", "--in", "1h29m", "--id", ID)
    assert added.out.count("\n") == 1
    assert added.out.startswith(f"{ID}: scheduled, put_on_sale due 2026-11-21 13:29")


def test_finished_tasks_say_when_they_ended_and_why_they_failed(duebell: Duebell, editor: Editor) -> None:
    # Given a task that failed, and one that was cancelled
    for id in ("bad", "gone"):
        duebell("add", "x", "--in", "1h", "--id", id)
    fail(editor, "bad")
    duebell("cancel", "gone")
    tasks = [editor.get("bad"), editor.get("gone")]
    # When they are shown
    heading, bad, gone = drawn(tasks_table(tasks, NOON, 120), 120)
    # Then their ends are, and of the one, why
    assert heading.split() == ["id", "status", "action", "due", "ended", "error"]
    assert r"2026-11-21 13:00:00 UTC  ValueError: \x1b[2Jgone [red]" in bad
    assert gone.endswith("2026-11-21 12:00:00 UTC")
    # And where there is no room for all of it, the reason is cut and says so
    assert drawn(tasks_table(tasks, NOON, 60), 60)[1].endswith("…")


def test_a_retry_says_when_it_is_and_what_recurs_is_marked(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--in", "1h", "--spread", "20m", "--id", "later")
    duebell("add", "x", "--schedule", "rate(1 hour)", "--id", "again")
    tasks = [editor.get("later"), editor.get("again")]
    heading, later, again = drawn(tasks_table(tasks, NOON, 140), 140)
    assert "next look" in heading
    assert later.count("2026-11-21 13:") == 2
    assert tasks[0].queued
    assert tasks[0].queued > tasks[0].due
    assert relative(tasks[0].queued, NOON) in later
    assert "scheduled ↻" in again
    assert "(recurring)" in drawn(tasks_table(tasks, NOON, 140, encoding="ascii"), 140)[2]


def test_failed_attempts_tell_their_reason_however_narrow_it_is(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--in", "1h", "--id", "bad")
    fail(editor, "bad")
    attempts = editor.get("bad").failures
    for width in (40, 60, 80, 120):
        assert r"ValueError: \x1b[2Jgone [red]" in "\n".join(drawn(attempts_table(attempts, width), width))


def test_past_occurrences_are_blocks_when_it_is_narrow(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--schedule", "rate(1 hour)", "--id", "again")
    fail(editor, "again")
    occurrences = editor.get("again").occurrences
    assert drawn(occurrences_table(occurrences, 50), 50) == [
        "2026-11-21 13:00 failed",
        "  1 attempts, 0.0 s late",
        r"  ValueError: \x1b[2Jgone [red]",
    ]


@pytest.mark.usefixtures("duebell")  # in UTC
@pytest.mark.parametrize("width", [30, 45, 60, 80, 120])
def test_times_to_come_are_never_cut(width: int) -> None:
    lines = drawn(times_table([NOON + timedelta(days=1)], "America/New_York", NOON, width), width)
    assert lines[0].startswith("America/New_York")
    assert "Sun 2026-11-22 07:00" in lines[1]
    assert "…" not in lines[1]


def test_a_list_on_a_terminal_is_a_table(duebell: Duebell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    assert duebell("list").out == "no tasks\n"
    duebell("add", "x", "--in", "1h", "--id", "a")
    heading, row = duebell("list").out.splitlines()
    assert "status" in heading
    assert "in 1 h" in row
