"""Connections to HTTPS endpoints, whose answers have a limit of time as a whole.

Problem: a time-out of urllib3 limits each read, so that an endpoint that sends a byte from time to time, or
one `100 Continue` after the other, holds a place for hours. Solution: each read of an answer has the time
that the reads before have left.
https://urllib3.readthedocs.io/en/stable/reference/urllib3.util.html#urllib3.util.Timeout
"""

import io
import socket
from functools import cache
from http.client import HTTPResponse
from time import monotonic
from typing import TYPE_CHECKING, Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["TIMEOUT", "connections"]

#: Seconds for a connection, for sending the message, and for an answer with its headers and all that is read
#: of its body; together less than a run has left when it starts its last attempts.
_CONNECT, _ANSWER = 2, 6

TIMEOUT = urllib3.Timeout(connect=_CONNECT, read=_ANSWER)

_CONNECTIONS = 16


@cache
def connections() -> urllib3.PoolManager:
    """The connections of this process."""
    manager = urllib3.PoolManager(maxsize=_CONNECTIONS)
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return manager


class _Limited(io.RawIOBase):
    """What a socket receives, for so long from now on."""

    def __init__(self, sock: socket.socket, seconds: float) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._by = monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        left = self._by - monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(HTTPResponse):
    """An answer that is read within its time."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        received = self.fp
        self.fp = io.BufferedReader(_Limited(sock, _ANSWER))
        received.close()


class _Connection(HTTPConnection):
    response_class = _Answer


class _SecureConnection(HTTPSConnection):
    response_class = _Answer


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
