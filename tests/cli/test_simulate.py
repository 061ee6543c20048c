"""The commands `simulate` and `history`."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from duebell import Editor, Task
from duebell_shared.tasks.history import Event, Lateness
from tests.cli.program import Duebell
from tests.support import NOON


@pytest.fixture(autouse=True)
def _queue(editor: Editor) -> None:
    editor.add_many({"action": "mail", "due": timedelta(minutes=30), "id": f"mail-{n}"} for n in range(6))
    editor.add_many({"action": "sync", "schedule": "0 * * * *", "id": f"sync-{n}"} for n in range(20))


def test_the_queue_and_the_queue_with_changes_stand_side_by_side(duebell: Duebell) -> None:
    arguments = ("--until", "90m", "--limit", "mail=2", "--add", "-")
    line = '{"action": "new", "in": 60}\n'
    status, out, err = duebell("simulate", *arguments, stdin=line)
    assert (status, err) == (0, "")
    rows = [" ".join(row.split()) for row in out.splitlines()]
    assert rows[0].endswith("as it is with the changes")
    assert "starts 26 27" in rows
    assert "mail 6 0.0 s 1.0 s" in rows, rows[14:]
    # And the cost of one start stands in digits
    assert not re.search(r"\de-\d", duebell("simulate", "--until", "30m", "--pause", "sync").out)
    found = json.loads(duebell("simulate", "--until", "90m", "--pause", "mail", "--json").out)
    assert (found["today"]["starts"], found["changed"]["starts"], found["changed"]["waiting"]) == (26, 20, 6)


def test_the_page_explains_each_row(duebell: Duebell) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "simulate.md"
    explained = page.read_text().partition("| row | meaning |\n")[2].partition("\n\n")[0]
    titles = [title for row in explained.splitlines()[1:] for title in row.split("|")[1].strip().split(", ")]
    _, out, _ = duebell("simulate", "--until", "90m")
    shown = out.partition("\n\n")[0].splitlines()
    assert [row for row in shown if not row.strip().startswith(tuple(titles))] == shown[:1]
    assert len(titles) == len(shown) - 1


def test_flatten_prints_the_commands(duebell: Duebell) -> None:
    out = duebell("simulate", "--until", "tomorrow", "--flatten").out
    lines = [line for line in out.splitlines() if line.startswith("duebell update ")]
    assert len(lines) >= 10
    assert duebell(*lines[0].split()[1:]).status == 0


def test_a_history_lists_the_changes(duebell: Duebell, editor: Editor) -> None:
    editor.acting_as("ann").run_now("mail-1")
    assert re.search("run-now +ann", duebell("history", "mail-1").out)
    told = json.loads(duebell("history", "mail-1", "--json").out)
    assert [(one["what"], one["by"]) for one in told] == [("add", None), ("run_now", "ann")]


def test_a_history_says_how_long_an_attempt_took_and_why_it_was_late(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = Event(
        at=NOON,
        what="attempt",
        attempt=2,
        result="done",
        ended_at=NOON + timedelta(seconds=1.5),
        lateness_ms=64_000,
        lateness=Lateness(ring=60_000, start=4_000),
    )
    expired = Event(at=NOON, what="attempt", result="expired")
    events = (Event(at=NOON, what="forgotten"), attempt, expired)
    monkeypatch.setattr(Task, "history", events)
    heading, before, row, last = duebell("history", "mail-1").out.splitlines()
    assert re.split(r"  +", last.strip())[1:] == ["expired"]
    assert re.split(r"  +", heading.strip()) == ["at", "what", "took", "lateness", "parts of lateness"]
    assert before.split("  ")[1].strip() == "changes and attempts before are not kept"
    assert re.split(r"  +", row.strip())[1:] == [
        "attempt 2 done",
        "1.5 s",
        "64.0 s",
        "ring: 60.0 s start: 4.0 s",
    ]
