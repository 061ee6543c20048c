"""HEAD: what GET would answer, without the body."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .paths import path_of

__all__ = ["ENDLESS", "Head"]

#: A stream has no end that one could wait for.
ENDLESS = "/api/changes"


class Head:
    """Asks the application, as ASGI middleware, for what GET would answer, and passes on its headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and the answer back."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or path_of(scope) == ENDLESS:
            await self._app(scope, receive, send)
            return

        async def send_no_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, send_no_body)
