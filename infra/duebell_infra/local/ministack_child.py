"""MiniStack behind a guard, tied to the process that started it: runs as a script.

Its arguments are the descriptor of the socket that it listens on, and the file for the functions' log. The
environment holds the rest, the access key included.

MiniStack answers anybody: it lets every web page read its answers, looks at neither Host nor Origin, and
checks no credentials. So a page that a developer visits could create a function there and run it. The guard,
ASGI middleware, refuses the requests of web pages and of other users. There is no way around it.

Standard input is a pipe that the parent holds open and never writes to. When the pipe ends, the parent has
ended, for whatever reason. MiniStack then stops as on SIGTERM: it writes its state first.

Until the parent is watched, this module imports only the standard library.
"""

import asyncio
import hmac
import json
import os
import queue
import re
import resource
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import escape

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_FORBIDDEN = 403
#: RFC 6455, section 7.4.1: the status of a WebSocket that is refused because of a policy.
_POLICY_VIOLATION = 1008

#: AWS's own codes: for what a caller may not do, and for an access key that does not exist.
_DENIED = "AccessDeniedException"
_UNKNOWN_KEY = "UnrecognizedClientException"

#: Signature Version 4 names the access key so: `Credential=KEY/20260101/us-east-1/dynamodb/aws4_request`.
_CREDENTIAL = re.compile(rb"AWS4-\S+ .*?\bCredential=([^/,\s]{1,128})/")


class Guard:
    """Passes on a request that is for this stack, was not sent by a web page, and has the stack's key.

    key   the access key of the stack. It may come as the session token instead: functions get
          MiniStack's own session token, and as their access key the account's number
    port  where the stack listens; a Host must name it
    """

    def __init__(self, application: Application, *, key: str, port: int) -> None:
        if not key:
            raise ValueError("the guard needs a key")
        self._application = application
        self._key = key.encode()
        self._hosts = {b"%s:%d" % (name, port) for name in (b"127.0.0.1", b"localhost")}

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
    """The access keys and session tokens of the request."""
    for header in _values(scope, b"authorization"):
        if found := _CREDENTIAL.match(header):
            yield found[1]
    yield from _values(scope, b"x-amz-security-token")


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


#: Seconds that a connection may be idle, as MiniStack's own command has it.
_KEEP_ALIVE = 75


def _stop_when_the_parent_is_gone() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _end_running_functions() -> None:
    """End the functions that still run, as Lambda does when their time is up."""
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)


def _allow_many_connections() -> None:
    """Raise the limit of open files as far as allowed: every connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS does not allow what it names as its limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _copy_lines(file: TextIO) -> None:
    """Copy each line that a function writes to this file at once, with the time before it.

    Problem: MiniStack shows what a function writes only when its invocation has ended, all at one time.
    Solution: it keeps the lines in a queue until then. A queue that also copies each line replaces it.
    """
    lock = threading.Lock()

    def copy(line: str) -> None:
        with lock, suppress(OSError, ValueError):  # full, or closed at the end
            file.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {line}\n")

    class Copied(queue.Queue[str]):
        def put(self, item: str, block: bool = True, timeout: float | None = None) -> None:
            copy(item)
            super().put(item, block, timeout)

    try:
        from ministack.core.lambda_runtime import (  # type: ignore[import-untyped]  # noqa: PLC0415
            Worker,
        )

        read = Worker._read_stderr  # noqa: SLF001
    except (ImportError, AttributeError):
        copy("this version of MiniStack shows the worker's log only in CloudWatch Logs: install another one")
        return

    def read_and_copy(worker: Any) -> None:
        worker._stderr_queue = Copied()  # noqa: SLF001
        read(worker)

    Worker._read_stderr = read_and_copy  # noqa: SLF001


def _serve(listener: int) -> None:
    """Serve MiniStack's application behind the guard until SIGTERM."""
    from hypercorn.asyncio import serve  # noqa: PLC0415 (the parent is watched while they are imported)
    from hypercorn.config import Config  # noqa: PLC0415
    from ministack.app import app  # type: ignore[import-untyped]  # noqa: PLC0415

    config = Config()
    config.bind = [f"fd://{listener}"]
    config.keep_alive_timeout = _KEEP_ALIVE
    guarded: Any = Guard(app, key=os.environ["AWS_ACCESS_KEY_ID"], port=int(os.environ["GATEWAY_PORT"]))
    asyncio.run(serve(guarded, config))


if __name__ == "__main__":
    threading.Thread(target=_stop_when_the_parent_is_gone, daemon=True).start()
    try:
        _allow_many_connections()
        with Path(sys.argv[2]).open("a", buffering=1, encoding="utf-8", errors="backslashreplace") as log:
            _copy_lines(log)
            _serve(int(sys.argv[1]))
    finally:
        _end_running_functions()
