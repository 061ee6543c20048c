"""Delivery to an HTTPS endpoint: a POST, signed if there is a secret.

Problem: a time-out of urllib3 limits each read alone. An endpoint that sends a byte from time to time, or one
`100 Continue` after the other, would hold a place for hours. Solution: each read of an answer has the time
that the reads before have left.
https://urllib3.readthedocs.io/en/stable/reference/urllib3.util.html#urllib3.util.Timeout
"""

import hashlib
import hmac
import io
import re
import socket
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from http.client import HTTPResponse, parse_headers
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, unquote_plus, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from duebell_shared.deliveries.delivery import Delivery
from duebell_shared.deliveries.kinds import Message
from duebell_worker.run.attempt import Retry, Undeliverable, Undelivered

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: The most bytes of an answer that are read, and the most characters that are shown.
_MOST_READ, _MOST_SHOWN = 64 * 1024, 200

#: Permanent refusals: the endpoint understood the message and does not want it, or does not exist. Others,
#: such as 401, 409, 429 and 5xx, may pass. EventBridge's API destinations treat statuses alike.
#: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-api-destinations.html
_PERMANENT = {*range(300, 401), 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 431, 501}

_MOST_PAUSE = 24 * 60 * 60

#: Seconds for a connection and for sending the message, and for an answer with its headers and the part of
#: its body that is read. Together they are less than a run has left when it starts its last attempts.
_CONNECT, _ANSWER = 2, 6

_TIMEOUT = urllib3.Timeout(connect=_CONNECT, read=_ANSWER)

_CONNECTIONS = 16


def post(delivery: Delivery, message: Message, key: str | None, now: datetime) -> Exception | None:
    """Post this message, signed with `key` if there is one. Returns None for a 2xx status, else an error."""
    body = message.body.encode()
    headers = _headers(message)
    if key:
        headers["Duebell-Signature"] = signature(key, message.key, body, now)
    try:
        response = _connections().request(
            "POST",
            delivery.to,
            body=body,
            headers=headers,
            timeout=_TIMEOUT,
            retries=False,
            redirect=False,
            preload_content=False,
        )
    except urllib3.exceptions.HTTPError as error:
        why = re.sub(r"^.*?(Connection|Pool)\(.*?\): ", "", str(error))  # it may repeat the URL
        return Undelivered(f"{delivery.target.shown} did not answer: {type(error).__name__}: {why}")
    try:
        said = response.read(_MOST_READ, decode_content=False)
    except urllib3.exceptions.HTTPError:  # the status has told already whether the message was accepted
        said = b""
    finally:
        response.close()
    return _error(delivery, response.status, response.headers, said)


def signature(key: str, idempotency_key: str, body: bytes, now: datetime) -> str:
    """The header `Duebell-Signature`: it signs the time, the idempotency key and the body."""
    at = int(now.timestamp())
    signed = hmac.new(key.encode(), f"{at}.{idempotency_key}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={signed.hexdigest()}"


def _headers(message: Message) -> dict[str, str]:
    """The headers. In ids and names, spaces and characters that are not ASCII are percent-encoded."""
    named = {
        name.title(): quote(value, safe="!#$&'()*+,/:;=?@[]") for name, value in message.attributes.items()
    }
    fixed = {"Content-Type": "application/json", "User-Agent": "duebell", "Idempotency-Key": message.key}
    return {**fixed, **named}


def _error(delivery: Delivery, status: int, headers: Mapping[str, str], said: bytes) -> Exception | None:
    if 200 <= status < 300:  # noqa: PLR2004
        return None
    text = _shown(delivery, said) if delivery.keep_answers else ""
    what = f"{delivery.target.shown} answered {status}{f': {text}' if text else ''}"
    if 300 <= status < 400:  # noqa: PLR2004
        return Undeliverable(f"{what}: redirects are not followed, give the address that it leads to")
    if status in _PERMANENT:
        return Undeliverable(what)
    pause = headers.get("Retry-After", "").strip()
    if pause.isascii() and pause.isdigit():
        return Retry(what, after=min(int(pause.lstrip("0")[:9] or "0"), _MOST_PAUSE))
    return Undelivered(what)


def _shown(delivery: Delivery, said: bytes) -> str:
    """The beginning of an answer, without the path and the query of the URL; empty if it is not plain text.

    An answer may repeat the request, and the URL may be secret.
    """
    text = said.decode(errors="replace")
    url = urlsplit(delivery.to)
    values = [pair.partition("=")[2] for pair in url.query.split("&")]
    secrets = {url.path, url.query, *url.path.split("/"), *values}
    secrets |= {decoded(one) for one in secrets for decoded in (unquote, unquote_plus)}
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) > 1:
            text = text.replace(secret, "…")
    text = " ".join(text.split())[:_MOST_SHOWN]
    return text if text.isprintable() else ""


@cache
def _connections() -> urllib3.PoolManager:
    """The connections of this process."""
    manager = urllib3.PoolManager(maxsize=_CONNECTIONS)
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return manager


class _Limited(io.RawIOBase):
    """Reads from a socket, for at most this many seconds from now on."""

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


#: Answers that come before the one that counts; http.client skips those of status 100 only.
_INTERIM = {102, 103}


class _Answer(HTTPResponse):
    """An answer that is read within its time."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        received = self.fp
        self.fp = io.BufferedReader(_Limited(sock, _ANSWER))
        received.close()

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]  # http.client has no hook
            if status not in _INTERIM:
                return version, status, reason
            parse_headers(self.fp)


class _Connection(HTTPConnection):
    response_class = _Answer


class _SecureConnection(HTTPSConnection):
    response_class = _Answer


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
