"""The examples with curl, in the API's description: each can be sent as it stands, and is answered."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from duebell import Editor, Status
from duebell_editor.http import create_app
from tests.editor.memory import Scheduler
from tests.http.curl import send

TOKEN = "sixteen-or-more-of-them"

#: The status that a task must have for a verb that does not take a scheduled one.
STATUSES = {"resume": Status.PAUSED, "retry": Status.FAILED}


def client_of(editor: Editor, token: str | None) -> TestClient:
    return TestClient(create_app(editor, token=token), base_url="http://127.0.0.1:8125")


@pytest.mark.parametrize("token", [None, TOKEN])
def test_every_example_with_curl_is_answered(token: str | None) -> None:
    document = client_of(Scheduler.start().editor, token).get("/openapi.json").json()
    sent = 0
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["x-codeSamples"]
            for sample in operation["x-codeSamples"]:
                if path == "/api/changes":  # which never ends
                    continue
                scheduler = Scheduler.start()
                if "{id}" in path:
                    when: Any = {"due": timedelta(days=1)}
                    if path.endswith("backfill"):  # of recurring tasks only
                        when = {"schedule": "rate(1 day)"}
                    task = scheduler.editor.add("put_on_sale", id="sale-42", **when)
                    scheduler.become(task, STATUSES.get(path.rpartition("/")[2], Status.SCHEDULED))
                client = client_of(scheduler.editor, token)
                answer = send(client, sample["source"], DUEBELL_EDITOR_TOKEN=TOKEN)
                assert answer.status_code in {200, 201}, (sample["source"], answer.text)
                sent += 1
    assert sent >= 18


def test_the_security_scheme_is_described_with_and_without_a_token() -> None:
    for token, security in ((TOKEN, [{"token": []}]), (None, [{}, {"token": []}])):
        document = client_of(Scheduler.start().editor, token).get("/openapi.json").json()
        scheme = document["components"]["securitySchemes"]["token"]
        assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
        assert document["security"] == security


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
