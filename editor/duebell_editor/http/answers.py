"""How the API's description says what can go wrong: each status code, with the form and an example."""

from typing import Any

__all__ = ["AWS", "PROBLEM_SCHEMA", "Responses", "problems"]

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

#: Each status: what it means here, the kind of problem, and a detail that may come with it.
_KNOWN: dict[int, tuple[str, str, str]] = {
    400: ("The body cannot be read", "about:blank", "There was an error parsing the body"),
    401: ("The token is missing or wrong", "about:blank", "this server wants its token"),
    403: (
        "Another site's request, or another server's",
        "about:blank",
        "this request comes from another site",
    ),
    404: ("There is no such task", "urn:duebell:task-not-found", "there is no task 'sale-42'"),
    409: (
        "The task's status does not allow it, or the id is taken",
        "urn:duebell:task-conflict",
        "cannot pause task 'sale-42': it is done, and this needs it scheduled",
    ),
    412: (
        "The task was changed since it was seen (If-Match)",
        "urn:duebell:task-changed",
        "task 'sale-42' was changed meanwhile, to rev 8 from 7: look at it again",
    ),
    413: ("The body is too long", "about:blank", "the body must be 2 MB at most"),
    415: ("The body is not JSON", "about:blank", "the body must be JSON"),
    422: ("Something given cannot be right", "urn:duebell:invalid-task", "due: is missing"),
    500: ("A fault of duebell's own", "about:blank", "Something went wrong inside duebell"),
    502: ("AWS refused", "urn:duebell:aws-refused", "DynamoDB, table 'duebell': AccessDenied"),
    503: (
        "AWS does not answer, or nothing is deployed, or the rule could not be confirmed",
        "urn:duebell:not-armed",
        "task 'sale-42' is stored, but the rule could not be confirmed",
    ),
}

#: What every request may come to: a body can be sent with any.
_ALWAYS = (401, 403, 413, 415, 500)

#: What comes of asking AWS.
AWS = (502, 503)


def problems(*statuses: int) -> Responses:
    """The problems that a route may answer with, and those that all may."""
    return {status: _response(status) for status in sorted({*_ALWAYS, *statuses})}


def _response(status: int) -> dict[str, Any]:
    meaning, kind, detail = _KNOWN[status]
    example = {"type": kind, "title": meaning, "status": status, "detail": detail}
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": meaning, "content": {_MEDIA_TYPE: {"schema": schema, "example": example}}}
