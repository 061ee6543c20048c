"""Tells a client of the library's warnings about its tasks, in a header of the answer."""

import json
from collections.abc import Sequence

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duebell_shared.tasks.task_warnings import collected_warnings

__all__ = ["WARNINGS", "Warned"]

#: The header: a JSON list of texts, in ASCII.
WARNINGS = "Duebell-Warnings"

#: Proxies allow a few kilobytes of headers.
_MOST_TEXTS, _MOST_CHARACTERS = 5, 400


class Warned:
    """Adds the header to the answer of a request that made the library warn, as ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        with collected_warnings() as texts:

            async def send_warned(message: Message) -> None:
                if texts and message["type"] == "http.response.start":
                    MutableHeaders(scope=message)[WARNINGS] = _header(texts)
                await send(message)

            await self._app(scope, receive, send_warned)


def _header(texts: Sequence[str]) -> str:
    different = list(dict.fromkeys(texts))
    shown = [text[:_MOST_CHARACTERS] for text in different[:_MOST_TEXTS]]
    more = [f"and {len(different) - _MOST_TEXTS:,} more"] if different[_MOST_TEXTS:] else []
    return json.dumps([*shown, *more])
