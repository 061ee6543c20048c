"""What keeps other web sites, and strangers, out.

A page elsewhere can make the visitor's browser send requests to 127.0.0.1. It must not be able to change
anything (checked by Origin, and by allowing JSON bodies only, which browsers do not send across sites
unasked), nor to read anything by having its own name resolve to 127.0.0.1 (checked by Host). On another
address than this machine's own there are people behind the requests, and they need the token.
"""

import hmac
import re
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .problems import problem

__all__ = ["ANY_HOST", "Guard"]

#: As an allowed host: whatever name we are called by. For servers with a token, which no other site has.
ANY_HOST = "*"

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(:[0-9]+)?", re.ASCII)


class Guard:
    """Refuses, as ASGI middleware, what was not addressed to us, comes from elsewhere, or is not JSON."""

    def __init__(self, app: ASGIApp, *, allowed_hosts: Iterable[str] = (), token: str | None = None) -> None:
        self._app = app
        self._hosts = _LOOPBACK | {host.lower() for host in allowed_hosts}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, why = refusal
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None  # noqa: PLR2004
        await problem(status, why, headers=headers)(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        hosts = [host.lower() for host in headers.getlist("host")]
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 403, f"this server does not answer to the name {', '.join(hosts) or '(none)'!r}"
        if _is_from_elsewhere(scope["method"], headers, hosts[0]):
            return 403, "this request comes from another site"
        if scope["path"].startswith("/api") and not self._has_token(headers):
            return 401, "this server wants its token: Authorization: Bearer <token>"
        if _has_body(headers) and not _is_json(headers):
            return 415, "the body must be JSON, sent with Content-Type: application/json"
        return None

    def _is_ours(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        return match is not None and (match["name"] in self._hosts or ANY_HOST in self._hosts)

    def _has_token(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # Compared in constant time: how long it takes tells nothing of the token.
        is_it = hmac.compare_digest(given.strip().encode(), self._token.encode())
        return scheme.lower() == "bearer" and is_it


def _is_from_elsewhere(method: str, headers: Headers, host: str) -> bool:
    """By what browsers say: where a request comes from and, if it may change something, how far off."""
    is_change = method not in {"GET", "HEAD"}
    is_cross_site = headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}
    is_other_origin = any(not _is_same_site(origin, host) for origin in headers.getlist("origin"))
    return is_other_origin or (is_change and is_cross_site)


def _is_same_site(origin: str, host: str) -> bool:
    scheme, _, authority = origin.lower().partition("://")
    return scheme in {"http", "https"} and authority == host


def _has_body(headers: Headers) -> bool:
    """Whether a body is announced, or what kind it would be: an empty form is a form too."""
    is_announced = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return is_announced or "content-type" in headers


def _is_json(headers: Headers) -> bool:
    media_type = headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() == "application/json"
