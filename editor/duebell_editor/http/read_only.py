"""A server that shows the queue and changes nothing."""

from starlette.types import ASGIApp, Receive, Scope, Send

from .paths import path_of
from .problems import problem

__all__ = ["ReadOnly"]

_READING = frozenset({"GET", "HEAD", "OPTIONS"})

#: A POST that stores nothing.
_PREVIEW = ("POST", "/api/preview")

_WHY = "this server only shows the queue (it was started read-only): nothing was changed"


class ReadOnly:
    """Refuses, as ASGI middleware, every request that may change something."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        if scope["type"] == "http" and not _is_reading(scope):
            refusal = problem(403, _WHY, type="urn:duebell:read-only", title="Read only")
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_reading(scope: Scope) -> bool:
    return scope["method"] in _READING or (scope["method"], path_of(scope)) == _PREVIEW
