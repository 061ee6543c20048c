"""A server that only shows the queue: whatever would change something is refused, and that is said."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from duebell_editor.http import create_app
from tests.editor.memory import Scheduler

READING = {("post", "/api/preview"), ("post", "/api/simulate")}

NEW = {"action": "x", "due": "2026-12-31T00:00:00Z"}


@pytest.fixture
def furnished(scheduler: Scheduler) -> Scheduler:
    scheduler.editor.add("x", due=scheduler.clock.now, id="a")
    return scheduler


@pytest.fixture
def client(furnished: Scheduler) -> TestClient:
    return TestClient(create_app(furnished.editor, read_only=True), base_url="http://127.0.0.1:8125")


def test_each_request_that_changes_something_is_refused(client: TestClient, furnished: Scheduler) -> None:
    # Given every request that the description knows, and some that it does not
    before = furnished.snapshot()
    known = client.get("/openapi.json").json()["paths"]
    requests = [(method, path) for path, operations in known.items() for method in operations]
    changing = [one for one in requests if one[0] != "get" and one not in READING]
    assert len(changing) > 8
    odd = [
        ("put", "/api/tasks/a"),
        ("delete", "/api/tasks/%61"),
        ("post", "/api/tasks/a/%2e%2e/%2e%2e/preview"),
        ("post", "/api/preview/"),
        ("propfind", "/api/tasks"),
        ("post", "/"),
    ]
    # When they are made, as they should be
    for method, path in changing + odd:
        answer = client.request(method, path.replace("{id}", "a"), json=NEW)
        # Then each is refused, in words
        assert answer.status_code == 403, (method, path)
        assert (answer.json()["type"], answer.json()["title"]) == ("urn:duebell:read-only", "Read only")
        assert "nothing was changed" in answer.json()["detail"]
    # And nothing was changed
    assert furnished.snapshot() == before


def test_it_holds_where_it_is_mounted(furnished: Scheduler) -> None:
    outer = FastAPI()
    outer.mount("/admin", create_app(furnished.editor, read_only=True))
    client = TestClient(outer, base_url="http://127.0.0.1")
    assert client.delete("/admin/api/tasks/a").status_code == 403
    assert client.get("/admin/api/tasks/a").json()["status"] == "scheduled"
    assert client.post("/admin/api/preview", json={"schedule": "rate(1 hour)"}).status_code == 200
