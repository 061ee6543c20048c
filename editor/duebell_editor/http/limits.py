"""Limits of requests: their number at a time, the length of a body, and the time until it has come."""

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .paths import is_stream
from .problems import problem

__all__ = ["BODY_SECONDS", "MAX_BODY", "MAX_REQUESTS", "MAX_STREAMS", "BodyLimits", "RequestLimits"]

#: Requests at a time. Forty threads work on them, so that the others wait a moment.
MAX_REQUESTS = 64

#: Streams of changes at a time; each open page has one.
MAX_STREAMS = 100

#: Bytes of a body. A payload is 350 KB at most, and can be three times that with `\u` escapes.
MAX_BODY = 2 * 1024 * 1024

#: Seconds in which all of a body must have come.
BODY_SECONDS = 30.0

_TOO_LONG = f"the body must be {MAX_BODY // 1024 // 1024} MB at most"

_TOO_SLOW = f"the body must come within {BODY_SECONDS:.0f} seconds"


@dataclass
class _Places:
    """Places for `most` requests; others are refused with the reason and when to try again."""

    most: int
    why: str
    retry_after: int
    taken: int = 0


class RequestLimits:
    """Answers 503, as ASGI middleware, to requests and streams beyond their limits."""

    def __init__(self, app: ASGIApp, *, requests: int = MAX_REQUESTS, streams: int = MAX_STREAMS) -> None:
        self._app = app
        self._requests = _Places(requests, f"{requests} requests are at work already: try again", 1)
        self._streams = _Places(
            streams,
            f"{streams} pages or programs follow what changes already: try again when one has ended",
            30,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        places = self._streams if is_stream(scope) else self._requests
        if places.taken >= places.most:
            refusal = problem(503, places.why, kind="busy", headers={"Retry-After": str(places.retry_after)})
            await refusal(scope, receive, send)
            return
        places.taken += 1
        try:
            await self._app(scope, receive, send)
        finally:
            places.taken -= 1


class BodyLimits:
    """Refuses, as ASGI middleware, a body that is too long (by its header or its bytes) or too slow."""

    def __init__(self, app: ASGIApp, *, seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced[:20]) > MAX_BODY:
            await problem(413, _TOO_LONG)(scope, receive, send)
            return
        body = _Body(receive, until=asyncio.get_running_loop().time() + self._seconds)

        async def send_and_mark(message: Message) -> None:
            body.is_answered = True
            await send(message)

        await self._app(scope, body.receive, send_and_mark)


class _Body:
    """The body of one request, checked part by part."""

    def __init__(self, receive: Receive, *, until: float) -> None:
        self._receive = receive
        self._until = until
        self._length = 0
        self._is_whole = False
        self.is_answered = False

    async def receive(self) -> Message:
        """The next part. Raises HTTPException if it is too long or too slow, unless it is answered."""
        try:
            async with self._deadline():
                message = await self._receive()
        except TimeoutError:
            return self._refused(408, _TOO_SLOW)
        self._is_whole = not message.get("more_body", False)
        self._length += len(message.get("body", b""))
        return self._refused(413, _TOO_LONG) if self._length > MAX_BODY else message

    def _deadline(self) -> AbstractAsyncContextManager[object]:
        """The deadline of the next part; none after the last, when only the disconnect is waited for."""
        return nullcontext() if self._is_whole else asyncio.timeout_at(self._until)

    def _refused(self, status: int, why: str) -> Message:
        if not self.is_answered:
            raise HTTPException(status, why)
        return {"type": "http.disconnect"}
