"""The words for people: lengths of time, times, what terminals obey, and tables."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from duebell import Editor, Failure, Status
from duebell_editor.cli.options import duration
from duebell_editor.cli.output import plain, relative, when
from duebell_shared.backend import Backend
from tests.cli.program import Duebell, fail
from tests.support import NOON


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", timedelta(seconds=90)),
        ("1w2d3h4m5s", timedelta(weeks=1, days=2, hours=3, minutes=4, seconds=5)),
        ("2d 10h", timedelta(days=2, hours=10)),
        ("1.5h", timedelta(minutes=90)),
    ],
)
def test_durations(text: str, expected: timedelta) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize("text", ["", "90", "1h 30", "1H", "1month", "٣h", "9" * 20 + "w", "9" * 5000 + "s"])
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
        (timedelta(days=2, hours=10, milliseconds=-300), "in 2 d 10 h"),
        (timedelta(days=2, minutes=10), "in 2 d"),
        (timedelta(minutes=-5, seconds=-2), "5 min 2 s ago"),
    ],
)
def test_a_distance_in_time_is_told_in_its_two_largest_units(ahead: timedelta, words: str) -> None:
    assert relative(NOON + ahead, NOON) == words


@pytest.mark.usefixtures("duebell")  # it puts the zone back
def test_times_are_shown_in_the_local_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    due = datetime(2026, 12, 31, 8, 0, 0, 123000, tzinfo=UTC)
    assert when(due, due - timedelta(hours=3)) == "2026-12-31 09:00:00 CET (in 3 h)"
    assert when(None, NOON) == "-"


def test_control_characters_are_escaped() -> None:
    assert plain("a\x1b[31mb\x07\x9bc\u202ed\r") == r"a\x1b[31mb\x07\x9bc\u202ed\r"
    assert plain("ümlaut 🔔 [bold]\nnext") == "ümlaut 🔔 [bold]\nnext"


@pytest.fixture
def terminal(duebell: Duebell, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Run the program on a terminal of this width; the lines that it shows."""
    monkeypatch.setenv("FORCE_COLOR", "1")

    def run(width: int, *arguments: str) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        shown = [re.sub("\x1b.*?m", "", line).rstrip() for line in duebell(*arguments).out.splitlines()]
        assert max(map(len, shown)) <= width
        return shown

    return run


def test_a_list_is_readable_on_a_terminal(
    editor: Editor, backend: Backend, terminal: Callable[..., list[str]]
) -> None:
    # Given a task with a long error, one with a long id, and one that is late
    task = editor.add("charge", due=timedelta(hours=1), id="customer-42")
    failure = Failure(type="TimeoutError", message="the bank did not answer " * 20)
    failed = replace(task, status=Status.FAILED, queued=None, finished_at=NOON, failure=failure)
    assert backend.store.save(task, failed)
    editor.add("charge", due=timedelta(hours=1), id="customer-42/" * 9)
    # Then the beginning of the error stands in few lines, and no column is squeezed
    heading, *rows = terminal(80, "list", "--status", "failed")
    assert heading.split() == ["id", "status", "action", "at", "error"]
    assert rows[0].split()[:2] == ["customer-42", "failed"]
    assert len(rows) <= 5
    assert "did not answer" in " ".join(terminal(200, "list", "--status", "failed")[1].split())
    # And the long id leaves the other columns in sight
    rows = terminal(80, "list")[1:]
    assert "".join(row[:40].strip() for row in rows) == "customer-42/" * 9
    assert "status: scheduled; action: charge" in rows[0]


def test_nothing_is_cut_off_on_a_narrow_terminal(
    duebell: Duebell, editor: Editor, terminal: Callable[..., list[str]]
) -> None:
    # Given an attempt that failed, and a terminal too narrow for a row of all that is known of it
    duebell("add", "x", "--in", "1h", "--id", "bad")
    fail(editor, "bad")
    # Then all of it is there
    failures = " ".join(" ".join(terminal(60, "show", "bad")).partition(" failures ")[2].split())
    assert "at 2026-11-21 13:00:00 UTC what: attempt 1 failed; " in failures
    assert failures.endswith("gone [red]")
    history = " ".join(" ".join(terminal(60, "history", "bad")).split())
    assert "what: attempt 1 failed; error: ValueError: " in history
