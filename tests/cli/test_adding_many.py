"""`add --from`: checked before anything is written; repeated without harm."""

import json
from pathlib import Path
from unittest import mock

import pytest

from duebell import Editor
from duebell_editor.cli import add as add_file
from duebell_shared import errors
from tests.cli.program import Duebell, lines


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.jsonl"


def line(id: str | None = None, **more: object) -> str:
    return json.dumps({"action": "x", "in": 3600, **({"id": id} if id else {}), **more}, ensure_ascii=False)


def test_all_bad_lines_of_a_file_are_told_and_nothing_is_added(
    duebell: Duebell, editor: Editor, file: Path
) -> None:
    # Given a file with a good line and thirty that cannot be right
    file.write_text("\n".join([line("good"), *['{"action": 7, "in": 1}'] * 30]))
    # When it is added
    status, out, err = duebell("add", "--from", str(file))
    # Then twenty are told with their numbers, the rest are counted, and nothing was added
    told = err.splitlines()
    assert (status, out) == (2, "0 added, 30 failed\n")
    assert told[0] == "line 2: action: must be text, not int"
    assert told[19].startswith("line 21: ")
    assert told[20:] == ["and 10 more", "error: 30 lines cannot be right; nothing was added"]
    assert editor.list().tasks == ()


def test_a_program_gets_the_failures_as_one_object(duebell: Duebell, file: Path) -> None:
    file.write_text("\n".join([line("a"), "oops", line("a")]))
    status, out, err = duebell("add", "--from", str(file), "--json")
    [document] = lines(out)
    assert (status, document["added"], document["there_already"]) == (2, 0, 0)
    assert [one["line"] for one in document["failures"]] == [2, 3]
    assert document["failures"][1]["detail"] == "id: 'a' is the id of line 1 too"
    assert lines(err)[0]["error"]["type"] == "usage"


def test_what_was_there_is_not_counted_as_added(duebell: Duebell, editor: Editor, file: Path) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a", "--payload", "1")
    file.write_text("\n".join([line("a"), line("b")]))
    again = ("add", "--from", str(file), "--if-exists", "keep")
    assert duebell(*again).out == "1 added, 1 there already, 0 failed\n"
    assert editor.get("a").payload == 1
    [document] = lines(duebell(*again, "--json").out)
    assert document == {"added": 0, "there_already": 2, "failures": []}


def test_chunks_are_written_before_the_next_is_read(
    duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given chunks of two, and someone who ends it at the second
    monkeypatch.setattr(add_file, "_CHUNK", 2)
    add_many = editor.add_many
    calls = mock.Mock(side_effect=[mock.DEFAULT, KeyboardInterrupt], wraps=add_many)
    given = "\n".join(line(f"t{number}") for number in range(5))
    with mock.patch.object(editor, "add_many", calls):
        status, out, err = duebell("add", "--from", "-", stdin=given)
    # Then it says what was stored, and that repeating it does no harm
    assert (status, out) == (130, "2 added, 0 failed\n")
    assert "broken off: up to 2 more lines may be stored; repeat it with --if-exists keep" in err
    # And that is so
    status, out, _ = duebell("add", "--from", "-", "--if-exists", "keep", stdin=given)
    assert (status, out) == (0, "3 added, 2 there already, 0 failed\n")


def test_lines_without_an_id_are_warned_of(duebell: Duebell, file: Path) -> None:
    file.write_text("\n".join([line("a"), line(), line()]))
    assert "warning: 2 lines without an id or `unique`: if this" in duebell("add", "--from", str(file)).err


@pytest.mark.parametrize(
    "option",
    [
        ("--payload", "1"),
        ("--id", "a"),
        ("--in", "1h"),
    ],
)
def test_what_means_nothing_beside_a_file_is_refused(duebell: Duebell, option: tuple[str, str]) -> None:
    status, _, err = duebell("add", "--from", "-", *option)
    assert (status, err) == (2, f"error: --from goes without {option[0]}: that stands in its lines\n")


def test_it_stops_when_aws_is_away(duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given AWS that does not answer, and more lines than are written at once
    monkeypatch.setattr(add_file, "_CHUNK", 10)
    insert = mock.Mock(side_effect=lambda tasks: [errors.AwsUnavailable("throttled")] * len(tasks))
    with mock.patch.object(editor._store, "insert_many", insert):
        status, out, err = duebell("add", "--from", "-", stdin="\n".join(line(f"t{n}") for n in range(60)))
    # Then the rest is not tried
    assert (status, out, insert.call_count) == (5, "0 added, 10 failed\n", 1)
    assert err.splitlines()[-1] == "error: throttled"


def test_what_is_stored_is_rung_for_when_it_is_broken_off(duebell: Duebell, editor: Editor) -> None:
    # Given that someone presses Ctrl-C when a task is stored, and before the rule is set for it
    with mock.patch.object(editor._rule, "arm", side_effect=KeyboardInterrupt):
        status, _, err = duebell("add", "--from", "-", stdin=line("a"))
    # Then it is, all the same
    assert status == 130
    assert "broken off" in err
    found = editor.status()
    assert found.healthy
    assert found.rings_at
