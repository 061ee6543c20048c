"""Errors as problem documents (RFC 9457): every answer that is not a success has this one form."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
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

from .head import ENDLESS
from .headers import HEADERS
from .paths import path_of

__all__ = ["handle_problems", "kind_of", "problem"]

_MEDIA_TYPE = "application/problem+json"

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


def problem(
    status: int,
    detail: str,
    *,
    type: str = "about:blank",
    title: str | None = None,
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, object] | None = None,
) -> Response:
    """A response with a problem document; the title is the status's own unless given."""
    title = HTTPStatus(status).phrase if title is None else title
    document = {"type": type, "title": title, "status": int(status), "detail": detail, **(extra or {})}
    # As ASCII: what was given may hold half of a surrogate pair, which UTF-8 cannot.
    return Response(json.dumps(_shortened(document)), status, headers, _MEDIA_TYPE)


def kind_of(error: DuebellError) -> str:
    """The `type` of this error's problem document."""
    return f"urn:duebell:{error.kind}"


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > _LONGEST:
            return f"{value[:_LONGEST]}…"
        case dict():
            return {name: _shortened(inner) for name, inner in value.items()}
        case list():
            return [_shortened(inner) for inner in value]
    return value


def handle_problems(app: FastAPI) -> None:
    """Answer every error of this application with a problem document."""
    app.add_exception_handler(DuebellError, _deliberate)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _unexpected)


def _deliberate(request: Request, error: Exception) -> Response:
    status = next(_STATUS[cls] for cls in type(error).__mro__ if cls in _STATUS)
    extra: dict[str, object] = {}
    if not isinstance(error, DuebellError):
        return _unexpected(request, error)
    match error:
        case InvalidInput():
            extra = {"field": error.field, "reason": error.reason}
        case TaskChanged():
            extra = {"id": error.id, "rev": error.rev}
        case TaskNotFound() | TaskExists() | QueueFull():
            extra = {"id": error.id}
        case NotArmed():
            extra = {"stored": True, "id": _task_id(request)}
        case AwsUnavailable() if id := _task_id(request):  # it may be stored, or not
            extra = {"id": id}
    title = error.kind.replace("-", " ").capitalize().replace("Aws", "AWS")
    may_pass = isinstance(error, NotArmed | AwsUnavailable)
    headers = {"Retry-After": _RETRY_AFTER} if may_pass else None
    return problem(status, str(error), type=kind_of(error), title=title, headers=headers, extra=extra)


def _task_id(request: Request) -> str | None:
    """The task that the request was about: of its path, or the one it added."""
    return request.path_params.get("id") or getattr(request.state, "task_id", None)


def _invalid(request: Request, error: Exception) -> Response:
    """What FastAPI found wrong, in the form of InvalidInput; all of it in `errors`, the first at the top."""
    if not isinstance(error, RequestValidationError):
        return _unexpected(request, error)
    errors = [{"field": _field(one), "reason": _reason(one)} for one in error.errors()[:_MOST]]
    detail = "; ".join(f"{one['field']}: {one['reason']}" for one in errors)
    return problem(
        422,
        detail,
        type="urn:duebell:invalid-input",
        title="Invalid input",
        extra={**errors[0], "errors": errors},
    )


def _field(one: Mapping[str, Any]) -> str:
    """`due` of ("body", "due"); the whole body when it is not JSON at all."""
    inner = [shortened(part) for part in one["loc"][1:]]
    return ".".join(inner) if inner and one["type"] != "json_invalid" else str(one["loc"][0])


def _reason(one: Mapping[str, Any]) -> str:
    match one:
        case {"type": "json_invalid", "ctx": {"error": why}}:
            return f"is not JSON: {why} at character {one['loc'][-1]}"
        case {"type": "value_error", "ctx": {"error": why}}:
            return str(why)
        case {"type": "extra_forbidden"}:
            return "is not known here"
        case {"type": "missing"}:
            return "is missing"
    return str(one["msg"])


def _refused(request: Request, error: Exception) -> Response:
    """What the framework refuses: no such path, no such method, a body that cannot be read."""
    if not isinstance(error, HTTPException):
        return _unexpected(request, error)
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
    has_head = "GET" in taken and path_of(request.scope) != ENDLESS
    return sorted(taken | {"HEAD"} if has_head else taken)


def _unexpected(request: Request, error: Exception) -> Response:
    """A fault of ours: its trace is in the server's log, not in the answer."""
    # The framework answers this outside of all middleware, so the headers are given here.
    detail = "Something went wrong inside duebell; the server's log has the details."
    return problem(500, detail, headers={**HEADERS, "Cache-Control": "no-store"})
