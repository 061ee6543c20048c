"""`duebell editor`: what it serves, to whom, and what it writes of it."""

import re
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from duebell import Editor
from duebell_editor import http
from duebell_editor.cli.context import Context
from tests.cli.program import Duebell, lines
from tests.serving import serving

TOKEN = "0123456789abcdef"
PROOF = {"Authorization": f"Bearer {TOKEN}", "X-Forwarded-User": "anna", "X-Forwarded-For": "203.0.113.9"}


@pytest.fixture
def visit(duebell: Duebell, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[httpx.Response, str]]:
    """Have `duebell editor` serve on any port until someone has tried to add a task; answer and output."""

    def run(*options: str, **headers: str) -> tuple[httpx.Response, str]:
        answers = []

        def serve(editor: Editor, host: str, port: int, **given: Any) -> None:
            given.pop("started")
            with serving(editor, host, **given) as url:
                new = {"action": "x", "due": "2026-12-31T00:00:00Z"}
                answers.append(httpx.post(f"{url}api/tasks", json=new, headers=headers, timeout=30))

        monkeypatch.setattr(http, "serve", serve)
        status, out, err = duebell("editor", *options)
        assert (status, err) == (0, "")
        return answers[0], out

    return run


def test_a_server_that_only_shows_changes_nothing(editor: Editor, visit: Callable[..., Any]) -> None:
    answer, _ = visit("--read-only")
    assert (answer.status_code, editor.list().tasks) == (403, ())


def test_on_this_machine_alone_nothing_is_logged_unless_asked_for(visit: Callable[..., Any]) -> None:
    assert visit()[1] == ""
    assert [line["event"] for line in lines(visit("--access-log")[1])] == ["changed", "request"]


def test_with_a_token_each_request_and_each_change_is_a_line(
    visit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUEBELL_EDITOR_TOKEN", TOKEN)
    answer, out = visit("--identity-header", "X-Forwarded-User", **PROOF)
    assert TOKEN not in out
    changed, request = lines(out)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", changed.pop("timestamp"))
    assert changed == {
        "event": "changed",
        "level": "INFO",
        "what": "add",
        "who": "anna",
        "where": "http from 127.0.0.1",
        "id": answer.json()["id"],
        "action": "x",
        "to_status": "scheduled",
        "to_rev": 1,
    }
    assert list(request)[:3] == ["timestamp", "level", "event"]
    assert (request["path"], request["status"], request["who"]) == ("/api/tasks", 201, "anna")
    assert request["client"] == "127.0.0.1"


def test_with_a_token_too_nothing_is_logged_if_that_is_not_wanted(visit: Callable[..., Any]) -> None:
    assert visit("--no-access-log", "--token", TOKEN, **PROOF)[1] == ""


@pytest.mark.parametrize(("options", "by"), [((), "http"), (("--token", TOKEN), None)])
def test_only_without_a_token_changes_are_made_by_the_user_of_this_machine(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], by: str | None
) -> None:
    asked: list[str | None] = []
    monkeypatch.setattr(Context, "editor", lambda _, *, by: asked.append(by))
    monkeypatch.setattr(http, "serve", lambda *_, **__: None)
    assert duebell("editor", *options).status == 0
    assert asked == [by]


def test_without_fastapi_the_editor_says_what_to_install(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("duebell_editor.http")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    missing = "the HTTP editor needs fastapi, which is not installed: pip install 'duebell[http]'"
    assert duebell("editor") == (1, "", f"error: {missing}\n")
