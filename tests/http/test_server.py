"""The HTTP editor on a port; clients that are too slow, or too many, cost nobody else the server."""

import contextlib
import json
import signal
import socket
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
import uvicorn
from fastapi import FastAPI

from duebell import DuebellError, Editor
from duebell_editor.http import limits as deadlines
from duebell_editor.http import serve, server
from duebell_editor.http.limits import Deadlines
from duebell_editor.http.routes import changes
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
        with urllib.request.urlopen(f"{url}api/tasks", timeout=30) as answer:
            assert answer.headers["server"] is None
            tasks = json.load(answer)
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


def test_streams_of_changes_end_with_the_server(editor: Editor) -> None:
    with serving(editor) as url:
        stream = urllib.request.urlopen(f"{url}api/changes", timeout=30)
        assert stream.readline() == b"event: ready\n"
    # The server has ended, and with it the stream
    assert stream.read().endswith(b": still here\n\n")


def test_connections_that_last_too_long_are_closed(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a shutdown that leaves a connection behind, as one of somebody who does not read
    async def shutdown(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        for listening in self.servers:
            listening.close()

    monkeypatch.setattr(uvicorn.Server, "shutdown", shutdown)
    with serving(editor) as url:
        client = connect(url)
        client.sendall(f"HEAD /openapi.json HTTP/1.1\r\n{HOST}\r\n".encode())
        assert client.recv(1)
    # Then it is closed when the server has ended
    with client:
        all_of(client)


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

    def ask_it(url: str) -> None:
        answers.append(clients.submit(ask, f"{url}api/tasks"))

    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup
    # When it serves, it answers and ends, and the caller's handler is told at last
    with ThreadPoolExecutor(1) as clients, pytest.raises(Ended), ended_by_signal():
        serve(editor, port=0, started=ask_it)
    assert json.loads(answers[0].result()) == {"tasks": [], "cursor": None}


def test_a_port_that_is_taken_is_said(editor: Editor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(
            DuebellError, match=f"cannot serve on port {port} .*: Address already in use; cho"
        ):
            serve(editor, port=port)


SOON = 0.5

HOST = "Host: 127.0.0.1\r\n"
POST = f"POST /api/preview HTTP/1.1\r\n{HOST}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"


@pytest.fixture
def url(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server whose patience ends soon."""
    for name in ("_HEAD_SECONDS", "_READING_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(deadlines, name, SOON)
    monkeypatch.setattr(deadlines, "_CUT_OFF_BODY_SECONDS", 4 * SOON)
    with serving(editor) as url:
        yield url


def address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").removesuffix("/").partition(":")
    return host, int(port)


def connect(url: str) -> socket.socket:
    return socket.create_connection(address(url), timeout=30)


def all_of(client: socket.socket) -> bytes:
    """All bytes until the server closes the connection."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while some := client.recv(65_536):
            got += some
    return got


def test_headers_that_come_a_byte_at_a_time_are_not_waited_for(url: str) -> None:
    got = b""
    with connect(url) as client, contextlib.suppress(ConnectionError):
        client.settimeout(SOON / 10)
        for byte in f"GET / HTTP/1.1\r\n{HOST}X-Long: ".ljust(2_000, "x").encode():
            client.sendall(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                some = client.recv(65_536)
                if not some:
                    break
                got += some
        else:
            pytest.fail("the server was still listening")
    # The answer may be lost, as the client sent more to a connection that was closed
    assert got in {deadlines._SLOW_CLIENT, b""}


def test_a_body_that_does_not_come_is_answered_with_408_and_the_connection_is_closed(url: str) -> None:
    with connect(url) as client:
        client.sendall(f'{POST}{{"schedule":'.encode())
        head, _, body = all_of(client).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in head
    assert json.loads(body)["detail"] == "the body must come within 30 seconds"


def test_a_client_that_does_not_read_is_cut_off(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a client that asks for much and reads nothing
    monkeypatch.setattr(deadlines, "_READING_SECONDS", SOON)
    lost = threading.Event()
    real = Deadlines.connection_lost

    def connection_lost(self: Deadlines, exc: Exception | None) -> None:
        real(self, exc)
        if self.client == client.getsockname():
            lost.set()

    monkeypatch.setattr(Deadlines, "connection_lost", connection_lost)
    with serving(editor) as url, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(30)
        client.connect(address(url))
        count = 200
        client.sendall(f"GET /openapi.json HTTP/1.1\r\n{HOST}\r\n".encode() * count)
        # Then the server ends the connection, and what it had not sent is lost
        assert lost.wait(timeout=30)
        got = len(all_of(client))
        with urllib.request.urlopen(f"{url}openapi.json", timeout=30) as answer:
            assert got < count * len(answer.read())


def test_a_stream_has_no_deadline(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_QUIET", "_BUSY", "_STEP"):
        monkeypatch.setattr(changes, name, SOON)
    seen: list[Any] = []
    with urllib.request.urlopen(f"{url}api/changes", timeout=30) as stream:
        while seen.count(b": still here\n") < 8:
            seen.append(stream.readline())
            assert seen[-1]
