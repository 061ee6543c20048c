"""The examples of the docs with curl, and the requests in the reference."""

import argparse
import re
import shlex
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app
from tests.editor.memory import Scheduler

_CURL = argparse.ArgumentParser(prog="curl", exit_on_error=False)
_CURL.add_argument("url")
_CURL.add_argument("-X", dest="method")
_CURL.add_argument("-H", dest="headers", action="append", default=[])
_CURL.add_argument("-d", dest="body")


def send(client: TestClient, command: str, **environment: str) -> Any:
    """The answer to the request of this command, which the shell would give this environment."""
    program, *words = shlex.split(command.replace("\\\n", " "))
    assert program == "curl"
    given = _CURL.parse_args(words)
    for name, value in environment.items():
        given.headers = [header.replace(f"${name}", value) for header in given.headers]
    headers = dict(header.split(": ", 1) for header in given.headers)
    path = given.url.partition("//")[2].partition("/")[2]
    method = given.method or ("GET" if given.body is None else "POST")
    return client.request(method, f"/{path}", content=given.body, headers=headers)


def client_of(editor: Editor, token: str | None) -> TestClient:
    return TestClient(create_app(editor, token=token), base_url="http://127.0.0.1:8125")


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
