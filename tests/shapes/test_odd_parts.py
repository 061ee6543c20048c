"""One odd item is shown as far as it can be read, everywhere, and everything else goes on."""

import contextlib
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from duebell import DuebellError, Status
from duebell_editor.cli.context import Context
from duebell_editor.cli.program import app
from duebell_editor.http import create_app

from .conftest import SOON, Scene, but, number, text

pytestmark = pytest.mark.slow

TIME = "2026-11-21T12:10:00Z"


def recurring(schedule: Mapping[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
    """One that recurs every hour."""
    recurrence = {
        "schedule": {"expression": "rate(1 hour)", "start": TIME, **(schedule or {})},
        "next_due": TIME,
    }
    return but(recurrence=text(json.dumps({**recurrence, **changed})))


ODD: dict[str, Mapping[str, Any]] = {
    "a payload of 100,000 levels": but(payload=text("[" * 100_000 + "]" * 100_000)),
    "a payload with a number beyond all floats": but(payload=text('{"n": [1e400, -1e400]}')),
    "a payload with a number of 5,000 digits": but(payload=text("9" * 5_000)),
    "a payload with half of a surrogate pair": but(payload=text('{"\\ud800": "\\udc00"}')),
    "a due date at the beginning": but(due=text("0001-01-01T00:00:00.000Z")),
    "a due date at the end": but(due=text("9999-12-31T23:59:59.999Z"), spread=number(10_000)),
    "a nameless action": but(action=text("")),
    "an action that plays tricks": but(action=text("\x1b[2J\u202e\n" * 1_000)),
    "a run of 100 KB": but(run=text("\x00" * 100_000)),
    "a failure of 100 KB": but(failure=text(json.dumps({"type": "\x00", "message": "\x00" * 50_000}))),
    "done, and in the queue": but(status=text("done")),
    "paused, and in the queue": but(status=text("paused")),
    "a start before the calendar": recurring({"start": "0001-01-01T00:00:00+14:00"}),
    "a next time at the end": recurring(next_due="9999-12-31T23:59:59.999Z"),
    "a recurrence of many levels": but(recurrence=text('{"schedule":' * 10_000)),
    "a schedule that takes long to read": recurring({"expression": "at(" + " " * 100_000}),
}

EVERY = "/api/tasks?" + "&".join(f"status={status}" for status in Status)

SHOWN = (
    "/api/tasks",
    "/api/tasks?brief=true",
    EVERY,
    f"{EVERY}&brief=true",
    "/api/tasks?status=done&status=failed&latest_first=true",
    "/api/tasks/a",
    "/api/timeline?start=2026-11-21T12:00:00Z",
    "/api/timeline?start=2026-11-21T12:00:00Z&step=day",
    "/api/history?start=2026-11-21T00:00:00Z",
    "/api/history?start=2026-01-01T00:00:00Z&step=day",
    "/api/status",
    "/api/doctor",
)

COMMANDS = (["list"], ["list", "--json"], ["list", "--status", "done", "--status", "failed"], ["doctor"])


#: Some at a time: the calls to AWS of a test are counted, and so is its time.
SOME = 10
HANDFULS = [dict(list(ODD.items())[first : first + SOME]) for first in range(0, len(ODD), SOME)]


def check_all_is_shown(scene: Scene) -> None:
    """Look at the queue in every way; none of them fails, and the task "a" is there."""
    client = TestClient(create_app(scene.editor), base_url="http://127.0.0.1", raise_server_exceptions=False)
    for path in SHOWN:
        scene.calls.clear()
        answer = client.get(path)
        assert answer.status_code == 200, (path, answer.text[:300])
    listed = client.get(EVERY).json()["tasks"]
    assert "a" in {task["id"] for task in listed}
    for body in ({"do": "pause", "where": {}, "dry_run": True}, {"do": "resume", "ids": [*ODD, "a"]}):
        scene.calls.clear()
        assert client.post("/api/bulk", json=body).status_code == 200, body
    for command in COMMANDS:
        scene.calls.clear()
        result = CliRunner().invoke(app, command)
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result)
    assert any(b'"id":"a"' in line for line in scene.editor.export_tasks())


def check_is_shown(id: str, scene: Scene) -> None:
    """Look at one item: it is shown, or it is said what it is."""
    client = TestClient(create_app(scene.editor), base_url="http://127.0.0.1", raise_server_exceptions=False)
    scene.calls.clear()
    answer = client.get(f"/api/tasks/{quote(id)}")
    assert answer.is_success or answer.json()["type"] == "urn:duebell:unreadable-task", (id, answer.text)
    scene.calls.clear()
    answer = client.get(f"/api/tasks/{quote(id)}/why")
    assert answer.is_success or answer.json()["type"] == "urn:duebell:unreadable-task", (id, answer.text)
    for command in (["show", id], ["show", id, "--json"]):
        result = CliRunner().invoke(app, command)
        assert isinstance(result.exception, SystemExit | DuebellError | None), (command, result)


@pytest.mark.parametrize("items", HANDFULS, ids=[next(iter(items)) for items in HANDFULS])
def test_odd_items_break_nothing(
    items: Mapping[str, Mapping[str, Any]], scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a task, and items that another tool wrote
    monkeypatch.setattr(Context, "editor", lambda _: scene.editor)
    scene.editor.add("note", due=SOON, id="a")
    for id, item in items.items():
        scene.table.put(id, item)

    # When the queue is looked at, then everything is shown
    check_all_is_shown(scene)
    for id in items:
        check_is_shown(id, scene)

    # And when runs come by, then the other task is done, and everything is shown still
    scene.clock.advance(2 * SOON)
    for _ in range(3):
        scene.run()
        scene.clock.advance(timedelta(minutes=7))
    assert scene.editor.get("a").status is Status.DONE
    check_all_is_shown(scene)

    # And whatever is tried on an odd one, it works or is refused in duebell's own words
    for id in items:
        check_can_be_tried(id, scene)


def check_can_be_tried(id: str, scene: Scene) -> None:
    """Do everything to one item."""
    editor = scene.editor
    changes: list[Callable[[], object]] = [
        lambda: editor.pause(id),
        lambda: editor.move(id, due=SOON),
        lambda: editor.update(id, spread=timedelta(seconds=1)),
        lambda: editor.update(id, payload={"n": 1}),
        lambda: editor.resume(id),
        lambda: editor.run_now(id),
        lambda: editor.retry(id),
        lambda: editor.cancel(id),
    ]
    for change in changes:
        scene.calls.clear()
        with contextlib.suppress(DuebellError):
            change()
    check_is_shown(id, scene)
