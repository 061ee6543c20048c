"""The HTTP editor as an ASGI application."""

import json
import threading
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles

from duebell_editor import Editor

from .access import Access, check_access
from .access_log import AccessLog
from .description import describe
from .headers import Headers
from .limits import BodyLimits, RequestLimits
from .problems import EXCEPTION_HANDLERS
from .requests import BulkChange, Filters, NewTask
from .routes import api
from .shared_readings import SharedReadings
from .warned import Warned

__all__ = ["create_app"]

_DESCRIPTION = (
    "Tasks that run later: look at the queue, add to it, change what is in it. Every error is a problem "
    "document (RFC 9457) with words for people in `detail`, for unknown paths (404) and methods (405) too. "
    "HEAD is answered wherever GET is, but for the stream."
)

_READ_ONLY = " This server is read-only: requests that would change something are answered with 403."

_PAGE = Path(__file__).parent / "page"


def create_app(
    editor: Editor,
    *,
    allowed_hosts: Iterable[str] = (),
    token: str | None = None,
    read_only: bool = False,
    identity_header: str | None = None,
) -> FastAPI:
    """The page at `/`, JSON under `/api`, the API's description at `/docs`, over this editor.

    A client that can reach it, and has the token if there is one, may do all that the editor may. So it only
    answers requests to 127.0.0.1, localhost, [::1] or one of `allowed_hosts` (names without a port; `*` for
    any, which needs a token).

    read_only        show the queue only: requests that would change something are answered with 403
    identity_header  header in which a proxy with a login names the visitor, such as X-Forwarded-User: it is
                     stored on a task as `changed_by`. Only for a server that is reached through that proxy

    Requests are logged to `duebell.http`, changes to `duebell.editor`, both at INFO.
    In a server of your own, end open streams at its shutdown, with uvicorn's `timeout_graceful_shutdown`; and
    let it, or a proxy before it, cut off clients that send their headers too slowly. Raises InvalidSettings.
    """
    allowed_hosts = frozenset(allowed_hosts)
    check_access(allowed_hosts=allowed_hosts, token=token, identity_header=identity_header)
    app = FastAPI(
        title="duebell",
        description=_DESCRIPTION + _READ_ONLY * read_only,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        version=version("duebell"),
        exception_handlers=EXCEPTION_HANDLERS,
    )
    app.state.editor = editor
    app.state.ending = threading.Event()  # set when the server ends, so that streams do
    app.state.readings = SharedReadings()
    app.add_middleware(Warned)  # the innermost: a request passes the others first
    app.add_middleware(BodyLimits)
    app.add_middleware(RequestLimits)
    app.add_middleware(
        Access,
        allowed_hosts=allowed_hosts,
        token=token,
        read_only=read_only,
        identity_header=identity_header,
    )
    app.add_middleware(Headers)
    app.add_middleware(AccessLog, token=token)
    app.include_router(api)
    describe(app, with_token=token is not None)
    app.mount("/static", StaticFiles(directory=_PAGE))

    pages = {name: _page(name, read_only=read_only) for name in ("index", "schedules", "actions")}

    @app.get("/", include_in_schema=False)
    def page() -> HTMLResponse:
        return HTMLResponse(pages["index"])

    @app.get("/schedules", include_in_schema=False)
    def schedules() -> HTMLResponse:
        return HTMLResponse(pages["schedules"])

    @app.get("/actions", include_in_schema=False)
    def actions() -> HTMLResponse:
        return HTMLResponse(pages["actions"])

    @app.get("/docs", include_in_schema=False)
    def docs() -> FileResponse:
        return FileResponse(_PAGE / "docs.html")

    return app


def _page(name: str, *, read_only: bool) -> str:
    page = (_PAGE / f"{name}.html").read_text(encoding="utf-8")
    page = page.replace('id="schemas">', f'id="schemas">{_schemas()}', 1)
    return page.replace("<html ", "<html data-read-only ", 1) if read_only else page


def _schemas() -> str:
    """The schemas of the page's requests, as JSON within HTML: the page checks input by their limits."""
    return json.dumps(
        {model.__name__: model.model_json_schema() for model in (NewTask, BulkChange, Filters)}
    ).replace("<", "\\u003c")
