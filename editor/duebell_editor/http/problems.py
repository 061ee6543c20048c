"""Problem documents (RFC 9457): every answer that is not a success has this one form."""

import json
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount

from duebell_shared.errors import (
    AwsRefused,
    AwsUnavailable,
    DuebellError,
    InvalidInput,
    NotArmed,
    NotDeployed,
    QueueFull,
    TaskChanged,
    TaskConflict,
    TaskExists,
    TaskNotFound,
)
from duebell_shared.quoting import shortened

from .headers import HEADERS
from .paths import STREAM, path_of

__all__ = ["EXCEPTION_HANDLERS", "MEDIA_TYPE", "document", "document_of", "kind_of", "problem", "status_of"]

MEDIA_TYPE = "application/problem+json"

#: Characters of a text, and errors of one body, that are told: what was given may be two million long.
_LONGEST, _MOST = 1_000, 20

_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")

#: Seconds after which it may be worth while to ask again.
_RETRY_AFTER = "5"

_STATUS: dict[type[Exception], HTTPStatus] = {
    InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    TaskChanged: HTTPStatus.PRECONDITION_FAILED,
    TaskNotFound: HTTPStatus.NOT_FOUND,
    TaskExists: HTTPStatus.CONFLICT,
    TaskConflict: HTTPStatus.CONFLICT,
    QueueFull: HTTPStatus.INSUFFICIENT_STORAGE,
    NotArmed: HTTPStatus.SERVICE_UNAVAILABLE,
    NotDeployed: HTTPStatus.SERVICE_UNAVAILABLE,
    AwsUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    AwsRefused: HTTPStatus.BAD_GATEWAY,
    DuebellError: HTTPStatus.INTERNAL_SERVER_ERROR,
}

#: What errors say of the task and of the input that they are about.
_TOLD = ("field", "reason", "id", "rev")


def kind_of(error: DuebellError) -> str:
    """The `type` of this error's problem document."""
    return f"urn:duebell:{error.kind}"


def status_of(error: DuebellError) -> HTTPStatus:
    """The status of an answer with this error."""
    return next(_STATUS[cls] for cls in type(error).__mro__ if cls in _STATUS)


def document(status: int, detail: str, *, kind: str | None = None, **more: object) -> dict[str, object]:
    """A problem document. Without a kind of ours its title is the status's own."""
    title = HTTPStatus(status).phrase
    if kind:
        title = kind.replace("-", " ").capitalize().replace("Aws", "AWS")
    type = f"urn:duebell:{kind}" if kind else "about:blank"
    return {"type": type, "title": title, "status": int(status), "detail": detail, **more}


def document_of(error: DuebellError, task_id: str | None = None) -> dict[str, object]:
    """The problem document of an error of the library, about the task with this id."""
    told: dict[str, object] = {name: getattr(error, name) for name in _TOLD if hasattr(error, name)}
    if isinstance(error, NotArmed):
        told |= {"stored": True, "id": task_id}
    elif isinstance(error, AwsUnavailable) and task_id:  # it may be stored, or not
        told |= {"id": task_id}
    return document(status_of(error), str(error), kind=error.kind, **told)


def problem(
    status: int,
    detail: str,
    *,
    kind: str | None = None,
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, object] | None = None,
) -> Response:
    """A response with a problem document."""
    return _response(document(status, detail, kind=kind, **(extra or {})), headers)


def _response(document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    # As ASCII: what was given may hold half of a surrogate pair, which UTF-8 cannot.
    return Response(json.dumps(_shortened(document)), document["status"], headers, MEDIA_TYPE)


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > _LONGEST:
            return f"{value[:_LONGEST]}…"
        case dict():
            return {name: _shortened(inner) for name, inner in value.items()}
        case list():
            return [_shortened(inner) for inner in value]
    return value


async def _from_the_library(request: Request, error: DuebellError) -> Response:
    # The task of the path, or the one that the request added.
    task_id = request.path_params.get("id") or getattr(request.state, "task_id", None)
    may_pass = isinstance(error, NotArmed | AwsUnavailable)
    return _response(document_of(error, task_id), {"Retry-After": _RETRY_AFTER} if may_pass else None)


async def _invalid(_request: Request, error: RequestValidationError) -> Response:
    """Tell what FastAPI found wrong as InvalidInput does; all of it in `errors`, the first at the top."""
    errors = [{"field": _field(one), "reason": _reason(one)} for one in error.errors()[:_MOST]]
    detail = "; ".join(f"{one['field']}: {one['reason']}" for one in errors)
    return problem(422, detail, kind="invalid-input", extra={**errors[0], "errors": errors})


def _field(one: Mapping[str, Any]) -> str:
    """`due` of ("body", "due"); `body` when all of it is wrong."""
    inner = [shortened(part) for part in one["loc"][1:]]
    return ".".join(inner) or str(one["loc"][0])


def _reason(one: Mapping[str, Any]) -> str:
    match one:
        case {"type": "value_error", "ctx": {"error": why}}:
            return str(why)
        case {"type": "extra_forbidden"}:
            return "is not known here"
        case {"type": "missing"}:
            return "is missing"
    return str(one["msg"])


async def _refused(request: Request, error: HTTPException) -> Response:
    """Answer what the framework refuses: no such path, no such method, a body that cannot be read."""
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return problem(404, "there is nothing here; /docs says what there is")
        case HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = ", ".join(_methods(request))
            why = f"{shortened(request.method)} is none of what can be done here: {allowed}"
            return problem(405, why, headers={"Allow": allowed})
    return problem(error.status_code, str(error.detail), headers=error.headers)


def _methods(request: Request) -> list[str]:
    """All methods that the path takes; the framework tells those of one route only."""
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]
    taken = {
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    }
    if not taken:  # a file
        taken = {"GET"}
    has_head = "GET" in taken and path_of(request.scope) != STREAM
    return sorted(taken | {"HEAD"} if has_head else taken)


async def _unexpected(_request: Request, _error: Exception) -> Response:
    """Answer a fault of ours: its trace is in the server's log, not in the answer."""
    # The framework answers this outside of all middleware, so the headers are given here.
    detail = "Something went wrong inside duebell; the server's log has the details."
    return problem(500, detail, headers={**HEADERS, "Cache-Control": "no-store"})


#: A problem document for every error of an application.
EXCEPTION_HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    DuebellError: _from_the_library,
    RequestValidationError: _invalid,
    HTTPException: _refused,
    Exception: _unexpected,
}
