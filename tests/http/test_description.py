"""The API's description and its docs: what they show as examples is what they say, and what comes."""

import itertools
import re
import shlex
from pathlib import Path

import jsonschema_rs
from fastapi.testclient import TestClient

DOCS = Path(__file__).parents[2] / "docs"


def test_every_example_is_as_its_schema_says(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    found = [(name, example) for name, schema in schemas.items() for example in schema.get("examples", ())]
    assert len(found) > 10
    for name, example in found:
        whole = {**schemas[name], "components": document["components"]}
        assert jsonschema_rs.is_valid(whole, example), name
    # Null takes a value away, and an example shows it
    assert {"end": None, "max_runs": 10} in schemas["TaskChange"]["examples"]


def test_every_operation_says_what_its_answers_carry(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        if "{id}" in path and not path.endswith(("/why", "/backfill", "/history")):
            for operation in operations.values():
                assert "ETag" in operation["responses"]["200"]["headers"]
    added = paths["/api/tasks"]["post"]["responses"]
    told = {"ETag", "Location", "Duebell-Warnings"}
    assert added["201"]["headers"].keys() == added["200"]["headers"].keys() == told
    names = [one["operationId"] for operations in paths.values() for one in operations.values()]
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


def test_the_reference_has_every_request(client: TestClient) -> None:
    reference = (DOCS / "reference.md").read_text(encoding="utf-8")
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        for method in operations:
            assert f"### {method.upper()} {path}\n" in reference, "make reference"


def test_the_examples_of_the_docs_are_answered(client: TestClient) -> None:
    # Given the page of the docs, whose requests build on each other
    page = (DOCS / "http.md").read_text(encoding="utf-8")
    block = next(one for one in re.findall(r"```console\n(.*?)```", page, re.DOTALL) if "/api/tasks" in one)
    # When they are sent in their order
    statuses = []
    for command in block.replace("\\\n", " ").splitlines():
        prompt, curl, *words = shlex.split(command)
        assert (prompt, curl) == ("$", "curl")
        url = next(word for word in words if word.startswith("http"))
        given = dict(itertools.pairwise(words))
        name, _, value = given.get("-H", "Accept: */*").partition(": ")
        method, body = given.get("-X", "POST" if "-d" in given else "GET"), given.get("-d")
        statuses.append(client.request(method, url, content=body, headers={name: value}).status_code)
    # Then each is answered
    assert statuses == [201, 200, 200, 200, 200, 200]
