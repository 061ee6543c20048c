"""Access control: the requests that are allowed, and the visitors who send them.

Another web site can make the visitor's browser send requests to 127.0.0.1. Such a request must not change
anything: Origin is checked, and bodies must be JSON, which browsers send to other sites only after asking.
A site must not read anything by making its own name resolve to 127.0.0.1 either: Host is checked. A server on
an address that other machines can reach needs a token.

A proxy with a login may put the visitor's name into a header. A client that reaches this server without the
proxy can put any name there. So a header counts only if it is configured, and the proxy must replace the
header that a visitor sends.
"""

import hmac
import logging
import re
from collections.abc import Collection, Iterable
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, Request, Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duebell_editor.library.editor import Editor
from duebell_shared.audit import from_place
from duebell_shared.errors import InvalidSettings
from duebell_shared.log_lines import log_event
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import fit_changed_by

from .pages import is_open, is_reading
from .problems import problem

_LOG = logging.getLogger("duebell.http")

#: As an allowed host: any name. Only for servers with a token, which another site does not have.
ANY_HOST = "*"

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(:[0-9]+)?", re.ASCII)

#: A token that is shorter can be guessed.
_TOKEN_LENGTH = 16

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

#: The author of changes when neither a header nor the editor names one.
_UNNAMED = "http"


def check_access(*, allowed_hosts: Collection[str], token: str | None, identity_header: str | None) -> None:
    """Check the settings of a server. Raises InvalidSettings.

    It refuses a host that is no whole name, any host without a token, a token that can be guessed, and an
    identity header that is no valid name.
    """
    if isinstance(allowed_hosts, str):
        raise InvalidSettings("allowed_hosts", f"must be names in a list, not {quoted(allowed_hosts)}")
    for name in map(str, set(allowed_hosts) - {ANY_HOST}):
        found = _HOST.fullmatch(name.lower())
        if not found or found[2] or "*" in name:
            why = f"must be whole names without scheme, port and path, such as [fd00::7], not {quoted(name)}"
            raise InvalidSettings("allowed_hosts", why)
    if token is None and ANY_HOST in allowed_hosts:
        raise InvalidSettings(
            "allowed_hosts",
            "any name needs a token, or every web site could have its visitors read and change the queue: "
            "name the hosts, or set a token (`duebell editor` has it from DUEBELL_EDITOR_TOKEN)",
        )
    is_fit = token is None or (len(token) >= _TOKEN_LENGTH and token.isascii() and token.isprintable())
    if not is_fit or (token and " " in token):
        raise InvalidSettings(
            "token", f"must be {_TOKEN_LENGTH} or more letters, digits and signs, without a space"
        )
    if identity_header is not None and not _HEADER_NAME.fullmatch(identity_header):
        raise InvalidSettings(
            "identity_header", f"must be the name of a header, not {quoted(identity_header)}"
        )


class Access:
    """ASGI middleware that refuses requests that are not allowed, and stores the visitor of other requests.

    Logs each request as soon as its answer begins: method, path without the query, status, and who sent it.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        allowed_hosts: Iterable[str] = (),
        token: str | None = None,
        read_only: bool = False,
        identity_header: str | None = None,
    ) -> None:
        self._app = app
        self._hosts = _LOOPBACK | {host.lower() for host in allowed_hosts}
        self._token = token
        self._read_only = read_only
        self._identity_header = identity_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = (
            self._refusal(scope, headers)
            or self._store_visitor(scope, headers)
            or self._refusal_to_change(scope)
        )
        client = scope["client"][0] if scope.get("client") else "unknown"

        def log(status: int) -> None:
            path, who = self._logged_path(scope), visitor_of(scope)
            log_event(
                _LOG, "request", method=scope["method"], path=path, status=status, who=who, client=client
            )

        async def send_and_log(message: Message) -> None:
            if message["type"] == "http.response.start":
                log(message["status"])
            await send(message)

        try:
            with from_place(f"http from {client}"):
                await (refusal or self._app)(scope, receive, send_and_log)
        except Exception:
            log(500)  # the framework answers outside of all middleware
            raise

    def _logged_path(self, scope: Scope) -> str:
        path = str(scope["path"])
        if not path.startswith("/"):
            return "(none)"  # a whole URL, which may hold a password
        return "(held the token)" if self._token and self._token in path else quote(path)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        hosts = [host.lower() for host in headers.getlist("host")]
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return problem(
                403, f"this server does not answer to the name {quoted(', '.join(hosts) or '(none)')}"
            )
        if _is_from_elsewhere(scope, headers, hosts[0]):
            return problem(403, "this request comes from another site")
        if not is_open(scope) and not self._has_token(headers):
            wanted = "this server wants its token: Authorization: Bearer <token>"
            return problem(401, wanted, headers={"WWW-Authenticate": "Bearer"})
        if _has_body(headers) and not _is_json(headers):
            return problem(415, "the body must be JSON, sent with Content-Type: application/json")
        return None

    def _refusal_to_change(self, scope: Scope) -> Response | None:
        if not self._read_only or is_reading(scope):
            return None
        why = "this server only shows the queue (it was started read-only): nothing was changed"
        return problem(403, why, kind="read-only")

    def _is_ours(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        return match is not None and (match["name"] in self._hosts or ANY_HOST in self._hosts)

    def _has_token(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # Compared in constant time, so that the time it takes tells nothing of the token.
        is_it = hmac.compare_digest(given.strip().encode(), self._token.encode())
        return scheme.lower() == "bearer" and is_it

    def _store_visitor(self, scope: Scope, headers: Headers) -> Response | None:
        """Store the visitor's name in the scope. Refuses a request that names the visitor twice."""
        header = (self._identity_header or "").lower()
        names = headers.getlist(header) if header else []
        if len(names) > 1:
            return problem(400, f"the header {header} is there twice: the proxy must replace what is sent")
        for name in names:
            as_sent = name.encode("latin-1").decode(errors="replace")  # starlette decodes headers as Latin-1
            scope.setdefault("state", {})["duebell_visitor"] = fit_changed_by(as_sent)
        return None


def visitor_of(scope: Scope) -> str | None:
    """The name of the visitor who sends this request; None if unknown."""
    visitor: str | None = scope.get("state", {}).get("duebell_visitor")
    return visitor


def _visitors_editor(request: Request) -> Editor:
    editor: Editor = request.app.state.editor
    return editor.acting_as(visitor_of(request.scope) or editor.changed_by or _UNNAMED)


#: The editor of a request, with its visitor as the author of changes.
VisitorsEditor = Annotated[Editor, Depends(_visitors_editor)]


def _is_from_elsewhere(scope: Scope, headers: Headers, host: str) -> bool:
    """Tell whether a page of another site sends this request. A link to our page does not count as such.

    The other site could not see the answer of the API, but each read costs money.
    """
    is_link = scope["method"] in {"GET", "HEAD"} and is_open(scope)
    is_cross_site = headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}
    is_other_origin = any(not _is_same_site(origin, host) for origin in headers.getlist("origin"))
    return is_other_origin or (is_cross_site and not is_link)


def _is_same_site(origin: str, host: str) -> bool:
    scheme, _, authority = origin.lower().partition("://")
    port = {"http": ":80", "https": ":443"}.get(scheme)  # browsers leave it out, and proxies may name it
    return port is not None and authority.removesuffix(port) == host.removesuffix(port)


def _has_body(headers: Headers) -> bool:
    """Tell whether a body or its type is announced: an empty form is a form too."""
    is_announced = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return is_announced or "content-type" in headers


def _is_json(headers: Headers) -> bool:
    media_type = headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() == "application/json"
