"""The words for people: lengths of time, times, what terminals obey, and tables."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from rich.console import Console

from duebell import Editor, Failure, Status
from duebell_editor.cli.options import duration
from duebell_editor.cli.output import indented, plain, relative, table, when
from duebell_editor.cli.tasks import tasks_table
from tests.cli.program import Duebell, fail
from tests.support import NOON


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process lives in Berlin."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("2d10h", timedelta(days=2, hours=10)),
        ("1w2d3h4m5s", timedelta(weeks=1, days=2, hours=3, minutes=4, seconds=5)),
        ("2d 10h", timedelta(days=2, hours=10)),
        ("1.5h", timedelta(minutes=90)),
        ("2 Days 3 HOURS", timedelta(days=2, hours=3)),
        (" 1H30M ", timedelta(hours=1, minutes=30)),
    ],
)
def test_durations(text: str, expected: timedelta) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "90",
        "1h 30",
        "30m1h",
        "1month",
        "٣h",
        "9" * 20 + "w",
        "9" * 5000 + "s",
    ],
)
def test_texts_that_are_no_durations_are_refused(duebell: Duebell, text: str) -> None:
    status, out, err = duebell("add", "x", f"--in={text}")
    assert (status, out) == (2, "")
    assert err.startswith("error: --in ")


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (timedelta(), "now"),
        (timedelta(hours=2, minutes=59, seconds=58), "in 3 h"),
        (timedelta(hours=2, minutes=59, seconds=28), "in 2 h 59 min"),
        (timedelta(hours=23, minutes=59, seconds=40), "in 1 d"),
        (timedelta(days=2, hours=10, milliseconds=-300), "in 2 d 10 h"),
        (timedelta(minutes=2, milliseconds=-20), "in 2 min"),
        (timedelta(days=2, minutes=10), "in 2 d"),
        (timedelta(minutes=-5, seconds=-2), "5 min 2 s ago"),
    ],
)
def test_a_distance_in_time_is_told_in_its_two_largest_units(ahead: timedelta, words: str) -> None:
    assert relative(NOON + ahead, NOON) == words


@pytest.mark.usefixtures("berlin")
def test_times_are_shown_in_the_local_zone() -> None:
    due = datetime(2026, 12, 31, 8, 0, 0, 123000, tzinfo=UTC)
    assert when(due, due - timedelta(hours=3)) == "2026-12-31 09:00:00 CET (in 3 h)"
    assert when(None, NOON) == "-"


def test_control_characters_are_escaped() -> None:
    assert plain("a\x1b[31mb\x07\x9bc\u202ed\r") == r"a\x1b[31mb\x07\x9bc\u202ed\r"
    assert plain("ümlaut 🔔 [bold]\nnext") == "ümlaut 🔔 [bold]\nnext"


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
    heading, bad, gone = drawn(tasks_table(tasks, NOON, width=120), 120)
    # Then their ends are, and of the one, why
    assert heading.split() == ["id", "status", "action", "due", "ended", "error"]
    assert r"2026-11-21 13:00  ValueError: \x1b[2Jgone [red]" in bad
    assert gone.endswith("2026-11-21 12:00")


def test_a_long_id_leaves_the_other_columns_in_sight(editor: Editor) -> None:
    id = "customer-42/" * 9
    lines = drawn(tasks_table([editor.add("charge", due=timedelta(hours=1), id=id)], NOON, width=80), 80)
    assert "".join(line.split()[0] for line in lines[1:]) == id
    assert lines[1].split()[1:] == ["scheduled", "charge", "2026-11-21", "13:00", "in", "1", "h"]


def test_a_way_out_is_indented_on_each_of_its_lines() -> None:
    lines = drawn(indented("deploy a worker that has it, or give the tasks another action"), 40)
    assert lines == ["  deploy a worker that has it, or give", "  the tasks another action"]


def test_a_long_error_takes_few_lines_of_a_narrow_screen(editor: Editor) -> None:
    task = editor.add("charge", due=timedelta(hours=1), id="customer-42")
    error = Failure(type="TimeoutError", message="the bank did not answer " * 20)
    failed = replace(task, status=Status.FAILED, queued=None, finished_at=NOON, failure=error)
    # Then it is cut, and on a wide one less
    assert len(drawn(tasks_table([failed], NOON, width=80), 80)) <= 5
    assert drawn(tasks_table([failed], NOON, width=300), 300)[1].count("the bank did not answer") == 8


def test_a_list_on_a_terminal_is_a_table(duebell: Duebell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    assert duebell("list").out == "no tasks\n"
    duebell("add", "x", "--in", "1h", "--id", "a")
    heading, row = duebell("list").out.splitlines()
    assert "status" in heading
    assert "in 1 h" in row


def test_nothing_is_cut_off_on_a_narrow_terminal(
    duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an attempt that failed, and a terminal too narrow for a row of all that is known of it
    duebell("add", "x", "--in", "1h", "--id", "bad")
    fail(editor, "bad")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    # When the task and its history are shown
    shown, history = (re.sub("\x1b.*?m", "", duebell(name, "bad").out) for name in ("show", "history"))
    # Then no line is longer, and all of it is there, by names that say what it is
    assert max(map(len, shown.splitlines())) <= 60
    _, _, failures = " ".join(shown.split()).partition(" failures ")
    assert "at 2026-11-21 13:00:00 UTC what: attempt 1 failed; " in failures
    assert failures.endswith("gone [red]")
    assert re.search("deleted +2026-", shown)
    assert "what: attempt 1 failed; error: ValueError: " in " ".join(history.split())


def test_a_table_that_is_too_wide_is_folded_and_not_cut() -> None:
    row = (
        "b0036fe9-1980-456d-9602-be998b9f62a6",
        "scheduled",
        "charge",
        "2026-12-31 01:00",
        "2026-12-31 01:02",
        "in 49 min 57 s",
    )
    lines = drawn(table(("id", "status", "action", "due", "next look", ""), [row]), 80)
    missing = Counter("".join(row).replace(" ", "")) - Counter("".join(lines))
    assert not missing
