"""The API's description: what it shows as examples is what it says, and what comes."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
from fastapi.testclient import TestClient


def examples(document: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each example: where it is, its schema, and itself."""
    for name, schema in document["components"]["schemas"].items():
        for example in schema.get("examples", ()):
            yield name, schema, example


def test_every_example_is_as_its_schema_says(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    found = list(examples(document))
    assert len(found) > 10
    for where, schema, example in found:
        whole = {**schema, "components": document["components"]}
        assert jsonschema_rs.is_valid(whole, example), where
    # Null takes a value away, and an example shows it
    assert {"end": None, "max_runs": 10} in document["components"]["schemas"]["TaskChange"]["examples"]


def test_every_operation_says_what_its_answers_carry(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    tasks = {
        path: operations
        for path, operations in document["paths"].items()
        if "{id}" in path and not path.endswith(("/why", "/backfill", "/history"))
    }
    for operations in tasks.values():
        for operation in operations.values():
            assert "ETag" in operation["responses"]["200"]["headers"]
    added = document["paths"]["/api/tasks"]["post"]["responses"]
    assert added["201"]["headers"].keys() == added["200"]["headers"].keys() == {
        "ETag", "Location", "Duebell-Warnings",
    }  # fmt: skip
    names = [one["operationId"] for operations in document["paths"].values() for one in operations.values()]
    assert len(set(names)) == len(names)
    assert all("_" in name for name in names)


def test_the_api_describes_itself_with_its_problems(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                is_problem = "application/problem+json" in answer.get("content", {})
                assert is_problem == (int(status) >= 400)
                assert all(content.get("schema") for content in answer.get("content", {}).values())
            assert {"401", "403", "413", "415", "500"} < set(operation["responses"])
    assert document["components"]["schemas"]["ProblemDocument"]["required"]
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert client.get("/docs").status_code == 200
