"""The API's description in OpenAPI: FastAPI's, with the form of all problems."""

from typing import Any

from fastapi import FastAPI

from .answers import PROBLEM_SCHEMA

__all__ = ["describe"]

_TAGS = [
    {"name": "tasks", "description": "Add tasks, look at them, change them"},
    {"name": "scheduler", "description": "How the scheduler stands, what is to come, what has been"},
]


def describe(app: FastAPI, *, with_token: bool) -> None:
    """Have `/openapi.json` say all that can be answered."""
    app.openapi_tags = _TAGS
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        components = document["components"]
        components["schemas"]["Problem"] = PROBLEM_SCHEMA
        if with_token:
            components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"token": []}]
        return document

    app.openapi = openapi  # type: ignore[method-assign]
