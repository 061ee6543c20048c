"""The author of a change by HTTP, as a proxy with a login names it; and the access log."""

import asyncio
import logging
from typing import Any
from unittest import mock

import pytest
from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app

NEW = {"action": "x", "due": "2026-12-31T00:00:00Z", "id": "a", "payload": "4111-1111"}

HEADER = "X-Forwarded-User"


def client_of(editor: Editor, **given: Any) -> TestClient:
    return TestClient(create_app(editor, **given), base_url="http://127.0.0.1:8125")


def test_every_change_is_by_whom_the_proxy_names(editor: Editor) -> None:
    client = client_of(editor, identity_header=HEADER)
    anna, ben = {HEADER: "anna@example.org"}, {"x-forwarded-user": "ben"}
    assert client.post("/api/tasks", json=NEW, headers=anna).json()["changed_by"] == "anna@example.org"
    assert client.post("/api/tasks/a/pause", headers=ben).json()["changed_by"] == "ben"
    uenal: Any = {HEADER.encode(): "Ünal\u202e".encode()}
    assert client.post("/api/tasks/a/resume", headers=uenal).json()["changed_by"] == "Ünal?"
    assert client.post("/api/tasks/a/pause", headers=ben).json()["changed_by"] == "ben"
    assert client.get("/api/tasks/a", headers=anna).json()["changed_by"] == "ben"
    bulk = {"do": "resume", "ids": ["a"]}
    assert client.post("/api/bulk", json=bulk, headers=anna).json()["changed"] == ["a"]
    assert client.get("/api/tasks").json()["tasks"][0]["changed_by"] == "anna@example.org"
    # And of one that comes without a name it is only known how it came
    assert client.patch("/api/tasks/a", json={"payload": 1}).json()["changed_by"] == "http"
    named = client_of(editor.acting_as("night shift"), identity_header=HEADER)
    assert named.patch("/api/tasks/a", json={"payload": 2}).json()["changed_by"] == "night shift"


TOKEN = "secret-secret+secret"


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The log lines of requests."""
    found = [record for record in caplog.records if record.name == "duebell.http"]
    assert {record.getMessage() for record in found} == {"request"}
    return [vars(record)["fields"] for record in found]


def test_each_request_is_one_line(editor: Editor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "duebell.http")
    client = TestClient(
        create_app(editor, identity_header="X-User"), base_url="http://127.0.0.1", client=("10.1.2.3", 5)
    )
    client.post("/api/tasks", json=NEW, headers={"X-User": "anna"})
    client.get("/api/tasks/a%2Fb", params={"card": "4111"})
    client.get("/api/status", headers={"Host": "evil.example", "X-User": "forged"})
    client.get("/api/%0a%1b[2J?q=1")
    with mock.patch.object(editor, "past_counts", side_effect=RuntimeError), pytest.raises(RuntimeError):
        client.get("/api/counts")
    assert lines(caplog) == [
        {"method": "POST", "path": "/api/tasks", "status": 201, "who": "anna", "client": "10.1.2.3"},
        {"method": "GET", "path": "/api/tasks/a/b", "status": 404, "client": "10.1.2.3"},
        # Refused before anybody asks who it is
        {"method": "GET", "path": "/api/status", "status": 403, "client": "10.1.2.3"},
        {"method": "GET", "path": "/api/%0A%1B%5B2J", "status": 404, "client": "10.1.2.3"},
        {"method": "GET", "path": "/api/counts", "status": 500, "client": "10.1.2.3"},
    ]


def test_it_holds_no_token_and_nothing_of_a_payload(editor: Editor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "duebell.http")
    client = TestClient(create_app(editor, token=TOKEN), base_url="http://127.0.0.1")
    for headers in ({}, {"Authorization": f"Bearer {TOKEN}"}):
        client.post("/api/tasks", json=NEW, headers=headers)
        client.get(f"/api/tasks?token={TOKEN}", headers=headers)
        client.get(f"/{TOKEN}", headers=headers)
        client.get("/%73ecret-secret%2Bsecret/x", headers=headers)
    assert "secret" not in caplog.text
    told = lines(caplog)
    assert len(told) == 8
    assert "secret" not in repr(told)
    assert "4111" not in repr(told)
    assert told[2]["path"] == told[3]["path"] == "(held the token)"


def test_it_holds_no_password_of_a_whole_url(editor: Editor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "duebell.http")
    scope = {"type": "http", "method": "GET", "path": "http://anna:secret@here/", "query_string": b""}
    asked = {**scope, "headers": [(b"host", b"127.0.0.1")], "root_path": ""}
    asyncio.run(create_app(editor)(asked, mock.AsyncMock(), mock.AsyncMock()))
    [told] = lines(caplog)
    assert told == {"method": "GET", "path": "(none)", "status": 404, "client": "unknown"}
