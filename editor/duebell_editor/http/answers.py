"""How the API's description says what can go wrong: each status code, with the form and an example."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

__all__ = ["ADDED", "AWS", "FULL", "PROBLEM_SCHEMA", "TAGGED", "TASK", "Responses", "problems"]

Responses = dict[int | str, dict[str, Any]]

_MEDIA_TYPE = "application/problem+json"

_TEXT = {"type": "string"}

#: The one form of every answer that is not a success (RFC 9457).
PROBLEM_SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "A problem document (RFC 9457); `field` and `reason` say what cannot be right",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {**_TEXT, "description": "What kind: `urn:duebell:…`, for programs"},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": {**_TEXT, "description": "What is wrong and what to do, for people"},
        "field": {**_TEXT, "description": "What was given that cannot be right"},
        "reason": _TEXT,
        "errors": {
            "type": "array",
            "description": "All that cannot be right, when it is more than one thing",
            "items": {"type": "object", "properties": {"field": _TEXT, "reason": _TEXT}},
        },
        "id": {"type": ["string", "null"], "description": "The task it is about"},
        "rev": {"type": "integer", "description": "With 412: the task's rev as it is now"},
        "stored": {"type": "boolean", "description": "With 503: the task is stored all the same"},
    },
}


class _Known(NamedTuple):
    """A status: what it means here, and the problem document that may come with it."""

    meaning: str
    detail: str
    kind: str = "about:blank"
    more: Mapping[str, Any] = {}

    def example(self, status: int) -> dict[str, Any]:
        title = self.kind.removeprefix("urn:duebell:").replace("-", " ").capitalize().replace("Aws", "AWS")
        title = HTTPStatus(status).phrase if self.kind == "about:blank" else title
        return {"type": self.kind, "title": title, "status": status, "detail": self.detail, **self.more}


_MISSING = {"field": "action", "reason": "is missing"}

_KNOWN = {
    400: _Known(
        "The body is not JSON, or the visitor is named twice",
        "the body is not JSON as it is taken here: the name 'due' is twice in one object",
    ),
    401: _Known(
        "The token is missing or wrong", "this server wants its token: Authorization: Bearer <token>"
    ),
    403: _Known(
        "Another site's request, or another server's; or a change, where the server is read-only",
        "this request comes from another site",
    ),
    404: _Known(
        "There is no such task",
        "there is no task 'sale-42' (finished tasks are forgotten after the retention time)",
        "urn:duebell:task-not-found",
        {"id": "sale-42"},
    ),
    408: _Known("The body did not come in time", "the body must come within 30 seconds"),
    409: _Known(
        "The task's status does not allow it, or the id is taken",
        "cannot pause task 'sale-42': it is done, and this needs it scheduled",
        "urn:duebell:task-conflict",
    ),
    412: _Known(
        "The task was changed since it was seen (If-Match)",
        "task 'sale-42' was changed meanwhile, to rev 8 from 7: look at it again",
        "urn:duebell:task-changed",
        {"id": "sale-42", "rev": 8},
    ),
    413: _Known("The body is too long", "the body must be 2 MB at most"),
    415: _Known(
        "The body is not sent as JSON", "the body must be JSON, sent with Content-Type: application/json"
    ),
    422: _Known(
        "Something given cannot be right",
        "action: is missing",
        "urn:duebell:invalid-input",
        {**_MISSING, "errors": [_MISSING]},
    ),
    500: _Known(
        "A fault of duebell's own, or an item of the table that is no task",
        "Something went wrong inside duebell; the server's log has the details.",
    ),
    502: _Known("AWS refused", "DynamoDB, table 'duebell': AccessDenied", "urn:duebell:aws-refused"),
    503: _Known(
        "AWS does not answer, nothing is deployed, the rule could not be confirmed, or too many requests are "
        "at work. Retry-After says when to ask again, where that may help",
        "the task is stored, but the rule could not be confirmed",
        "urn:duebell:not-armed",
        {"stored": True, "id": "sale-42"},
    ),
    507: _Known(
        "The lane of the task holds as much as DynamoDB lets it hold",
        "task 'sale-42' does not fit: its lane, 3, holds 10 GB, all that DynamoDB lets it hold",
        "urn:duebell:queue-full",
        {"id": "sale-42"},
    ),
}

#: What every request may come to: a body can be sent with any.
_ALWAYS = (400, 401, 403, 408, 413, 415, 500, 503)

#: What comes of asking AWS.
AWS = (502, 503)


#: The status of a write that a full lane refuses.
FULL = 507

#: The headers of an answer about a task.
TAGGED = {"ETag": {"description": "The task's rev, for If-Match and If-None-Match", "schema": _TEXT}}

#: The headers of an answer about a task that was added.
ADDED = {**TAGGED, "Location": {"description": "Where the task is", "schema": _TEXT}}


#: A success that is a task.
TASK: Responses = {200: {"description": "The task as it is now", "headers": TAGGED}}


def problems(*statuses: int) -> Responses:
    """The problems that a route may answer with, and those that all may."""
    return {status: _response(status) for status in sorted({*_ALWAYS, *statuses})}


def _response(status: int) -> dict[str, Any]:
    known = _KNOWN[status]
    schema = {"$ref": "#/components/schemas/Problem"}
    content = {_MEDIA_TYPE: {"schema": schema, "example": known.example(status)}}
    return {"description": known.meaning, "content": content}
