"""Limits of a body: how long it may be, and how slow."""

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import problem

#: Bytes of a body. A payload is 350 KB at most, and can be three times that with `\u` escapes.
MAX_BODY = 2 * 1024 * 1024

#: Seconds in which all of a body must have come.
BODY_SECONDS = 30.0

_TOO_LONG = f"the body must be {MAX_BODY // 1024 // 1024} MB at most"

_TOO_SLOW = f"the body must come within {BODY_SECONDS:.0f} seconds"


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
