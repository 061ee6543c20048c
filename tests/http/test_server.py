"""The HTTP editor on a port."""

import json
import signal
import socket
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
import uvicorn
from fastapi import FastAPI

from duebell import DuebellError, Editor, InvalidSettings
from duebell_editor.http import serve, server
from duebell_infra.local.signals import Ended, ended_by_signal
from tests.serving import serving

ODD_IDS = ["/", "//a", "a/../b", "%2F", "100%25", "q?x=1&y#frag", "a b+c", "[\"']\\;:@=$,!*()", "🔔" * 256]


def ask(url: str, method: str = "GET", body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_it_serves_the_page_and_the_api_and_is_quiet(
    editor: Editor, host: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(editor, host) as url:
        page = ask(url)
        tasks = json.loads(ask(f"{url}api/tasks"))
    assert b"<title>duebell</title>" in page
    assert tasks == {"tasks": [], "cursor": None}
    assert capfd.readouterr() == ("", "")


def test_any_id_can_be_addressed(editor: Editor) -> None:
    # A real server, because starlette's test client decodes `%25` twice.
    with serving(editor) as url:
        for id in ODD_IDS:
            editor.add("x", due=editor._clock(), id=id)
            path = f"{url}api/tasks/{quote(id, safe='')}"
            assert json.loads(ask(path))["id"] == id
            assert json.loads(ask(path, "PATCH", {"action": "other"}))["id"] == id
            assert json.loads(ask(path, "DELETE"))["id"] == id
            assert editor.get(id).status == "cancelled"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1"])
def test_without_a_token_it_serves_this_machine_only(editor: Editor, host: str) -> None:
    with pytest.raises(InvalidSettings, match="and that needs a token: "):
        serve(editor, host)


def test_streams_of_changes_end_with_the_server(editor: Editor) -> None:
    with serving(editor) as url:
        stream = urllib.request.urlopen(f"{url}api/changes", timeout=30)
        assert stream.readline() == b"event: ready\n"
    # The server has ended, and with it the stream
    assert stream.read().endswith(b": still here\n\n")


def test_connections_that_do_not_end_in_time_are_closed(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a shutdown that leaves a connection behind, as one of somebody who does not read
    async def shutdown(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        for listening in self.servers:
            listening.close()

    monkeypatch.setattr(uvicorn.Server, "shutdown", shutdown)
    with serving(editor) as url:
        host, _, port = url.removeprefix("http://").removesuffix("/").partition(":")
        client = socket.create_connection((host, int(port)), timeout=30)
        client.sendall(f"HEAD /openapi.json HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        assert client.recv(1)
    # Then it is closed when the server has ended
    with client:
        while client.recv(65_536):
            pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_of_a_request_ends_the_server(
    editor: Editor, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    # Given a server that is told to end while it answers a request
    def create_app(*given: Any, **named: Any) -> FastAPI:
        async def interrupt(request: Any, call_next: Any) -> Any:
            signal.raise_signal(number)
            return await call_next(request)

        app: FastAPI = real(*given, **named)
        app.middleware("http")(interrupt)
        return app

    real = server.__dict__["create_app"]
    monkeypatch.setattr(server, "create_app", create_app)
    answers: list[Future[bytes]] = []

    def connect(url: str) -> None:
        answers.append(clients.submit(ask, f"{url}api/tasks"))

    # When it serves, it answers and ends, and the caller's handler is told at last
    with ThreadPoolExecutor(1) as clients, pytest.raises(Ended), ended_by_signal():
        serve(editor, port=0, started=connect)
    assert json.loads(answers[0].result()) == {"tasks": [], "cursor": None}


def test_a_port_that_is_taken_is_said(editor: Editor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(
            DuebellError, match=f"cannot serve on port {port} .*: Address already in use; cho"
        ):
            serve(editor, port=port)
