"""No body longer than any task can need is read."""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import problem

__all__ = ["MAX_BODY", "Limits"]

#: A payload is 350 KB at most, and may be thrice that when written with `\u` escapes.
MAX_BODY = 2 * 1024 * 1024

_TOO_LONG = f"the body must be {MAX_BODY // 1024 // 1024} MB at most"


class Limits:
    """Refuses, as ASGI middleware, a body that is too long: by what it announces, or as it comes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced[:20]) > MAX_BODY:
            await problem(413, _TOO_LONG)(scope, receive, send)
            return
        length = 0

        async def receive_some() -> Message:
            nonlocal length
            message = await receive()
            length += len(message.get("body", b""))
            if length > MAX_BODY:
                raise HTTPException(413, _TOO_LONG)
            return message

        await self._app(scope, receive_some, send)
