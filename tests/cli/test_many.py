"""Many tasks at once: from a file, and a whole queue out and in again."""

import re
from pathlib import Path

import pytest

from duebell import Editor
from duebell_shared.instants import render
from tests.cli.program import Duebell, lines


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
    assert status == 2
    assert "line 3: is no task that was exported" in err


def test_more_lanes(duebell: Duebell) -> None:
    for number in range(20):
        duebell("add", "x", "--in", "1h", "--id", f"task-{number}")
    status, out, err = duebell("relane", "9")
    assert status == 0
    assert re.fullmatch(r"9 lanes, \d+ tasks moved\n", out)
    assert "tasks moved" in err
    assert duebell("relane", "9").out == "9 lanes, 0 tasks moved\n"
    status, _, err = duebell("relane", "65")
    assert (status, "must be 9, as many as there are, to 64" in err) == (2, True)
    assert duebell("show", "task-7").status == 0


# Many at once.


@pytest.fixture
def tasks_file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.jsonl"


def test_many_are_added_from_a_file(duebell: Duebell, editor: Editor, tasks_file: Path) -> None:
    tasks_file.write_text(
        '{"action": "x", "due": "2026-12-31T09:00+01:00", "id": "a", "payload": {"n": 1}}\n'
        "\n"
        '{"action": "x", "in": 3600, "id": "b", "expires_after": 90}\n'
        '{"action": "x", "schedule": "rate(1 hour)", "id": "c", "end": "2027-01-01T00:00:00Z"}\n'
    )
    status, out, err = duebell("add", "--from", str(tasks_file))
    assert (status, out, err) == (0, "3 added, 0 failed\n", "")
    assert render(editor.get("a").due) == "2026-12-31T08:00:00.000Z"
    assert render(editor.get("b").due) == "2026-11-21T13:00:00.000Z"
    assert editor.get("c").recurrence
    # And those that are there already are told, beside those that are not
    with tasks_file.open("a") as file:
        file.write('{"action": "x", "in": 1, "id": "d"}\n')
    status, out, err = duebell("add", "--from", str(tasks_file))
    assert (status, out) == (7, "1 added, 3 failed\n")
    assert "line 1: a task 'a' exists already: choose another --id, or give --if-exists keep" in err
    assert (
        duebell("add", "--from", "-", "--if-exists", "keep", stdin='{"action":"x","in":1,"id":"d"}').status
        == 0
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("oops", "line 2: task: is not JSON"),
        ("[]", "line 2: task: must be a NewTask or a mapping"),
        ('{"action": "x", "due": "2026-12-31T09:00"}', "line 2: due: "),
        ('{"action": "x", "in": 1, "due": "2026-12-31T09:00Z"}', "line 2: in: goes without a due date"),
        (
            '{"action": "x", "when": 1}',
            "line 2: when: is not a field of a task; the fields are action, payload, due",
        ),
        ('{"action": "x", "in": 1, "id": "first"}', "line 2: id: 'first' is the id of line 1 too"),
    ],
)
def test_a_line_that_cannot_be_right_is_named_and_nothing_is_added(
    duebell: Duebell, editor: Editor, tasks_file: Path, line: str, message: str
) -> None:
    tasks_file.write_text('{"action": "x", "in": 1, "id": "first"}\n' + line)
    status, out, err = duebell("add", "--from", str(tasks_file))
    assert (status, out) == (2, "0 added, 1 failed\n")
    assert message in err
    assert err.endswith("error: 1 line cannot be right; nothing was added\n")
    assert editor.list().tasks == ()
