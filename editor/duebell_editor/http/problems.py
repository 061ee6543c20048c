"""Problem documents (RFC 9457): the form of every answer that is not a success."""

import json
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any, Self

import msgspec
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from msgspec import UNSET, Struct, UnsetType
from starlette.exceptions import HTTPException

from duebell_shared.errors import (
    AddReport,
    AwsUnavailable,
    DuebellError,
    InvalidInput,
    NotArmed,
)
from duebell_shared.quoting import shortened

from .headers import HEADERS

MEDIA_TYPE = "application/problem+json"

#: Stands in the place of an error if the body is one task, not a list. No field has this name.
ONE_TASK = "(one task)"

#: The most errors that an answer lists: one body can have two million.
_MOST = 20

#: Seconds after which the client may try again.
_RETRY_AFTER = "5"

#: Attributes of errors that the document repeats.
_TOLD = ("field", "reason", "id", "rev")


def kind_of(error: DuebellError) -> str:
    """The `type` of this error's problem document."""
    return f"urn:duebell:{error.kind}"


class InvalidField(Struct):
    """A field of a body or a query that is wrong, and why."""

    field: str
    reason: str


class ProblemDocument(Struct, kw_only=True):
    """A problem document (RFC 9457); `field` and `reason` say which input is wrong, and why.

    type    the kind of problem, `urn:duebell:…`, for programs
    detail  what is wrong and what to do, for people
    field   the first field that is wrong
    errors  all fields that are wrong
    id      the id of the task
    rev     with 412: the task's current rev
    stored  with 503: the task is stored, although the rule could not be confirmed
    ids     with 503, of a list: the ids of the tasks that are stored
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    field: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    errors: list[InvalidField] | UnsetType = UNSET
    id: str | UnsetType | None = UNSET
    rev: int | UnsetType = UNSET
    stored: bool | UnsetType = UNSET
    ids: list[str] | UnsetType = UNSET

    @classmethod
    def of(cls, status: int, detail: str, *, kind: str | None = None, **more: Any) -> Self:
        """A document with this status. Without a kind, its title is the status's phrase."""
        if kind is None:
            return cls(title=HTTPStatus(status).phrase, status=status, detail=detail, **more)
        title = kind.replace("-", " ").capitalize().replace("Aws", "AWS")
        return cls(type=f"urn:duebell:{kind}", title=title, status=status, detail=detail, **more)

    @classmethod
    def of_error(cls, error: DuebellError, task_id: str | None = None) -> Self:
        """The document of an error of the library, about the task with this id."""
        told: dict[str, Any] = {name: getattr(error, name) for name in _TOLD if hasattr(error, name)}
        if isinstance(error, InvalidInput):
            told["errors"] = [InvalidField(error.field, error.reason)]
        elif isinstance(error, NotArmed):
            told |= {"stored": True, "id": task_id}
            if isinstance(error.report, AddReport):
                told["ids"] = list(error.report.added)
        elif isinstance(error, AwsUnavailable) and task_id:  # it may be stored, or not
            told |= {"id": task_id}
        return cls.of(error.http_status, str(error), kind=error.kind, **told)

    def answer(self, headers: Mapping[str, str] | None = None) -> Response:
        """The document as a response."""
        # As ASCII: quoted input may hold half of a surrogate pair, which UTF-8 cannot encode.
        text = json.dumps(msgspec.to_builtins(self))
        return Response(text, self.status, headers, MEDIA_TYPE)


def problem(
    status: int, detail: str, *, kind: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """A response with a problem document."""
    return ProblemDocument.of(status, detail, kind=kind).answer(headers)


async def _from_the_library(request: Request, error: DuebellError) -> Response:
    # The task of the path, or the one that the request added.
    task_id = request.path_params.get("id") or getattr(request.state, "task_id", None)
    may_pass = isinstance(error, NotArmed | AwsUnavailable)
    headers = {"Retry-After": _RETRY_AFTER} if may_pass else None
    return ProblemDocument.of_error(error, task_id).answer(headers)


async def _invalid(_request: Request, error: RequestValidationError) -> Response:
    """Answer FastAPI's errors of validation as InvalidInput: all in `errors`, the first also at the top."""
    errors = [InvalidField(_field(one), _reason(one)) for one in error.errors()[:_MOST]]
    detail = "; ".join(f"{one.field}: {one.reason}" for one in errors)
    first = msgspec.structs.asdict(errors[0])
    return ProblemDocument.of(422, detail, kind="invalid-input", errors=errors, **first).answer()


def _field(one: Mapping[str, Any]) -> str:
    """The wrong field, as the library names it: `due`, `tasks[2].due`; or `body` for the whole body."""
    place = ""
    for part in one["loc"][1:]:
        if isinstance(part, int):
            place += f"[{part}]"
        elif part != ONE_TASK:
            place += f".{shortened(part)}"
    return place.removeprefix(".") or str(one["loc"][0])


def _reason(one: Mapping[str, Any]) -> str:
    match one:
        case {"type": "value_error", "ctx": {"error": why}}:
            return str(why)
        case {"type": "extra_forbidden"}:
            return "is not known here"
        case {"type": "missing"}:
            return "is missing"
    return str(one["msg"])


async def _refused(_request: Request, error: HTTPException) -> Response:
    """Answer errors of the framework: no such path, no such method, a body that cannot be read."""
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return problem(404, "there is nothing here; /docs says what there is")
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return problem(
                405, "this method cannot be used here; /docs says which can", headers=error.headers
            )
    return problem(error.status_code, str(error.detail), headers=error.headers)


async def _unexpected(_request: Request, _error: Exception) -> Response:
    """Answer a bug of duebell: its traceback is in the server's log, not in the answer."""
    # The framework answers this outside of all middleware, so the headers are set here.
    detail = "Something went wrong inside duebell; the server's log has the details."
    return problem(500, detail, headers={**HEADERS, "Cache-Control": "no-store"})


#: The handlers of all errors of the application.
EXCEPTION_HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    DuebellError: _from_the_library,
    RequestValidationError: _invalid,
    HTTPException: _refused,
    Exception: _unexpected,
}
