"""The words for people: lengths of time, times, what terminals obey, and tables."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from duebell_editor.cli.options import duration
from duebell_editor.cli.output import plain, relative, when
from tests.cli.program import Duebell
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
