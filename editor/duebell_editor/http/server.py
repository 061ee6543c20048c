"""The HTTP editor on a port of this machine."""

import asyncio
import ipaddress
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from duebell_editor.library.editor import Editor
from duebell_shared.errors import DuebellError, InvalidSettings
from duebell_shared.quoting import quoted

from .access import ANY_HOST
from .app import create_app
from .limits import Deadlines

#: Seconds that running requests have after Ctrl-C.
_PARTING = 5

_LAST_PORT = 65535

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def serve(
    editor: Editor,
    host: str = "127.0.0.1",
    port: int = 8125,
    *,
    token: str | None = None,
    allowed_hosts: Iterable[str] = (),
    read_only: bool = False,
    identity_header: str | None = None,
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the HTTP editor until the process is told to end; `started` is called with its URL.

    host             an address of this machine. One that other machines can reach needs a token
    port             0 takes any free one
    token            the token of every request to the API, 16 characters or more
    allowed_hosts    other names that it answers to, such as a reverse proxy's
    read_only        show the queue only: requests that would change something are answered with 403
    identity_header  header in which a proxy with a login names the visitor: see create_app

    Clients that are too slow are cut off. Raises InvalidSettings, and DuebellError when the port cannot be
    used.
    """
    address = _address(host, token)
    shown = str(address).partition("%")[0]  # neither a URL nor the header Host has the zone of an address
    authority = f"[{shown}]" if address.version == 6 else shown  # noqa: PLR2004
    own = ANY_HOST if address.is_unspecified else authority
    names = allowed_hosts if isinstance(allowed_hosts, str) else [*allowed_hosts, own]
    app = create_app(
        editor, allowed_hosts=names, token=token, read_only=read_only, identity_header=identity_header
    )
    with _listen(address, port) as listener:
        started(f"http://{authority}:{listener.getsockname()[1]}/")
        _Server(app).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Closes all connections when it ends: streams never end by themselves."""

    def __init__(self, app: FastAPI) -> None:
        config = uvicorn.Config(
            app,
            http=Deadlines,
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,  # any client on this machine could choose the address that is logged
            lifespan="off",
            timeout_graceful_shutdown=_PARTING,
        )
        super().__init__(config)
        self._app = app

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGHUP end the server, too, by a flag: an exception could be swallowed within a request."""
        with super().capture_signals():
            if threading.current_thread() is not threading.main_thread():
                yield
                return
            before = signal.signal(signal.SIGHUP, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(signal.SIGHUP, before)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.ending.set()
        await super().shutdown(sockets)
        for connection in self.server_state.connections:  # of clients that do not read, or have just come
            connection.transport.abort()
        await asyncio.sleep(0)  # the loop closes them in its next turn


def _address(host: str, token: str | None) -> _Address:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise InvalidSettings("host", f"must be an address of this machine, not {quoted(host)}") from None
    if token is None and not address.is_loopback:
        raise InvalidSettings(
            "host",
            f"{address} can be reached from other machines, and that needs a token: `duebell editor` has it "
            f"from DUEBELL_EDITOR_TOKEN; or serve this machine only, on 127.0.0.1",
        )
    return address


def _listen(address: _Address, port: int) -> socket.socket:
    if not 0 <= port <= _LAST_PORT:
        raise InvalidSettings("port", f"must be 0 to {_LAST_PORT}, not {port}")
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET  # noqa: PLR2004
    try:
        return socket.create_server((str(address), port), family=family)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise DuebellError(f"cannot serve on port {port} of {address}: {why}; choose another port") from error
