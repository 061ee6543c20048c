"""Limits of connections and requests: how many, how long a body may be, and how slow a client."""

import asyncio

import h11
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Bytes of a body. A payload is 350 KB at most, and can be three times that with `\u` escapes.
MAX_BODY = 2 * 1024 * 1024

#: Seconds in which all of a body must have come.
BODY_SECONDS = 30.0

_TOO_LONG = f"the body must be {MAX_BODY // 1024 // 1024} MB at most"

_TOO_SLOW = f"the body must come within {BODY_SECONDS:.0f} seconds"


class BodyLimits:
    """Refuses, as ASGI middleware, a body that is too long or too slow."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with a body that is checked part by part."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        until: float | None = asyncio.get_running_loop().time() + BODY_SECONDS
        length = 0
        is_answered = False

        async def receive_part() -> Message:
            nonlocal until, length
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                return refused(408, _TOO_SLOW)
            if not message.get("more_body"):
                until = None  # only the disconnect is waited for
            length += len(message.get("body", b""))
            return refused(413, _TOO_LONG) if length > MAX_BODY else message

        def refused(status: int, why: str) -> Message:
            if not is_answered:
                raise HTTPException(status, why)
            return {"type": "http.disconnect"}

        async def send_and_mark(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        await self._app(scope, receive_part, send_and_mark)


#: Seconds for the request line and headers, from the connection on; of a later request, from its first byte.
_HEAD_SECONDS = 10.0

#: Seconds until a connection is cut off during a body. The application answers 408 before.
_CUT_OFF_BODY_SECONDS = BODY_SECONDS + 5

#: Seconds in which a client that reads slowly must read some 48 KB of its answer, or the rest.
_READING_SECONDS = 30.0

#: Connections at a time; most systems let a process have 1,024 open files.
_MOST = 500

_SLOW_CLIENT = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
)


class Deadlines(H11Protocol):
    """uvicorn's HTTP/1.1, which closes the connection of a client that is too slow to send or to read.

    uvicorn's only time limit, `timeout_keep_alive`, starts after a request and ends with the first byte of
    the next. So a client that sends a byte a minute, or never reads, would keep its connection for ever (seen
    with uvicorn 0.54).
    """

    _sending: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _part: object = None  # the part of a request that the client is sending

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > _MOST:
            transport.write(_TOO_MANY)
            self._close()
            return
        self._expect_more()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect_more()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._abort_unless_read()
        elif self.conn.their_state is not h11.IDLE or self.conn.trailing_data[0]:
            self._expect_more()  # else `timeout_keep_alive` applies until the next request

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._abort_unless_read()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._abort_unless_read()

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._reading)
        if self.transport.is_closing():  # closing waits until the client has read the rest
            self._abort_unless_read()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._sending)
        _cancel(self._reading)
        super().connection_lost(exc)

    def _expect_more(self) -> None:
        """Set the deadline for the part that the client must send now. Further bytes do not extend it."""
        state = self.conn.their_state
        if self.transport.is_closing():
            self._abort_unless_read()
        part = (state, self.cycle) if state in {h11.IDLE, h11.SEND_BODY} else None
        if part == self._part:
            return
        _cancel(self._sending)
        self._part = part
        if part:
            seconds = _HEAD_SECONDS if state is h11.IDLE else _CUT_OFF_BODY_SECONDS
            self._sending = self.loop.call_later(seconds, self._cut_off)

    def _cut_off(self) -> None:
        """Close the connection; with an answer if a request has begun but its headers are not complete."""
        if self.conn.their_state is not h11.IDLE:
            self.transport.abort()
            return
        if self.conn.trailing_data[0]:
            self.transport.write(_SLOW_CLIENT)
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._abort_unless_read()

    def _abort_unless_read(self) -> None:
        """Abort the connection if the client does not read the answer in time: closing waits for it."""
        _cancel(self._reading)
        self._reading = self.loop.call_later(_READING_SECONDS, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
