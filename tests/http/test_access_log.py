"""The access log: one structured line for each request, and no secret in it."""

import logging
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app
from tests.serving import serving

TOKEN = "secret-secret+secret"
NEW = {"action": "x", "due": "2026-12-31T00:00:00Z", "id": "a", "payload": "4111-1111"}

Told = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    """What was logged of requests, without how long they took."""
    caplog.set_level(logging.INFO, "duebell.http")

    def lines() -> list[dict[str, Any]]:
        found = [vars(record)["fields"] for record in caplog.records if record.name == "duebell.http"]
        for fields in found:
            assert fields.pop("duration_ms") >= 0
        assert {record.getMessage() for record in caplog.records if record.name == "duebell.http"} <= {
            "request"
        }
        caplog.clear()
        return found

    return lines


def test_each_request_is_one_line(editor: Editor, told: Told) -> None:
    client = TestClient(
        create_app(editor, identity_header="X-User"), base_url="http://127.0.0.1", client=("10.1.2.3", 5)
    )
    client.post("/api/tasks", json=NEW, headers={"X-User": "anna"})
    client.get("/api/tasks/a%2Fb", params={"card": "4111"})
    client.head("/docs")
    client.get("/api/status", headers={"Host": "evil.example", "X-User": "forged"})
    assert told() == [
        {"method": "POST", "path": "/api/tasks", "status": 201, "who": "anna", "client": "10.1.2.3"},
        {"method": "GET", "path": "/api/tasks/a%2Fb", "status": 404, "client": "10.1.2.3"},
        {"method": "HEAD", "path": "/docs", "status": 200, "client": "10.1.2.3"},
        # Refused before anybody asks who it is
        {"method": "GET", "path": "/api/status", "status": 403, "client": "10.1.2.3"},
    ]


def test_it_holds_no_token_and_nothing_of_a_payload(
    editor: Editor, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    client = TestClient(create_app(editor, token=TOKEN), base_url="http://127.0.0.1")
    for headers in ({}, {"Authorization": f"Bearer {TOKEN}"}):
        client.post("/api/tasks", json=NEW, headers=headers)
        client.get(f"/api/tasks?token={TOKEN}", headers=headers)
        client.get(f"/{TOKEN}", headers=headers)
        client.get("/%73ecret-secret%2Bsecret/x", headers=headers)
    assert "secret" not in caplog.text
    lines = told()
    assert len(lines) == 8
    assert "secret" not in repr(lines)
    assert "4111" not in repr(lines)
    assert lines[2]["path"] == lines[3]["path"] == "(held the token)"


def test_a_fault_of_ours_is_a_500(editor: Editor, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editor, "get", lambda _id: 1 / 0)
    client = TestClient(create_app(editor), base_url="http://127.0.0.1", raise_server_exceptions=False)
    assert client.get("/api/tasks/a").status_code == 500
    assert told()[0]["status"] == 500


def test_it_is_the_same_on_a_port_and_a_stream_is_told_at_its_end(editor: Editor, told: Told) -> None:
    with serving(editor) as url:
        with pytest.raises(urllib.error.HTTPError) as unknown:
            urllib.request.urlopen(f"{url}api/%0a%1b[2J?q=1", timeout=30)
        unknown.value.close()
        with urllib.request.urlopen(f"{url}api/changes?id=a", timeout=30) as stream:
            stream.readline()
    here = {"method": "GET", "client": "127.0.0.1"}
    assert told() == [
        {**here, "path": "/api/%0a%1b[2J", "status": 404},
        {**here, "path": "/api/changes", "status": 200},
    ]


def test_a_client_cannot_choose_the_address_that_is_logged(editor: Editor, told: Told) -> None:
    with serving(editor) as url:
        asked = urllib.request.Request(f"{url}api/tasks", headers={"X-Forwarded-For": "203.0.113.9"})
        urllib.request.urlopen(asked, timeout=30).close()
    assert [one["client"] for one in told()] == ["127.0.0.1"]
