"""Deadlines for clients: to send a request, and to read the answer.

uvicorn's only time limit, `timeout_keep_alive`, starts after a request and ends with the first byte of the
next. So a client that sends a byte a minute, or never reads, would keep its connection for ever (seen with
uvicorn 0.54).
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import BODY_SECONDS

__all__ = ["Deadlines"]

#: Seconds for the request line and the headers, from the connection on, or from the first byte of the next.
_HEAD_SECONDS = 10.0

#: Seconds for the body. The application answers 408 before.
_BODY_SECONDS = BODY_SECONDS + 5

#: Seconds in which a client that reads slowly must read some 48 KB of its answer, or the rest.
_READING_SECONDS = 30.0

#: Connections at a time; most systems let a process have 1,024 open files.
_MOST = 500

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
)


class Deadlines(H11Protocol):
    """uvicorn's HTTP/1.1, which closes the connection of a client that is too slow."""

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
        if self.transport.is_closing():  # it waits until the client has read the rest
            self._abort_unless_read()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._sending)
        _cancel(self._reading)
        super().connection_lost(exc)

    def _expect_more(self) -> None:
        """Set the deadline for the part that the client is to send now. Further bytes do not extend it."""
        state = self.conn.their_state
        if self.transport.is_closing():
            self._abort_unless_read()
        part = (state, self.cycle) if state in {h11.IDLE, h11.SEND_BODY} else None
        if part == self._part:
            return
        _cancel(self._sending)
        self._part = part
        if part:
            seconds = _HEAD_SECONDS if state is h11.IDLE else _BODY_SECONDS
            self._sending = self.loop.call_later(seconds, self._cut_off)

    def _cut_off(self) -> None:
        """Close the connection; with an answer if a request has begun but its headers are not complete."""
        if self.conn.their_state is not h11.IDLE:
            self.transport.abort()
            return
        if self.conn.trailing_data[0]:
            self.transport.write(_TOO_SLOW)
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._abort_unless_read()

    def _abort_unless_read(self) -> None:
        """Abort the connection if the client does not read the answer in time: closing waits for that."""
        _cancel(self._reading)
        self._reading = self.loop.call_later(_READING_SECONDS, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
