"""`add` of one task: what it says, where the payload comes from, and an id that is taken."""

from datetime import timedelta
from pathlib import Path
from unittest import mock

from duebell import Editor, FollowUp
from duebell_shared import errors
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
        ("c", "--payload", "-", file.read_text(encoding="utf-8")),
    ):
        assert duebell("add", "x", "--in", "1h", "--id", id, option, name, stdin=stdin).status == 0
        assert editor.get(id).payload == ["ü", 12345678901234567890123]


def test_unique(duebell: Duebell, editor: Editor, tmp_path: Path) -> None:
    # Given a task that is unique by its payload
    first = editor.add("ship", due=timedelta(hours=1), payload={"item": 1}, unique=True)
    # When the same is added with its names, with `*`, and by a line of a file
    for names in ("item", "*"):
        added = duebell("add", "ship", "--in", "1h", "--payload", '{"item": 1}', "--unique", names)
        assert (added.status, first.id in added.err) == (4, True)
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"action": "ship", "in": 60, "payload": {"item": 1.0}, "unique": true}')
    added = duebell("add", "--from", str(file), "--if-exists", "keep")
    # Then it is there already
    assert (added.status, added.out) == (0, "0 added, 1 there already, 0 failed\n")
    assert editor.list().tasks == (first,)


def test_a_task_that_could_not_be_armed_is_named(duebell: Duebell, editor: Editor) -> None:
    refusal = errors.AwsRefused("not allowed\nto PutRule")
    with mock.patch.object(editor._backend.rule, "ring_at", side_effect=refusal):
        status, out, err = duebell("add", "x", "--in", "1h", "--id", "a")
    assert (status, out) == (5, "")
    assert "'a' is stored, but" in err
    assert "`duebell doctor --fix` sets it right" in err
    assert err.count("\n") == 1


def test_a_push(duebell: Duebell, editor: Editor, tmp_path: Path) -> None:
    push = ("add", "index", "--id", "one", "--if-exists", "push", "--max-wait", "15m")
    assert duebell(*push, "--in", "10m").status == 0
    due = editor.get("one").due
    assert duebell(*push, "--in", "2h").status == 0
    assert editor.get("one").due == due + timedelta(minutes=5)
    refused = duebell("add", "index", "--in", "1h", "--max-wait", "15m")
    assert (refused.status, "max-wait: goes with" in refused.err) == (2, True)
    lines = tmp_path / "tasks.jsonl"
    lines.write_text('{"action": "index", "in": 7200, "id": "one", "payload": 3}\n')
    assert duebell("add", "--from", str(lines), "--if-exists", "push", "--max-wait", "15m").status == 0
    task = editor.get("one")
    assert (task.due, task.payload) == (due + timedelta(minutes=5), 3)


def test_tags_are_given_shown_and_filtered_by(duebell: Duebell, editor: Editor) -> None:
    assert duebell("add", "x", "--in", "1h", "--id", "a", "--tags", "red,customer:42").status == 0
    assert duebell("add", "x", "--in", "1h", "--id", "b").status == 0
    assert editor.get("a").tags == ("red", "customer:42")
    assert "red, customer:42" in duebell("show", "a").out
    assert "tags" not in duebell("show", "b").out
    listed = duebell("list", "--tag", "red").out
    assert "a" in listed.split()
    assert "b" not in listed.split()
    assert duebell("pause", "--tag", "customer:42", "--yes").status == 0
    assert [editor.get(id).status for id in "ab"] == ["paused", "scheduled"]
    assert duebell("update", "a", "--no-tags").status == 0
    assert editor.get("a").tags == ()
    status, _, err = duebell("add", "x", "--in", "1h", "--tags", "a b")
    assert (status, "tags: must each be 1 to 50" in err) == (2, True)


def test_follow_ups_are_given_changed_and_shown(duebell: Duebell, editor: Editor) -> None:
    then = ("--then", "invoice", "--then-payload", '{"n": 1}', "--then-after", "1h")
    assert duebell("add", "x", "--in", "1h", "--id", "a", "--on-failed", "tell", *then).status == 0
    task = editor.get("a")
    assert task.on_failed == "tell"
    assert task.then == FollowUp(action="invoice", payload_json='{"n":1}', after=timedelta(hours=1))
    shown = duebell("show", "a").out
    assert "after: 1:00:00" in shown
    assert "tell" in shown

    assert duebell("update", "a", "--no-on-failed", "--no-then").status == 0
    task = editor.get("a")
    assert (task.on_failed, task.then) == (None, None)

    status, _, err = duebell("add", "x", "--in", "1h", "--then-after", "1h")
    assert (status, "go with --then" in err) == (2, True)


def test_a_batch(duebell: Duebell, editor: Editor) -> None:
    made = duebell("batch", "b", "--then", "report", "--then-payload", '{"month": 1}', "--on-failed", "alarm")
    assert made == (0, "b: blocked, 0 of 0 have ended, 0 failed; open for more\n", "")
    assert duebell("add", "work", "--in", "1h", "--id", "m", "--batch", "b").status == 0
    assert duebell("batch", "b", "--close").out == "b: blocked, 0 of 1 have ended, 0 failed\n"
    [shown] = lines(duebell("batch", "b", "--json").out)
    assert (shown["members"]["left"], shown["members"]["on_failed"]) == (1, "alarm")
    assert "left: 1" in duebell("show", "b").out
    assert "b" in duebell("show", "m").out
    assert duebell("list", "--status", "blocked").out.startswith("b\tblocked\treport\t")
    assert duebell("add", "work", "--in", "1h", "--batch", "b").status == 4
    assert duebell("batch", "m").status == 2
    assert editor.get("b").payload["month"] == 1
    editor.add("work", due=timedelta(hours=1), id="m2")
    waits = duebell("batch", "c", "--wait-for", "m2", "--wait-for", "b", "--then", "report")
    assert waits.out == "c: blocked, 0 of 2 have ended, 0 failed\n"
