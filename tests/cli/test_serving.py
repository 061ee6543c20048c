"""`duebell editor`: what it serves, to whom, and what it writes of it."""

import json
import logging
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from duebell import Editor
from duebell_editor import http
from duebell_editor.cli.context import Context
from tests.cli.program import Duebell
from tests.serving import serving

TOKEN = "0123456789abcdef"


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], object]], None]:
    """Have `duebell editor` serve on any port, until the visit is over."""

    def arrange(visitor: Callable[[str], object]) -> None:
        def serve(editor: Editor, host: str, port: int, **given: Any) -> None:
            given.pop("started")
            with serving(editor, host, **given) as url:
                visitor(url)

        monkeypatch.setattr(http, "serve", serve)

    return arrange


def ask(url: str, path: str, *, id: str = "a", **headers: str) -> Any:
    new = json.dumps({"action": "x", "due": "2026-12-31T00:00:00Z", "id": id}).encode()
    headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(f"{url}{path}", new, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def test_a_server_that_only_shows_changes_nothing(
    duebell: Duebell, editor: Editor, visit: Callable[..., None]
) -> None:
    def visitor(url: str) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(url, "api/tasks")
        with refused.value as answer:
            assert answer.code == 403

    visit(visitor)
    assert duebell("editor", "--read-only").status == 0
    assert editor.list().tasks == ()


def test_on_this_machine_alone_nothing_is_logged_unless_asked_for(
    duebell: Duebell, visit: Callable[..., None]
) -> None:
    visit(lambda url: ask(url, "api/tasks"))
    assert duebell("editor").out == ""
    visit(lambda url: ask(url, "api/tasks", id="b"))
    lines = [json.loads(line) for line in duebell("editor", "--access-log").out.splitlines()]
    assert [line["event"] for line in lines] == ["changed", "request"]


def test_with_a_token_each_request_and_each_change_is_a_line(
    duebell: Duebell, visit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUEBELL_EDITOR_TOKEN", TOKEN)
    proof = {"Authorization": f"Bearer {TOKEN}", "X-Forwarded-User": "anna", "X-Forwarded-For": "203.0.113.9"}

    def visitor(url: str) -> None:
        assert ask(url, "api/tasks", **proof)["changed_by"] == "anna"

    visit(visitor)
    status, out, err = duebell("editor", "--identity-header", "X-Forwarded-User")
    assert (status, err) == (0, "")
    assert TOKEN not in out
    changed, request = (json.loads(line) for line in out.splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", changed.pop("timestamp"))
    assert changed == {
        "event": "changed",
        "level": "INFO",
        "what": "add",
        "who": "anna",
        "where": "http from 127.0.0.1",
        "id": "a",
        "action": changed["action"],
        "to_status": "scheduled",
        "to_rev": 1,
    }
    assert list(request)[:3] == ["timestamp", "level", "event"]
    assert (request["path"], request["status"], request["who"]) == ("/api/tasks", 201, "anna")
    assert request["client"] == "127.0.0.1"
    # And not if that is not wanted
    visit(lambda _: None)
    logging.getLogger("duebell.http").handlers = []
    assert duebell("editor", "--no-access-log").out == ""


@pytest.mark.parametrize(("token", "by"), [(None, "http"), (TOKEN, None)])
def test_only_without_a_token_changes_are_made_by_the_user_of_this_machine(
    duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch, token: str | None, by: str | None
) -> None:
    asked: list[str | None] = []

    def editor_by(_: Context, *, by: str | None) -> Editor:
        asked.append(by)
        return editor

    monkeypatch.setattr(Context, "editor", editor_by)
    monkeypatch.setattr(http, "serve", lambda *_, **__: None)
    assert duebell("editor", *(("--token", token) if token else ())).status == 0
    assert asked == [by]


def test_without_fastapi_the_editor_says_what_to_install(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("duebell_editor.http")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    status, _, err = duebell("editor")
    assert status == 1
    assert (
        err == "error: the HTTP editor needs fastapi, which is not installed: pip install 'duebell[http]'\n"
    )
