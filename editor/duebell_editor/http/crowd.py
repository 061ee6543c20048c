"""No more requests at work than can be worked on, and no more streams than can be served."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from .head import ENDLESS
from .paths import path_of
from .problems import problem

__all__ = ["MAX_REQUESTS", "MAX_STREAMS", "Crowd"]

#: Requests at work at a time. Forty threads work on them, so that the others wait a moment.
MAX_REQUESTS = 64

#: Streams of changes: pages that are open.
MAX_STREAMS = 100


@dataclass
class _Places:
    """So many can be at work, and then the others are told why not, and when to come again."""

    most: int
    why: str
    retry_after: int
    taken: int = 0


class Crowd:
    """Answers, as ASGI middleware, 503 to a request that finds no place."""

    def __init__(self, app: ASGIApp, *, requests: int = MAX_REQUESTS, streams: int = MAX_STREAMS) -> None:
        self._app = app
        self._requests = _Places(requests, f"{requests} requests are at work already: try again", 1)
        self._streams = _Places(
            streams, f"{streams} pages or programs follow what changes already, and no more can", 30
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_stream = scope["method"] == "GET" and path_of(scope) == ENDLESS
        places = self._streams if is_stream else self._requests
        if places.taken >= places.most:
            headers = {"Retry-After": str(places.retry_after)}
            refusal = problem(503, places.why, type="urn:duebell:busy", title="Busy", headers=headers)
            await refusal(scope, receive, send)
            return
        places.taken += 1
        try:
            await self._app(scope, receive, send)
        finally:
            places.taken -= 1
