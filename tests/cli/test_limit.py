"""The command `limit`, and what `actions` says of limits."""

import json

import pytest

from duebell import Editor, Worker
from duebell_editor.cli.context import Context
from duebell_shared.backend import Backend
from tests.cli.program import Duebell


@pytest.fixture
def worker(backend: Backend) -> Worker:
    worker = Worker(backend=backend)
    worker.action("mail", at_most=5)(lambda: None)
    worker.action("act")(lambda: None)
    worker.register()
    return worker


def test_an_action_is_limited_paused_and_put_back(duebell: Duebell, worker: Worker) -> None:
    assert duebell("limit", "mail", "--per-second", "2") == (
        0,
        "mail: 5 at a time, 2 a second (its code declares: 5 at a time)\n",
        "",
    )
    _, out, _ = duebell("limit", "mail", "--at-most", "0")
    assert out == "mail: paused (its code declares: 5 at a time)\n"
    _, out, _ = duebell("limit", "mail", "--as-declared")
    assert out == "mail: 5 at a time, as its code declares\n"


def test_an_action_is_closed_in_some_hours(duebell: Duebell, worker: Worker) -> None:
    hours = ("--closed", "22:00-06:00 Europe/Berlin", "--closed", "sat,sun")
    _, out, _ = duebell("limit", "mail", *hours)
    closed = "closed 22:00-06:00 Europe/Berlin; sat, sun UTC"
    assert out == f"mail: 5 at a time, {closed} (its code declares: 5 at a time)\n"
    # And that is told until when: it is Saturday
    assert "(now, until 2026-11-23" in " ".join(duebell("actions").out.split())
    _, out, _ = duebell("limit", "mail", "--closed", "never")
    assert out == "mail: 5 at a time, never closed (its code declares: 5 at a time)\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give --at-most, --per-second, --closed or --as-declared"),
        (("--as-declared", "--at-most", "1"), "goes without other limits"),
        (("--at-most", "-1"), "0 pauses"),
        (("--closed", "mon-sun"), "never opens"),
    ],
)
def test_what_is_wrong_is_said(
    duebell: Duebell, worker: Worker, arguments: tuple[str, ...], said: str
) -> None:
    status, _, error = duebell("limit", "mail", *arguments)
    assert status == 2
    assert said in error


def test_the_status_answers_why_nothing_is_started(
    duebell: Duebell, worker: Worker, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Context, "editor", lambda _: editor.acting_as("ann"))
    assert "limited" not in duebell("status").out
    duebell("add", "act", "--due", "2026-11-21T12:00:00Z", "--id", "one")
    duebell("limit", "act", "--at-most", "0")
    worker.run()
    status, out, _ = duebell("status")
    assert status == 6
    assert "`duebell limit act --as-declared` ends the pause" in " ".join(out.split())
    told = json.loads(duebell("status", "--json").out)["limited"]
    assert [(one["action"], one["paused"], one["waiting"]) for one in told] == [("act", True, 1)]
