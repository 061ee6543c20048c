"""Examples of requests with curl in the API's description, as `x-codeSamples`, which other viewers know."""

import json
import shlex
from collections.abc import Iterator
from typing import Any

__all__ = ["add_curl"]

#: The address in the examples; the page puts its own there.
_SERVER = "http://127.0.0.1:8125"

_AUTHORIZATION = "Authorization: Bearer $DUEBELL_EDITOR_TOKEN"

#: Queries worth showing, by path.
_QUERIES = {
    "/api/tasks": "status=failed&limit=20",
    "/api/find": "prefix=sale-",
    "/api/timeline": "start=2026-12-31T00:00:00Z&step=hour&count=24",
    "/api/history": "start=2026-12-30T00:00:00Z&step=day&count=7",
}


def add_curl(document: dict[str, Any], *, with_token: bool) -> None:
    """Add an example to each operation, and one more where a list can be sent as well."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["x-codeSamples"] = [
                {"lang": "Shell", "label": label, "source": _curl(method, path, body, with_token=with_token)}
                for label, body in _bodies(document, operation)
            ]


def _bodies(document: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The name and the body of each example; no body is None."""
    if "requestBody" not in operation:
        yield "curl", None
        return
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    one = schema.get("oneOf", [schema])[0]
    examples = document["components"]["schemas"][one["$ref"].rpartition("/")[2]]["examples"]
    yield "curl", examples[0]
    if "oneOf" in schema:
        yield "curl, a list", examples[1:]


def _curl(method: str, path: str, body: Any, *, with_token: bool) -> str:
    query = _QUERIES.get(path) if method == "get" else None
    url = _SERVER + path.replace("{id}", "sale-42") + (f"?{query}" if query else "")
    parts = [f"curl {shlex.quote(url)}" if query else f"curl {url}"]
    if path.endswith("/changes"):
        parts[0] = f"curl --no-buffer {url}"
    if method not in ("get", "post") or (method == "post" and body is None):
        parts.append(f"-X {method.upper()}")
    if with_token:
        parts.append(f'-H "{_AUTHORIZATION}"')
    if body is not None:
        parts.append("-H 'Content-Type: application/json'")
        parts.append(f"-d {shlex.quote(json.dumps(body))}")
    return " \\\n  ".join(parts)
