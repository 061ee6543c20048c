"""The HTTP editor as an ASGI application."""

import threading
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles

from duebell_editor import Editor

from .description import describe
from .guard import Guard, check_access
from .head import Head
from .headers import Headers
from .limits import Limits
from .problems import handle_problems
from .routes import api

__all__ = ["create_app"]

_DESCRIPTION = (
    "Tasks that run later: look at the queue, add to it, change what is in it. Every error is a problem "
    "document (RFC 9457) with words for people in `detail`, for unknown paths (404) and methods (405) too. "
    "HEAD is answered wherever GET is, but for the stream."
)

_PAGE = Path(__file__).parent / "page"


def create_app(editor: Editor, *, allowed_hosts: Iterable[str] = (), token: str | None = None) -> FastAPI:
    """The page at `/`, JSON under `/api`, the API's description at `/docs`, over this editor.

    Whoever reaches it, and has the token if there is one, may do what the editor may. So it answers only to
    requests that were addressed to 127.0.0.1, localhost, [::1] or one of `allowed_hosts` (names without a
    port; `*` for any, which takes a token).

    In a server of your own, end open streams with it: uvicorn's `timeout_graceful_shutdown`. Raises
    InvalidSettings.
    """
    allowed_hosts = frozenset(allowed_hosts)
    check_access(allowed_hosts=allowed_hosts, token=token)
    app = FastAPI(
        title="duebell",
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        version=version("duebell"),
    )
    app.state.editor = editor
    app.state.ending = threading.Event()  # set when the server ends, so that streams do
    app.add_middleware(Limits)
    app.add_middleware(Guard, allowed_hosts=allowed_hosts, token=token)
    app.add_middleware(Headers)
    app.add_middleware(Head)
    handle_problems(app)
    app.include_router(api)
    describe(app, with_token=token is not None)
    app.mount("/static", StaticFiles(directory=_PAGE))

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(_PAGE / "index.html")

    @app.get("/docs", include_in_schema=False)
    def docs() -> FileResponse:
        return FileResponse(_PAGE / "docs.html")

    return app


def _operation_id(route: APIRoute) -> str:
    return route.name
