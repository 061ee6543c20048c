"""The HTTP editor on a port of this machine."""

import ipaddress
import os
import socket
from collections.abc import Callable

import uvicorn

from duebell_editor import Editor
from duebell_shared.errors import DuebellError, InvalidSettings

from .app import create_app

__all__ = ["serve"]

#: Seconds that requests under way have to end in after Ctrl-C.
_PARTING = 5

_LAST_PORT = 65535


def serve(
    editor: Editor,
    host: str = "127.0.0.1",
    port: int = 8125,
    *,
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the HTTP editor until the process is told to end; `started` is called with its URL.

    `host` must be a loopback address, for there is no login; port 0 takes any free one. Raises
    InvalidSettings for another host or no port, DuebellError when the port cannot be had.
    """
    address = _loopback(host)
    with _listen(address, port) as listener:
        bound = listener.getsockname()[1]
        authority = f"[{address}]" if ":" in address else address
        app = create_app(editor, allowed_hosts=[authority])
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=_PARTING,
        )
        started(f"http://{authority}:{bound}/")
        uvicorn.Server(config).run(sockets=[listener])


def _loopback(host: str) -> str:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise InvalidSettings(
            "host",
            f"must be 127.0.0.1, localhost or ::1, not {host!r}: the HTTP editor has no login, "
            f"so it serves this machine only",
        )
    return str(address)


def _listen(address: str, port: int) -> socket.socket:
    if not 0 <= port <= _LAST_PORT:
        raise InvalidSettings("port", f"must be 0 to {_LAST_PORT}, not {port}")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise DuebellError(f"cannot serve on port {port} of {address}: {why}; choose another port") from error
