"""The commands about one task, run as a program runs them, over the library on moto."""

import re

from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app
from tests.cli.program import Duebell, fail, lines


def test_json_is_the_same_here_and_over_http(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a", "--payload", '{"n": [1e22, 12345678901234567890123, "ü"]}')
    duebell("add", "x", "--schedule", "rate(1 hour)", "--id", "b")
    fail(editor, "a")
    client = TestClient(create_app(editor), base_url="http://localhost")
    for task_id in ("a", "b"):
        assert lines(duebell("show", task_id, "--json").out) == [client.get(f"/api/tasks/{task_id}").json()]
    assert lines(duebell("status", "--json").out) == [client.get("/api/status").json()]


def test_show_tells_all_there_is_to_know(duebell: Duebell, editor: Editor) -> None:
    duebell(
        "add", "x", "--in", "1h", "--id", "a [bold]", "--payload", '{"text": "\\u001b[31m \\u202e ü [red]"}'
    )
    fail(editor, "a [bold]")
    status, out, _ = duebell("show", "a [bold]")
    facts = dict(re.findall(r"(?m)^(\w+(?: \w+)*)  +(.*)$", out.partition("\nfailures\n")[0]))
    assert status == 0
    assert facts["id"].strip() == "a [bold]"
    assert facts["status"].strip() == "failed"
    assert facts["due"].strip() == "2026-11-21 13:00:00 UTC (in 1 h)"
    assert facts["failure"].strip() == "type: ValueError"
    assert r'"text": "\u001b[31m \u202e ü [red]"' in out
    assert "line 2" in out
    instant = "2026-11-21 13:00:00 UTC"
    told = [instant, "1", instant, instant, "ValueError", r"\x1b[2Jgone [red]"]
    assert re.split(r"  +", out.splitlines()[-1].strip()) == told
    assert "\x1b" not in out


def test_a_task_is_moved_paused_resumed_retried_and_cancelled(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a")
    assert duebell("move", "a", "--in", "2h").out.endswith("due 2026-11-21 14:00:00 UTC (in 2 h)\n")
    assert duebell("move", "a", "--due", "2026-11-21T16:00+01:00").out.endswith("15:00:00 UTC (in 3 h)\n")
    assert duebell("pause", "a").out.startswith("a: paused, x due ")
    assert duebell("pause", "a").err.startswith("error: cannot pause task 'a': it is paused")
    assert lines(duebell("resume", "a", "--json").out)[0]["status"] == "scheduled"
    fail(editor, "a")
    assert duebell("retry", "a").out.startswith("a: scheduled, ")
    assert duebell("cancel", "a").out.startswith("a: cancelled, ")
    assert duebell("cancel", "a").status == 4


def test_ids_that_begin_with_a_dash_follow_two(duebell: Duebell) -> None:
    duebell("add", "x", "--in", "1h", "--id", "-rf")
    assert "-rf" in duebell("show", "--", "-rf").out


def test_why_tells_what_a_task_waits_for_also_over_http(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a")
    status, out, _ = duebell("why", "a")
    assert (status, out.splitlines()) == (
        0,
        [
            "it is not due yet: 2026-11-21T13:00:00.000Z",
            "  it starts by 2026-11-21 13:03:30 UTC (in 1 h 4 min), if nothing goes wrong",
        ],
    )
    client = TestClient(create_app(editor), base_url="http://localhost")
    assert lines(duebell("why", "a", "--json").out) == [client.get("/api/tasks/a/why").json()]
    duebell("pause", "a")
    assert "duebell resume ID" in duebell("why", "a").out
    assert (duebell("why", "nobody").status, client.get("/api/tasks/nobody/why").status_code) == (3, 404)
