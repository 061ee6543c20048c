"""The guard of the embedded stack: ASGI middleware that refuses requests of web pages and other users.

MiniStack answers anybody: it lets every web page read its answers, looks at neither Host nor Origin, and
checks no credentials. So a page that a developer visits could create a function there and run it. The guard
runs in MiniStack's own process, between its server and its application: there is no way around it.

It needs nothing but the standard library, because it is imported in that process.
"""

import hmac
import json
import re
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

__all__ = ["Application", "Guard", "Message", "Receive", "Scope", "Send"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_FORBIDDEN = 403
#: The port that clients leave out of the Host.
_HTTP_PORT = 80
#: RFC 6455, section 7.4.1: the status of a WebSocket that is refused because of a policy.
_POLICY_VIOLATION = 1008

#: AWS's own codes: for what a caller may not do, and for an access key that does not exist.
_DENIED = "AccessDeniedException"
_UNKNOWN_KEY = "UnrecognizedClientException"

#: Signature Version 4 names the access key so: `Credential=KEY/20260101/us-east-1/dynamodb/aws4_request`.
_CREDENTIAL = re.compile(rb"AWS4-\S+ .*?\bCredential=([^/,\s]{1,128})/")
#: The parameters of presigned URLs with the key or the session token, in Signature Version 4 and 2.
_IN_QUERY = frozenset({"x-amz-credential", "x-amz-security-token", "awsaccesskeyid"})


class Guard:
    """Passes on a request that is for this stack, was not sent by a web page, and has the stack's key.

    key   the access key of the stack. It may come as the session token instead, as functions
          have it: MiniStack gives them its own session token, and as their access key the account's number
    port  where the stack listens; a Host must name it
    """

    def __init__(self, application: Application, *, key: str, port: int) -> None:
        if not key:
            raise ValueError("the guard needs a key")
        self._application = application
        self._key = key.encode()
        names = (b"127.0.0.1", b"localhost")
        self._hosts = {b"%s:%d" % (name, port) for name in names}
        if port == _HTTP_PORT:
            self._hosts.update(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with status 403. Every WebSocket is refused."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._application(scope, receive, send)
        else:
            await _refuse(scope, send, *refusal)

    def _refusal(self, scope: Scope) -> tuple[str, str] | None:
        """The code and the message of the refusal; None if the request may pass."""
        hosts = [host.lower() for host in _values(scope, b"host")]
        # A page can make its own name lead to this machine: then the Host is that name.
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return _DENIED, "the Host is not this stack's: use http://127.0.0.1 with the stack's port"
        if _values(scope, b"origin"):
            return _DENIED, "the request has an Origin, and this stack answers no web page"
        if any(site != b"none" for site in _values(scope, b"sec-fetch-site")):
            return _DENIED, "the request has a Sec-Fetch-Site, and this stack answers no web page"
        # In constant time: how long it takes tells nothing of the key.
        if not any(hmac.compare_digest(given, self._key) for given in _given_keys(scope)):
            return _UNKNOWN_KEY, "the access key is not this stack's: paste the line `duebell local` prints"
        return None


def _given_keys(scope: Scope) -> Iterator[bytes]:
    """The access keys and session tokens of the request, in its headers or in a presigned URL."""
    for header in _values(scope, b"authorization"):
        if found := _CREDENTIAL.match(header):
            yield found[1]
    yield from _values(scope, b"x-amz-security-token")
    for name, value in parse_qsl(scope["query_string"].decode("latin-1")):
        if name.lower() in _IN_QUERY:
            yield value.partition("/")[0].encode()


def _values(scope: Scope, name: bytes) -> list[bytes]:
    """The values of the header of this name; ASGI gives names in lower case."""
    return [value for each, value in scope["headers"] if each == name]


async def _refuse(scope: Scope, send: Send, code: str, message: str) -> None:
    """Answer as AWS does, so that an SDK can tell what is wrong: in JSON or in XML, as the request came."""
    is_json = any(b"json" in kind for kind in _values(scope, b"content-type"))
    body = json.dumps({"__type": code, "message": message}) if is_json else _in_xml(code, message)
    headers = [
        (b"content-type", b"application/x-amz-json-1.0" if is_json else b"text/xml"),
        (b"content-length", str(len(body)).encode()),
        (b"x-amzn-errortype", code.encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": _FORBIDDEN, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})


def _in_xml(code: str, message: str) -> str:
    error = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return f"<ErrorResponse>{error}</ErrorResponse>"
