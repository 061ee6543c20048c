"""The HTTP editor as an ASGI application."""

from collections.abc import Iterable
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from duebell_editor import Editor

from .api import api
from .guard import Guard
from .problems import PROBLEM_RESPONSE, handle_problems

__all__ = ["create_app"]

_PAGE = Path(__file__).parent / "page"

#: The page loads nothing from elsewhere and runs no script but its own file, and nobody may frame it.
_PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def create_app(editor: Editor, *, allowed_hosts: Iterable[str] = ()) -> FastAPI:
    """The page at `/`, JSON under `/api`, the API's description at `/docs`, over this editor.

    There is no login: whoever reaches it may do what the editor may. So it answers only to requests that
    were addressed to 127.0.0.1, localhost, [::1] or one of `allowed_hosts` (names without a port).
    """
    app = FastAPI(
        title="duebell",
        description="Tasks that run later: look at the queue, add to it, change what is in it.",
        redoc_url=None,
        redirect_slashes=False,
        responses={"default": PROBLEM_RESPONSE},
    )
    app.state.editor = editor
    app.add_middleware(Guard, allowed_hosts=allowed_hosts)
    handle_problems(app)
    app.include_router(api)
    app.mount("/static", StaticFiles(directory=_PAGE))

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(_PAGE / "index.html", headers=_PAGE_HEADERS)

    return app
