"""Headers of every answer: security, and the warnings of the library."""

import json

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duebell_shared.tasks.task_warnings import collected_warnings

from .pages import is_open

#: The page runs only its own files, and no site may frame it.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


#: The header of warnings: a JSON list of texts, in ASCII.
WARNINGS = "Duebell-Warnings"

#: Proxies allow a few kilobytes of headers.
_MOST_TEXTS, _MOST_CHARACTERS = 5, 400


class Headers:
    """Adds the headers, as ASGI middleware. Answers about the queue are never cached."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and the answer back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caching = "no-cache" if is_open(scope) else "no-store"

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, "Cache-Control": caching}.items():
                    headers.setdefault(name, value)
                if texts:
                    different = list(dict.fromkeys(texts))[:_MOST_TEXTS]
                    headers[WARNINGS] = json.dumps([text[:_MOST_CHARACTERS] for text in different])
            await send(message)

        with collected_warnings() as texts:
            await self._app(scope, receive, send_with)
