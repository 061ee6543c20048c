"""The command `add`: one task, many from a file, and times that may not be meant."""

import json
import re
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest

from duebell import Editor, FollowUp
from duebell_editor.cli import add as add_file
from duebell_shared import errors
from duebell_shared.instants import render
from tests.cli.program import Duebell, lines


def test_add_says_what_was_added(duebell: Duebell, editor: Editor) -> None:
    outcome = duebell("add", "put_on_sale", "--in", "3h", "--payload", '{"item": 42}', "--id", "sale-42")
    assert outcome == (0, "sale-42: scheduled, put_on_sale due 2026-11-21 15:00:00 UTC (in 3 h)\n", "")
    task = editor.get("sale-42")
    assert task.payload == {"item": 42}
    assert editor.status().rings_at == task.due


def test_a_payload_comes_from_a_file_or_stdin(duebell: Duebell, editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('["ü", 12345678901234567890123]', encoding="utf-8")
    for id, option, name, stdin in (
        ("a", "--payload-file", str(file), ""),
        ("b", "--payload-file", "-", file.read_text(encoding="utf-8")),
    ):
        assert duebell("add", "x", "--in", "1h", "--id", id, option, name, stdin=stdin).status == 0
        assert editor.get(id).payload == ["ü", 12345678901234567890123]


def test_tags_are_given_shown_and_filtered_by(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a", "--tags", "red,customer:42")
    duebell("add", "x", "--in", "1h", "--id", "b")
    assert "red, customer:42" in duebell("show", "a").out
    assert "tags" not in duebell("show", "b").out
    assert [task["id"] for task in lines(duebell("list", "--tag", "red", "--json").out)] == ["a"]
    assert duebell("pause", "--tag", "customer:42", "--yes").status == 0
    assert [editor.get(id).status for id in "ab"] == ["paused", "scheduled"]
    assert duebell("update", "a", "--no-tags").status == 0
    assert editor.get("a").tags == ()


def test_follow_ups_are_given_changed_and_shown(duebell: Duebell, editor: Editor) -> None:
    then = ("--then", '{"action": "invoice", "payload": {"n": 1}, "after": 3600}')
    assert duebell("add", "x", "--in", "1h", "--id", "a", "--on-failed", "tell", *then).status == 0
    then_invoice = FollowUp(action="invoice", payload_json='{"n":1}', after=timedelta(hours=1))
    assert editor.get("a").then == then_invoice
    shown = duebell("show", "a").out
    assert "after: 1:00:00" in shown
    assert re.search("on failed +tell", shown)
    assert duebell("update", "a", "--no-on-failed", "--no-then").status == 0
    assert editor.get("a").then is None
    assert "on failed" not in duebell("show", "a").out
    # And that no action is told of a failure is another thing than that nothing is said of it
    duebell("update", "a", "--on-failed", "")
    assert re.search("on failed +nothing", duebell("show", "a").out)
    assert duebell("update", "a", "--then", "report").status == 0
    assert editor.get("a").then == FollowUp(action="report", payload_json="{}")
    assert "--then is not JSON" in duebell("add", "x", "--in", "1h", "--then", "{").err


def test_a_task_that_is_unique_is_found_again(duebell: Duebell, editor: Editor) -> None:
    first = editor.add("ship", due=timedelta(hours=1), payload={"item": 1}, unique=True)
    for names in ("item", "*"):
        added = duebell("add", "ship", "--in", "1h", "--payload", '{"item": 1}', "--unique", names)
        assert (added.status, first.id in added.err) == (4, True)
    again = '{"action": "ship", "in": 60, "payload": {"item": 1.0}, "unique": true}'
    added = duebell("add", "--from", "-", "--if-exists", "keep", stdin=again)
    assert added.out == "0 added, 1 there already\n"


def test_a_push_puts_a_task_off_for_its_longest_wait(duebell: Duebell, editor: Editor) -> None:
    push = ("--if-exists", "push", "--max-wait", "15m")
    due = editor.add("index", id="one", due=timedelta(minutes=10)).due
    again = '{"action": "index", "in": 7200, "id": "one", "payload": 3}\n'
    assert duebell("add", "--from", "-", *push, stdin=again).status == 0
    task = editor.get("one")
    assert (task.due, task.payload) == (due + timedelta(minutes=5), 3)
    assert "max-wait: is only for pushes" in duebell("add", "index", "--in", "1h", "--max-wait", "15m").err


def test_a_batch(duebell: Duebell, editor: Editor) -> None:
    then = '{"action": "report", "payload": {"month": 1}}'
    made = duebell("batch", "b", "--then", then, "--on-failed", "alarm")
    assert made == (0, "b: blocked, 0 of 0 have ended, 0 failed; open for more\n", "")
    assert duebell("add", "work", "--in", "1h", "--id", "m", "--batch", "b").status == 0
    assert duebell("batch", "b", "--close").out == "b: blocked, 0 of 1 have ended, 0 failed\n"
    [shown] = lines(duebell("batch", "b", "--json").out)
    assert (shown["members"]["left"], shown["members"]["on_failed"]) == (1, "alarm")
    assert "left: 1" in duebell("show", "b").out
    assert duebell("batch", "m").status == 2
    assert editor.get("b").payload["month"] == 1
    editor.add("work", due=timedelta(hours=1), id="m2")
    waits = duebell("batch", "c", "--wait-for", "m2", "--wait-for", "b", "--then", "report")
    assert waits.out == "c: blocked, 0 of 2 have ended, 0 failed\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.jsonl"


def line(id: str | None = None, **more: object) -> str:
    return json.dumps({"action": "x", "in": 3600, **({"id": id} if id else {}), **more}, ensure_ascii=False)


def test_lines_that_cannot_be_right_are_told_and_nothing_is_added(
    duebell: Duebell, editor: Editor, file: Path
) -> None:
    # Given a file with a good line, some that cannot be right, and more of the last kind
    wrong = {
        "oops": "task: is not JSON",
        "[]": "task: must be a JSON object with the arguments of a task",
        '{"action": "x", "in": 1, "due": "2026-12-31T09:00Z"}': "in: cannot be combined with a due date",
        '{"action": "x", "when": 1}': "when: is not a field of a task; the fields are action, payload, due",
        line("first"): "id: 'first' is the id of line 1 too",
    }
    more = ['{"action": 7, "in": 1}'] * 30
    file.write_text("\n".join([line("first"), *wrong, *more]))
    # When it is added, for people and for programs
    status, out, err = duebell("add", "--from", str(file))
    as_json = duebell("add", "--from", str(file), "--json")
    # Then twenty are told with their numbers, the rest are counted, and nothing was added
    told = err.splitlines()
    assert (status, out) == (2, "0 added, 35 failed\n")
    for number, message in enumerate([*wrong.values(), *["action: must be text, not int"] * 15], start=2):
        assert told[number - 2].startswith(f"line {number}: {message}")
    assert told[20:] == ["and 15 more", "error: 35 lines cannot be right; nothing was added"]
    assert [one["line"] for one in lines(as_json.out)[0]["failures"]] == list(range(2, 37))
    assert lines(as_json.err)[0]["error"]["type"] == "usage"
    assert editor.list().tasks == ()


def test_chunks_are_written_before_the_next_is_read(
    duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given chunks of two, and someone who ends it at the second
    monkeypatch.setattr(add_file, "_CHUNK", 2)
    ends = [mock.DEFAULT, mock.DEFAULT, KeyboardInterrupt]  # the first call checks all of them
    calls = mock.Mock(side_effect=ends, wraps=editor.add_many)
    given = "\n".join(line(f"t{number}") for number in range(5))
    with mock.patch.object(editor, "add_many", calls):
        status, out, err = duebell("add", "--from", "-", stdin=given)
    # Then it says what was stored, and that repeating it does no harm
    assert (status, out) == (130, "2 added\n")
    assert "broken off: up to 2 more lines may be stored; repeat it with --if-exists keep" in err
    # And that is so
    again = duebell("add", "--from", "-", "--if-exists", "keep", stdin=given)
    assert again.out == "3 added, 2 there already\n"


def test_it_stops_when_aws_is_away(duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given AWS that does not answer, and more lines than are written at once
    monkeypatch.setattr(add_file, "_CHUNK", 10)
    insert = mock.Mock(side_effect=lambda tasks: [errors.AwsUnavailable("throttled")] * len(tasks))
    with mock.patch.object(editor._store, "insert_many", insert):
        status, out, err = duebell("add", "--from", "-", stdin="\n".join(line(f"t{n}") for n in range(60)))
    # Then the rest is not tried
    assert (status, out, insert.call_count) == (5, "0 added, 10 failed\n", 1)
    assert err.splitlines()[-1] == "error: throttled"


def test_an_add_that_is_broken_off_sets_the_rule_for_stored_tasks(duebell: Duebell, editor: Editor) -> None:
    # Given that someone presses Ctrl-C when a task is stored, and before the rule is set for it
    with mock.patch.object(editor._rule, "arm", side_effect=KeyboardInterrupt):
        status, _, err = duebell("add", "--from", "-", stdin=line("a"))
    # Then it is, all the same
    assert (status, "broken off" in err) == (130, True)
    found = editor.status()
    assert found.healthy
    assert found.rings_at


def test_stored_tasks_are_counted_when_the_rule_cannot_be_set(duebell: Duebell, editor: Editor) -> None:
    with mock.patch.object(editor._rule, "arm", side_effect=errors.NotArmed("no rule")):
        status, out, err = duebell("add", "--from", "-", stdin=f"{line('a')}\n{line('b')}")
    assert (status, out) == (5, "2 added\n")
    assert "no rule; `duebell doctor --fix` sets it right" in err


def test_a_queue_comes_out_and_goes_in_again(duebell: Duebell, tmp_path: Path) -> None:
    duebell("add", "x", "--in", "1h", "--id", "ü", "--payload", '{"n": 12345678901234567890123}')
    duebell("add", "x", "--schedule", "rate(1 hour)", "--id", "r")
    exported = duebell("export").out
    assert sorted(line["id"] for line in lines(exported)) == ["r", "ü"]
    file = tmp_path / "queue.jsonl"
    file.write_text(exported, encoding="utf-8")
    assert duebell("import", str(file)).out == "0 written, 2 there already\n"
    assert "missing: No such file" in duebell("import", str(tmp_path / "missing")).err
    file.write_text(exported + "oops\n", encoding="utf-8")
    status, _, err = duebell("import", str(file))
    assert (status, "line 3: is no task that was exported" in err) == (2, True)


def test_many_are_added_from_a_file(duebell: Duebell, editor: Editor, file: Path) -> None:
    file.write_text(
        '{"action": "x", "due": "2026-12-31T09:00+01:00", "id": "a", "payload": {"n": 1}}\n'
        "\n"
        '{"action": "x", "in": 3600, "id": "b", "expires_after": 90}\n'
        '{"action": "x", "schedule": "rate(1 hour)", "id": "c", "end": "2027-01-01T00:00:00Z"}\n'
    )
    add = ("add", "--from", str(file))
    assert duebell(*add) == (0, "3 added\n", "")
    assert render(editor.get("a").due) == "2026-12-31T08:00:00.000Z"
    assert render(editor.get("b").due) == "2026-11-21T13:00:00.000Z"
    # And those that are there already are told, beside those that are not; one without an id is warned of
    with file.open("a") as more:
        more.write(line("d") + "\n" + line())
    status, out, err = duebell(*add)
    assert (status, out) == (7, "2 added, 3 failed\n")
    assert err.startswith("warning: 1 line without an id or `unique`: if this")
    assert "line 1: a task 'a' exists already: choose another id" in err
    # Or kept, and not counted as added
    assert duebell(*add, "--if-exists", "keep").out == "1 added, 4 there already\n"
    [document] = lines(duebell(*add, "--if-exists", "keep", "--json").out)
    assert document == {"added": 1, "there_already": 4, "failures": []}
    # And what stands in the lines is not given beside them
    for option, value in (("--in", "1h"), ("--in", "0s"), ("--priority", "0")):
        status, _, err = duebell(*add, option, value)
        words = f"error: --from cannot be combined with {option}: its lines have these fields\n"
        assert (status, err) == (2, words)


BERLIN = ("--timezone", "Europe/Berlin")


@pytest.mark.usefixtures("false_zones")
def test_times_are_read_by_the_package(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--due", "2026-12-31T09:00", *BERLIN, "--id", "once")
    duebell("add", "x", "--schedule", "0 9 * * *", *BERLIN, "--start", "2026-12-24T09:00", "--id", "daily")
    assert editor.get("once").due.isoformat() == "2026-12-31T08:00:00+00:00"
    assert editor.get("daily").due.isoformat() == "2026-12-24T08:00:00+00:00"
    # And told by it
    assert "2026-11-22 09:00:00 +0100" in duebell("preview", "0 9 * * *", *BERLIN).out
