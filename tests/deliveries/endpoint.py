"""An HTTPS endpoint, here a local HTTP server."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest


@dataclass
class Endpoint:
    """An endpoint, its answer, and what was posted to it."""

    url: str = ""
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    said: bytes = b""
    missing: int = 0  # bytes that it announces, and does not send
    continues: int = 0  # how often it says `100 Continue` first
    posted: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            endpoint.posted.append((self.path, dict(self.headers), body))
            # The test sets the next answer as soon as the caller has read this one's headers.
            answer = replace(endpoint)
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * answer.continues)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.status != 204:
                self.send_header("Content-Length", str(len(answer.said) + answer.missing))
            with suppress(ConnectionError):  # the caller may have left
                self.end_headers()
                self.wfile.write(answer.said)
            self.close_connection |= answer.missing > 0

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        endpoint.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield endpoint
        server.shutdown()
        thread.join()
