"""Servers on a port, in a thread of the test: the HTTP editor, and one that takes whatever is sent to it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from unittest.mock import patch

import uvicorn
from fastapi import FastAPI

from duebell import Editor
from duebell_editor.http import serve, server

__all__ = ["listening", "serving"]


@contextmanager
def serving(editor: Editor, host: str = "127.0.0.1", **given: Any) -> Iterator[str]:
    """The URL of the HTTP editor over this editor, on any free port, until the end of the block."""
    servers: list[uvicorn.Server] = []
    urls: list[str] = []
    ready = threading.Event()

    class Kept(server._Server):
        def __init__(self, app: FastAPI) -> None:
            super().__init__(app)
            servers.append(self)
            ready.set()

    given = {"started": urls.append, **given}
    with patch.object(server, "_Server", Kept):
        thread = threading.Thread(target=serve, args=(editor, host, 0), kwargs=given, daemon=True)
        thread.start()
        assert ready.wait(timeout=30)
    try:
        yield urls[0]
    finally:
        servers[0].should_exit = True
        thread.join(timeout=30)


@contextmanager
def listening() -> Iterator[tuple[str, list[Any]]]:
    """An address that takes what is sent to it, and what was sent: each body with its headers."""
    heard: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append((body, dict(self.headers)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    taking = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=taking.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{taking.server_port}/hook", heard
    finally:
        taking.shutdown()
        taking.server_close()
