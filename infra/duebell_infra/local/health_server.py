"""The HTTP server that tells the health of a long-running process: 200 while it is well, else 503."""

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from duebell_shared.errors import InvalidSettings
from duebell_shared.instants import to_json
from duebell_worker.process.process import Health

__all__ = ["HealthServer"]

#: Seconds after which a connection on which nothing comes is closed.
_PATIENCE = 5.0


class HealthServer:
    """Answers GET and HEAD of any path with the health as JSON, in threads of its own. It changes nothing.

    port  the port that it has
    """

    def __init__(self, host: str, port: int, health: Callable[[], Health]) -> None:
        """`port` 0 is any. Raises InvalidSettings if the address cannot be bound."""

        class Handler(_Handler):
            def health(self) -> Health:
                return health()

        kind = _OverIPv6 if ":" in host else ThreadingHTTPServer
        try:
            self._server = kind((host, port), Handler)
        except (OSError, OverflowError) as error:
            raise InvalidSettings(
                "health_port",
                f"{host} port {port} cannot be used: {error}; choose another with --health-port, or an "
                f"address of this machine with --health-host",
            ) from None
        self.port = int(self._server.server_address[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, name="duebell-health", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _OverIPv6(ThreadingHTTPServer):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    timeout = _PATIENCE
    server_version, sys_version = "duebell", ""

    def health(self) -> Health:
        raise NotImplementedError

    def do_GET(self) -> None:
        self._answer(has_body=True)

    def do_HEAD(self) -> None:
        self._answer(has_body=False)

    def _answer(self, *, has_body: bool) -> None:
        health = self.health()
        body = to_json(health).encode()
        self.send_response(200 if health.is_well else 503)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if has_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log no request: one comes every few seconds."""
