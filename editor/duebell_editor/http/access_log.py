"""The access log: a line for each request, event `request`, logger `duebell.http`, level INFO.

A line has no query, and of the headers only the visitor's name: so no token, and no part of a payload.
"""

import logging
import time
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duebell_shared.log_lines import log_event

from .access import visitor_of

__all__ = ["AccessLog"]

_LOG = logging.getLogger("duebell.http")

#: Characters of a path that are logged.
_LONGEST = 500


class AccessLog:
    """Logs each request, as ASGI middleware: method, path, status, duration, and who sent it."""

    def __init__(self, app: ASGIApp, *, token: str | None = None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log it at its end; a stream too."""
        if scope["type"] != "http" or not _LOG.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})  # Access stores the visitor there
        started = time.monotonic()
        status: int | None = None

        async def send_and_keep_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_keep_status)
        except Exception:
            status = status or 500  # the framework's answer, made outside of all middleware
            raise
        finally:
            client = scope.get("client")
            log_event(
                _LOG,
                "request",
                method=scope["method"],
                path=self._path(scope),
                status=status,
                duration_ms=round((time.monotonic() - started) * 1000, 1),
                who=visitor_of(scope),
                client=client[0] if client else None,
            )

    def _path(self, scope: Scope) -> str:
        """The path as it was sent, percent-encoded, without the query, user name and password of a URL."""
        path = scope.get("raw_path", b"").partition(b"?")[0].decode("ascii", "backslashreplace")
        if not path.startswith("/"):
            path = "(none)"
        if self._token and self._token in unquote(path):
            path = "(held the token)"
        return f"{path[:_LONGEST]}…" if len(path) > _LONGEST else path
