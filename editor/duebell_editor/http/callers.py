"""Who sends a request: the name that a proxy with a login puts into a header, where it is told which.

Whoever reaches this server past the proxy can put any name there. So no header counts unless it is named, and
the proxy must replace what a visitor sends under that name.
"""

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from duebell_editor import Editor
from duebell_shared.errors import InvalidSettings
from duebell_shared.given import fit_changed_by
from duebell_shared.quoting import quoted

from .problems import problem

__all__ = ["Callers", "acting_for", "caller_of", "check_identity_header"]

#: What changes are said to be by when neither a header nor the editor says it.
_UNNAMED = "http"

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

#: Headers that hold a secret: no name to keep on a task, or to log.
_SECRET = re.compile(r".*(authorization|cookie|token|oidc-data)", re.IGNORECASE)


def check_identity_header(name: str | None) -> None:
    """Raises InvalidSettings for what no header is called, and for one that holds a secret."""
    if name is None:
        return
    if not _NAME.fullmatch(name):
        raise InvalidSettings("identity_header", f"must be the name of a header, not {quoted(name)}")
    if _SECRET.fullmatch(name):
        raise InvalidSettings(
            "identity_header", f"{name} holds a secret, and who changed a task is shown: name another header"
        )


class Callers:
    """Notes, as ASGI middleware, who sends the request; refuses one that says it twice."""

    def __init__(self, app: ASGIApp, *, header: str | None = None) -> None:
        self._app = app
        self._header = header and header.lower().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        if scope["type"] == "http" and self._header:
            said = [value for name, value in scope["headers"] if name.lower() == self._header]
            if len(said) > 1:
                why = (
                    f"the header {self._header.decode()} is there twice: the proxy must replace what is sent"
                )
                await problem(400, why)(scope, receive, send)
                return
            name = fit_changed_by(said[0].decode(errors="replace")) if said else None
            scope.setdefault("state", {})["duebell_caller"] = name
        await self._app(scope, receive, send)


def caller_of(scope: Scope) -> str | None:
    """Who sends this request; None if unknown."""
    caller: str | None = scope.get("state", {}).get("duebell_caller")
    return caller


def acting_for(scope: Scope, editor: Editor) -> Editor:
    """The editor for what this request changes."""
    return editor.acting_as(caller_of(scope) or editor.changed_by or _UNNAMED)
