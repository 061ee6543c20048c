"""What keeps other web sites out of a server that has no login.

A page elsewhere can make the visitor's browser send requests to 127.0.0.1. It must not be able to change
anything (checked by Origin, and by allowing JSON bodies only, which browsers do not send across sites
unasked), nor to read anything by having its own name resolve to 127.0.0.1 (checked by Host).
"""

import re
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .problems import problem

__all__ = ["Guard"]

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(:[0-9]+)?", re.ASCII)


class Guard:
    """Refuses, as ASGI middleware, what was not addressed to us, comes from another site, or is not JSON."""

    def __init__(self, app: ASGIApp, *, allowed_hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = _LOOPBACK | {host.lower() for host in allowed_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await problem(*refusal)(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        hosts = [host.lower() for host in headers.getlist("host")]
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 403, f"this server does not answer to the name {', '.join(hosts) or '(none)'!r}"
        if any(not _is_same_site(origin, hosts[0]) for origin in headers.getlist("origin")):
            return 403, "this request comes from another site"
        if _has_body(scope["method"], headers) and not _is_json(headers):
            return 415, "the body must be JSON, sent with Content-Type: application/json"
        return None

    def _is_ours(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        return match is not None and match["name"] in self._hosts


def _is_same_site(origin: str, host: str) -> bool:
    scheme, _, authority = origin.lower().partition("://")
    return scheme in {"http", "https"} and authority == host


def _has_body(method: str, headers: Headers) -> bool:
    """POST, PUT and PATCH always have one as far as we are concerned; the others may."""
    is_announced = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return method in {"POST", "PUT", "PATCH"} or is_announced


def _is_json(headers: Headers) -> bool:
    media_type = headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() == "application/json"
