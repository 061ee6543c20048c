"""The examples of the docs with curl, and the token in the API's description."""

import re
from pathlib import Path

from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app
from tests.editor.memory import Scheduler
from tests.http.curl import send

TOKEN = "sixteen-or-more-of-them"


def client_of(editor: Editor, token: str | None) -> TestClient:
    return TestClient(create_app(editor, token=token), base_url="http://127.0.0.1:8125")


def test_the_security_scheme_is_described_with_and_without_a_token() -> None:
    for token, security in ((TOKEN, [{"token": []}]), (None, [{}, {"token": []}])):
        document = client_of(Scheduler.start().editor, token).get("/openapi.json").json()
        scheme = document["components"]["securitySchemes"]["token"]
        assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
        assert document["security"] == security


def test_the_reference_has_every_request() -> None:
    document = client_of(Scheduler.start().editor, None).get("/openapi.json").json()
    reference = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"### {method.upper()} {path}\n" in reference, "make reference"


def test_the_examples_of_the_docs_are_answered() -> None:
    # Given the page of the docs, whose requests build on each other
    page = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")
    block = next(one for one in re.findall(r"```console\n(.*?)```", page, re.DOTALL) if "/api/tasks" in one)
    commands = block.replace("\\\n", " ").splitlines()
    client = client_of(Scheduler.start().editor, None)
    # When they are sent in their order
    statuses = [send(client, command.removeprefix("$ ")).status_code for command in commands]
    # Then each is answered
    assert statuses == [201, 200, 200, 200, 200, 200]
