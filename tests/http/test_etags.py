"""No change is lost unseen: a task's rev is its ETag, and If-Match is heeded."""

from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app

TIME = "2026-12-31T00:00:00Z"
CHANGES = [("PATCH", "", {"payload": 1}), ("POST", "/move", {"due": TIME}), ("POST", "/pause", {})]


@pytest.fixture
def client(editor: Editor) -> TestClient:
    editor.add("x", due=timedelta(days=1), id="a/b")
    return TestClient(create_app(editor), base_url="http://127.0.0.1:8125")


def change(client: TestClient, method: str, verb: str, body: Any, tag: str) -> Any:
    headers = {"If-Match": tag, "Content-Type": "application/json"}
    return client.request(method, f"/api/tasks/a%2Fb{verb}", json=body, headers=headers)


@pytest.mark.parametrize(("method", "verb", "body"), CHANGES)
def test_a_change_to_what_was_changed_meanwhile_is_refused(
    client: TestClient, editor: Editor, method: str, verb: str, body: Any
) -> None:
    # Given a task that someone else has changed since it was seen
    editor.update("a/b", payload="theirs")
    # When it is changed as it was seen, then nothing is written, and the answer says so
    refused = change(client, method, verb, body, '"1"')
    problem = refused.json()
    assert (refused.status_code, problem["type"], problem["rev"]) == (412, "urn:duebell:task-changed", 2)
    assert (editor.get("a/b").payload, editor.get("a/b").rev) == ("theirs", 2)
    # And as it is now, it can be
    seen = client.get("/api/tasks/a%2Fb").headers["etag"]
    changed = change(client, method, verb, body, seen)
    assert (seen, changed.status_code, changed.headers["etag"]) == ('"2"', 200, '"3"')


def test_a_task_is_replaced_only_as_it_was_seen(client: TestClient, editor: Editor) -> None:
    body = {"action": "y", "due": TIME, "id": "a/b", "if_exists": "replace"}
    # When it was changed since
    editor.update("a/b", payload="theirs")
    refused = client.post("/api/tasks", json=body, headers={"If-Match": '"1"'})
    # Then it stays as it is, and as it is now it can be replaced
    assert (refused.status_code, refused.json()["rev"]) == (412, 2)
    assert editor.get("a/b").payload == "theirs"
    replaced = client.post("/api/tasks", json=body, headers={"If-Match": '"2"'})
    assert (replaced.status_code, replaced.headers["etag"], editor.get("a/b").action) == (200, '"3"', "y")
    # And one that is gone meanwhile is not added anew
    gone = client.post("/api/tasks", json={**body, "id": "gone"}, headers={"If-Match": '"2"'})
    assert (gone.status_code, client.get("/api/tasks/gone").status_code) == (404, 404)
    # And it goes with nothing else
    for what, tag in (("keep", '"3"'), ("replace", 'W/"3"'), ("replace", '"3", "4"'), ("replace", '"x"')):
        wrong = client.post("/api/tasks", json={**body, "if_exists": what}, headers={"If-Match": tag})
        assert (wrong.status_code, wrong.json()["field"]) == (422, "If-Match")
