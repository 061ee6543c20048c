"""The API's description in OpenAPI: FastAPI's, with the form of all problems."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from . import asks, reports, views
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
        for name, examples in _examples():
            if name in components["schemas"]:
                components["schemas"][name]["examples"] = examples
        if with_token:
            components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"token": []}]
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _examples() -> Iterator[tuple[str, Any]]:
    """The models' examples as they are: FastAPI leaves out what is null in them."""
    for module in (asks, reports, views):
        for name in module.__all__:
            model: type[BaseModel] = getattr(module, name)
            extra = model.model_config.get("json_schema_extra")
            if isinstance(extra, dict) and "examples" in extra:
                yield name, extra["examples"]
