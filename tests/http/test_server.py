"""The HTTP editor on a port."""

import contextlib
import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
import uvicorn

from duebell_editor import DuebellError, Editor, InvalidSettings
from duebell_editor.http import serve

ODD_IDS = [
    "plain",
    "trial-expiry:XYZ123",
    "with/slashes/",
    "/",
    "//a",
    "a/../b",
    "per%cent",
    "%2F",
    "100%25",
    "q?x=1&y#frag",
    "a b+c",
    "ümlaut-你好-🔔",
    "\"quotes\" 'and' <b>markup</b>",
    "[bold]\\;:@=$,!*()",
    "x" * 256,
    "🔔" * 256,
]


@contextlib.contextmanager
def serving(editor: Editor, host: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a server that runs on any free port, until the end of the block."""
    servers: list[uvicorn.Server] = []
    urls: list[str] = []
    ready = threading.Event()

    class Kept(uvicorn.Server):
        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            servers.append(self)
            ready.set()

    monkeypatch.setattr(uvicorn, "Server", Kept)
    thread = threading.Thread(target=serve, args=(editor, host, 0), kwargs={"started": urls.append})
    thread.start()
    assert ready.wait(timeout=30)
    try:
        yield urls[0]
    finally:
        servers[0].should_exit = True
        thread.join(timeout=30)


def ask(url: str, method: str = "GET", body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_it_serves_the_page_and_the_api_and_is_quiet(
    editor: Editor, host: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(editor, host, monkeypatch) as url:
        page = ask(url)
        tasks = json.loads(ask(f"{url}api/tasks"))
    assert b"<title>duebell</title>" in page
    assert tasks == {"tasks": [], "cursor": None}
    assert capfd.readouterr() == ("", "")


def test_any_id_can_be_addressed(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    # A real server, because starlette's test client decodes `%25` twice.
    with serving(editor, "127.0.0.1", monkeypatch) as url:
        for id in ODD_IDS:
            editor.add("x", due=editor._clock(), id=id)
            path = f"{url}api/tasks/{quote(id, safe='')}"
            assert json.loads(ask(path))["id"] == id
            assert json.loads(ask(path, "PATCH", {"action": "other"}))["id"] == id
            assert json.loads(ask(path, "DELETE"))["id"] == id
            assert editor.get(id).status == "cancelled"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.org", "", "127.0.0.1:80"])
def test_it_serves_this_machine_only(editor: Editor, host: str) -> None:
    with pytest.raises(InvalidSettings, match="no login"):
        serve(editor, host)


def test_a_port_that_is_taken_is_said(editor: Editor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(DuebellError) as raised:
            serve(editor, port=port)
    assert str(raised.value) == (
        f"cannot serve on port {port} of 127.0.0.1: Address already in use; choose another port"
    )


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_said(editor: Editor, port: int) -> None:
    with pytest.raises(InvalidSettings, match="must be 0 to 65535"):
        serve(editor, port=port)
