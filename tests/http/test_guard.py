"""Other web sites neither change nor read anything through a visitor's browser."""

import pytest
from fastapi.testclient import TestClient

from duebell_editor import Editor
from duebell_editor.http import create_app

BODY = '{"action": "x", "due": "2026-12-31T00:00:00Z", "id": "a"}'
JSON = {"Content-Type": "application/json"}
REQUESTS = [
    ("GET", "/api/tasks"),
    ("POST", "/api/tasks"),
    ("PATCH", "/api/tasks/a"),
    ("DELETE", "/api/tasks/a"),
]


@pytest.fixture
def client(editor: Editor) -> TestClient:
    app = create_app(editor, allowed_hosts=["Duebell.example"])
    return TestClient(app, base_url="http://127.0.0.1:8125")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8125", "localhost", "LOCALHOST:1", "[::1]", "[::1]:8125", "duebell.example:443"],
)
def test_it_answers_to_its_own_names(client: TestClient, host: str) -> None:
    assert client.get("/api/status", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8125",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "sub.duebell.example",
        "127.0.0.1:x",
        "127.0.0.1:8125:1",
        "::1",
        "127.0.0.1@evil.example",
        "",
    ],
)
def test_it_answers_to_no_other_name(client: TestClient, host: str) -> None:
    for path in ("/", "/api/tasks", "/static/page.js", "/docs"):
        response = client.get(path, headers={"Host": host})
        assert response.status_code == 403
        assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:3000",
        "http://127.0.0.1",
        "http://localhost:8125",
        "null",
        "file://",
        "x://127.0.0.1:8125",
    ],
)
def test_requests_from_other_origins_are_refused(client: TestClient, editor: Editor, origin: str) -> None:
    for method, path in REQUESTS:
        response = client.request(method, path, content=BODY, headers={**JSON, "Origin": origin})
        assert response.status_code == 403
    assert editor.list().tasks == ()


def test_requests_from_its_own_origin_are_answered(client: TestClient) -> None:
    own = {**JSON, "Origin": "http://127.0.0.1:8125"}
    assert client.post("/api/tasks", content=BODY, headers=own).status_code == 201
    assert client.delete("/api/tasks/a", headers=own).status_code == 200
    proxied = {"Host": "duebell.example", "Origin": "https://duebell.example"}
    assert client.get("/api/tasks", headers=proxied).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/xml"],
)
def test_bodies_that_are_not_json_are_refused(client: TestClient, editor: Editor, content_type: str) -> None:
    for method, path in REQUESTS:
        response = client.request(method, path, content=BODY, headers={"Content-Type": content_type})
        assert response.status_code == 415
        assert response.headers["content-type"] == "application/problem+json"
    assert editor.list().tasks == ()


def test_json_may_name_its_charset(client: TestClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert client.post("/api/tasks", content=BODY, headers=headers).status_code == 201
