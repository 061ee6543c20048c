"""The API's description in OpenAPI: FastAPI's, with the schemas of answers, and examples of bodies."""

from typing import Any

from fastapi import FastAPI

from .answers import Json, reference, schemas
from .headers import WARNINGS
from .problems import MEDIA_TYPE

Responses = dict[int | str, dict[str, Any]]

#: The security scheme. It is optional where the server takes requests without a token.
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "The token that the server was started with; needed where other machines can reach it",
}

_TAGS = [
    {"name": "tasks", "description": "Add tasks, look at them, change them"},
    {"name": "scheduler", "description": "The scheduler's status, counts of future and past tasks"},
]

_TEXT = {"type": "string"}

#: The meaning of each status of a problem.
_MEANINGS = {
    400: "The body is not JSON, or the visitor is named twice",
    401: "The token is missing or wrong",
    403: "Another site's request, or another server's; or a change, where the server is read-only",
    404: "There is no such task",
    408: "The body did not come in time",
    409: "The task's status does not allow it, or the id is taken",
    412: "The task was changed since it was seen (If-Match)",
    413: "The body is too long",
    415: "The body is not sent as JSON",
    422: "Something given cannot be right",
    500: "A fault of duebell's own, or an item of the table that is no task",
    502: "AWS refused",
    503: "AWS does not answer, nothing is deployed, or the rule could not be confirmed. Retry-After says "
    "when to ask again, where that may help",
    507: "The lane of the task holds as much as DynamoDB lets it hold",
}

#: The problems that a route can answer with.
PROBLEMS: Responses = {
    status: {
        "description": meaning,
        "content": {MEDIA_TYPE: {"schema": reference("ProblemDocument")}},
    }
    for status, meaning in _MEANINGS.items()
}

#: The headers of an answer about a task, and about one that was added.
_TAGGED = {"ETag": {"description": "The task's rev, for If-Match", "schema": _TEXT}}
_WARNED = {
    WARNINGS: {"description": "A JSON list of what is doubtful about it, if anything is", "schema": _TEXT}
}
_PLACED = {**_TAGGED, **_WARNED, "Location": {"description": "Where the task is", "schema": _TEXT}}

#: Successes of routes about one task.
CHANGED: Responses = {200: {"description": "The task as it is now", "headers": {**_TAGGED, **_WARNED}}}
ADDED: Responses = {
    200: {
        "description": "It was there: kept as it is, or replaced. Of a list: the outcome of each task",
        "headers": _PLACED,
        "content": {Json.media_type: {"schema": {"anyOf": [reference("Task"), reference("AddAnswer")]}}},
    },
    201: {"description": "It is new", "headers": _PLACED},
}


def answers(name: str, successes: Responses | None = None) -> Responses:
    """The successes of a route, with the schema of this name."""
    content = {Json.media_type: {"schema": reference(name)}}
    return {status: {"content": content, **success} for status, success in (successes or {200: {}}).items()}


def describe(app: FastAPI, *, with_token: bool) -> None:
    """Add the answers' schemas, examples of bodies, and the token to `/openapi.json`."""
    app.openapi_tags = _TAGS
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        components = document["components"]
        components["schemas"] |= schemas()
        for name, examples in _EXAMPLES.items():
            components["schemas"][name]["examples"] = examples
        components["securitySchemes"] = {"token": _TOKEN}
        document["security"] = [{"token": []}] if with_token else [{}, {"token": []}]
        return document

    app.openapi = openapi  # type: ignore[method-assign]


#: Examples of bodies, by the names of their schemas.
_EXAMPLES: dict[str, list[object]] = {
    "NewTask": [
        {
            "action": "put_on_sale",
            "due": "2026-12-31T00:00:00Z",
            "payload": {"item": 42},
            "id": "sale-42",
            "if_exists": "keep",
        },
        {"action": "remind", "in": 208_800, "payload": {"user": 7}},
        {"action": "report", "schedule": "cron(0 9 ? * MON-FRI *)", "timezone": "Europe/Berlin"},
    ],
    "TaskChange": [{"payload": {"item": 43}}, {"end": None, "max_runs": 10}],
    "Move": [{"due": "2026-12-31T00:00:00Z"}, {"in": 5400}],
    "Proposal": [{"in": 86_400, "limits": {"mail": {"at_most": 5}}, "flatten": True}],
    "SchedulePreview": [{"schedule": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"}],
    "BackfillRange": [{"start": "2026-01-01T00:00:00Z", "end": "2026-01-31T23:59:59Z", "per_second": 2}],
    "NewBatch": [
        {"id": "import-7", "then": {"action": "report"}, "on_failed": "alarm"},
        {"tasks": [{"action": "work", "in": 60, "payload": {"row": 1}}], "then": {"action": "report"}},
    ],
    "BulkChange": [
        {"do": "pause", "where": {"action": "put_on_sale"}, "limit": 500, "dry_run": True},
        {"do": "retry", "ids": ["sale-42", "sale-43"]},
    ],
    "NewLimit": [
        {"per_second": 2},
        {"at_most": 0},
        {"closed": "sat,sun"},
        {"at_most": None, "per_second": None},
    ],
}
