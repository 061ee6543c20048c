"""Other web sites neither change nor read anything through a visitor's browser."""

import re

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app
from duebell_editor.http.limits import MAX_BODY

BODY = '{"action": "x", "due": "2026-12-31T00:00:00Z", "id": "a"}'
JSON = {"Content-Type": "application/json"}
TOKEN = "secret-secret-secret"
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


def test_mounted_in_another_application_it_is_as_guarded(editor: Editor) -> None:
    outer = FastAPI()
    outer.mount("/admin/duebell", create_app(editor, token=TOKEN))
    client = TestClient(outer, base_url="http://127.0.0.1")
    # Nothing of the queue is told without the token
    for method, path in REQUESTS:
        refused = client.request(method, f"/admin/duebell{path}", content=BODY, headers=JSON)
        assert (refused.status_code, refused.headers["cache-control"]) == (401, "no-store")
    # And with it all is as ever, the page and its files included
    right = {**JSON, "Authorization": f"Bearer {TOKEN}"}
    added = client.post("/admin/duebell/api/tasks", content=BODY, headers=right)
    assert (added.status_code, added.headers["location"]) == (201, "/admin/duebell/api/tasks/a")
    files = re.findall(r'(?:href|src)="([^"#]+)"', client.get("/admin/duebell/").text)
    assert files
    assert not [file for file in files if file.startswith("/")]
    for file in files:
        assert client.get(f"/admin/duebell/{file}", headers=right).status_code == 200


def test_a_body_that_is_too_long_is_not_read(client: TestClient) -> None:
    announced = client.post("/api/tasks", content=b"x" * (MAX_BODY + 1), headers=JSON)
    streamed = client.post("/api/tasks", content=(b"x" * 65536 for _ in range(64)), headers=JSON)
    for refused in (announced, streamed):
        assert refused.status_code == 413
        assert refused.headers["content-type"] == "application/problem+json"
