"""The HTTP editor as an ASGI application."""

import json
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles

from duebell_editor.http.access import Access, check_access
from duebell_editor.http.description import describe
from duebell_editor.http.headers import Headers
from duebell_editor.http.limits import BodyLimits
from duebell_editor.http.pages import FILES, PAGES, is_bundled
from duebell_editor.http.problems import EXCEPTION_HANDLERS
from duebell_editor.http.requests import BulkChange, Filters, NewTask
from duebell_editor.http.routes import api
from duebell_editor.http.routes.changes import SharedReadings
from duebell_editor.library.editor import Editor
from duebell_editor.listing.failures import MOST_READ
from duebell_editor.listing.queue_counts import MORNING, MOST_COUNTED
from duebell_editor.status.health import WARNINGS, ProblemKind
from duebell_shared.tasks.task import STARTS_WITHIN

_DESCRIPTION = (
    "Tasks that run later: look at the queue, add to it, change what is in it. Every error is a problem "
    "document (RFC 9457), also for unknown paths (404) and methods (405). Its `detail` explains it to people."
)

_READ_ONLY = " This server is read-only: requests that would change something are answered with 403."


def create_app(
    editor: Editor,
    *,
    allowed_hosts: Iterable[str] = (),
    token: str | None = None,
    read_only: bool = False,
    identity_header: str | None = None,
) -> FastAPI:
    """Make an application over this editor: the page at `/`, JSON under `/api`, its description at `/docs`.

    A client that can reach it, and has the token if there is one, may do all that the editor may. So it only
    answers requests to 127.0.0.1, localhost, [::1] or one of `allowed_hosts` (names without a port; `*` for
    any, which needs a token).

    read_only        show the queue only: requests that would change something are answered with 403
    identity_header  header in which a proxy with a login names the visitor, such as X-Forwarded-User: it is
                     stored on a task as `changed_by`. Use it only if all clients come through that proxy

    Requests are logged to `duebell.http`, changes to `duebell.audit`, both at INFO.
    A server of your own must end open streams at its shutdown: set uvicorn's `timeout_graceful_shutdown`. It
    or a proxy must also cut off clients that send their headers too slowly. Raises InvalidSettings.
    """
    allowed_hosts = allowed_hosts if isinstance(allowed_hosts, str) else frozenset(allowed_hosts)
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
    app.state.ending = threading.Event()  # set when the server ends, so that streams end
    app.state.readings = SharedReadings()
    app.add_middleware(BodyLimits)  # the innermost: a request passes the others first
    app.add_middleware(
        Access,
        allowed_hosts=allowed_hosts,
        token=token,
        read_only=read_only,
        identity_header=identity_header,
    )
    app.add_middleware(Headers)
    app.include_router(api)
    describe(app, with_token=token is not None)
    app.mount("/static", StaticFiles(directory=FILES))
    schemas, bundled = _schemas(), is_bundled()
    for page in PAGES:
        html = page.render(schemas=schemas, read_only=read_only, bundled=bundled)
        app.add_api_route(page.path, _answering(html), name=page.file, include_in_schema=False)

    @app.get("/docs", include_in_schema=False)
    def docs() -> FileResponse:
        return FileResponse(FILES / "docs.html")

    return app


def _answering(html: str) -> Callable[[], HTMLResponse]:
    def answer() -> HTMLResponse:
        return HTMLResponse(html)

    return answer


def _schemas() -> str:
    """The schemas of the page's requests and the limits that it shares, as JSON that is safe within HTML."""
    schemas = {model.__name__: model.model_json_schema() for model in (NewTask, BulkChange, Filters)}
    constants = {
        "most_counted": MOST_COUNTED,
        "overdue_ms": STARTS_WITHIN // timedelta(milliseconds=1),
        "morning": MORNING,
        "failures": MOST_READ,
        "problems": list(ProblemKind),
        "warnings": WARNINGS,
    }
    return json.dumps({**schemas, "constants": constants}).replace("<", "\\u003c")
