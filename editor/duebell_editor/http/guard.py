"""What keeps other web sites, and strangers, out.

A page elsewhere can make the visitor's browser send requests to 127.0.0.1. It must not be able to change
anything (checked by Origin, and by allowing JSON bodies only, which browsers do not send across sites
unasked), nor to read anything by having its own name resolve to 127.0.0.1 (checked by Host). On another
address than this machine's own there are people behind the requests, and they need the token.
"""

import hmac
import re
from collections.abc import Collection, Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from duebell_shared.errors import InvalidSettings
from duebell_shared.quoting import quoted

from .paths import is_open
from .problems import problem

__all__ = ["ANY_HOST", "Guard", "check_access"]

#: As an allowed host: whatever name we are called by. For servers with a token, which no other site has.
ANY_HOST = "*"

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})

#: JSON; and what a PATCH may call it whose `null` takes away (RFC 7396).
_JSON = frozenset({"application/json", "application/merge-patch+json"})

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(:[0-9]+)?", re.ASCII)


#: A token that is shorter can be guessed.
_TOKEN_LENGTH = 16


def check_access(*, allowed_hosts: Collection[str], token: str | None) -> None:
    """Raises InvalidSettings for a token that can be guessed, and for any name without a token."""
    if token is None and ANY_HOST in allowed_hosts:
        raise InvalidSettings(
            "allowed_hosts",
            "any name takes a token, or every web site could have its visitors read and change the queue: "
            "name the hosts, or set a token (`duebell editor` has it from DUEBELL_EDITOR_TOKEN)",
        )
    is_fit = token is None or (len(token) >= _TOKEN_LENGTH and token.isascii() and token.isprintable())
    if not is_fit or (token and " " in token):
        raise InvalidSettings(
            "token", f"must be {_TOKEN_LENGTH} or more letters, digits and signs, without a space"
        )


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
            return 403, f"this server does not answer to the name {quoted(', '.join(hosts) or '(none)')}"
        if _is_from_elsewhere(scope, headers, hosts[0]):
            return 403, "this request comes from another site"
        if not is_open(scope) and not self._has_token(headers):
            return 401, "this server wants its token: Authorization: Bearer <token>"
        if _has_body(headers) and not _is_json(headers):
            return 415, "the body must be JSON, sent with Content-Type: application/json"
        if headers.get("content-encoding", "identity").lower() != "identity":
            return 415, "the body must come as it is, without a Content-Encoding"
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


def _is_from_elsewhere(scope: Scope, headers: Headers, host: str) -> bool:
    """By what browsers say. Another site may link to the page, but not even read from the API.

    It would not see the answer, but what is read of the queue is paid for.
    """
    is_link = scope["method"] in {"GET", "HEAD"} and is_open(scope)
    is_cross_site = headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}
    is_other_origin = any(not _is_same_site(origin, host) for origin in headers.getlist("origin"))
    return is_other_origin or (is_cross_site and not is_link)


def _is_same_site(origin: str, host: str) -> bool:
    scheme, _, authority = origin.lower().partition("://")
    return scheme in {"http", "https"} and authority == host


def _has_body(headers: Headers) -> bool:
    """Whether a body is announced, or what kind it would be: an empty form is a form too."""
    is_announced = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return is_announced or "content-type" in headers


def _is_json(headers: Headers) -> bool:
    media_type = headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() in _JSON
