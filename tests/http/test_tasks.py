"""Tasks over HTTP: added, changed, listed, and what is told of them."""

from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from duebell import Editor
from tests.http.conftest import TOMORROW, add


def test_a_task_that_is_added_is_stored_and_the_rule_rings_for_it(client: TestClient, editor: Editor) -> None:
    given = {"action": "put_on_sale", "payload": {"item": 42}, "id": "a b/c"}
    response = client.post("/api/tasks", json={**given, "due": "2026-12-31T01:00:00+01:00"})
    assert response.status_code == 201
    assert response.headers["location"] == "/api/tasks/a%20b%2Fc"
    due = "2026-12-31T00:00:00.000Z"
    made = {"status": "scheduled", "due": due, "queued": due, "starts_by": "2026-12-31T00:03:30.000Z"}
    told = {"rev": 1, "changed_by": "http", "can": ["move", "update", "cancel", "pause", "run_now"]}
    assert response.json() == {**response.json(), **given, **made, **told}
    assert editor.status().rings_at == datetime(2026, 12, 31, tzinfo=UTC)


def test_if_exists_says_what_to_do_with_a_taken_id(client: TestClient) -> None:
    sale = {"action": "x", "due": TOMORROW, "id": "sale"}
    assert client.post("/api/tasks", json={**sale, "payload": 1, "if_exists": "keep"}).status_code == 201
    for word, payload in (("keep", 1), ("replace", 3)):
        there = client.post("/api/tasks", json={**sale, "payload": 3, "if_exists": word})
        assert (there.status_code, there.json()["payload"]) == (200, payload)
        assert there.headers["location"] == "/api/tasks/sale"
    again = client.post("/api/tasks", json=sale)
    assert (again.status_code, again.json()["id"]) == (409, "sale")


@pytest.mark.parametrize(
    "text", ["12345678901234567890123456789", "0.1", "5e-324", "-0.0", "1e+22", '"你好\\u0000"']
)
def test_payloads_come_back_as_they_went_in(client: TestClient, text: str) -> None:
    body = f'{{"action": "x", "due": "{TOMORROW}", "id": "n", "payload": [{text}]}}'
    added = client.post("/api/tasks", content=body, headers={"Content-Type": "application/json"})
    for answer in (added, client.get("/api/tasks/n"), client.get("/api/tasks")):
        assert f'"payload":[{text}]' in answer.text.replace("\x00", "\\u0000")


def test_a_due_date_may_be_given_as_the_seconds_until_then(client: TestClient) -> None:
    added = client.post("/api/tasks", json={"action": "x", "in": 90, "id": "soon"})
    assert added.json()["due"] == "2026-11-21T12:01:30.000Z"
    moved = client.post("/api/tasks/soon/move", json={"in": 0.5})
    assert moved.json()["due"] == "2026-11-21T12:00:00.500Z"
    for body, due in (({"in": 3600}, "13:00"), ({"in": 7200, "payload": 1}, "14:00")):
        changed = client.patch("/api/tasks/soon", json=body)
        assert changed.json()["due"] == f"2026-11-21T{due}:00.000Z"
    # And neither, or both, is wrong
    for wrong, field in (({}, "due"), ({"in": 1, "due": TOMORROW}, "in")):
        refused = client.post("/api/tasks/soon/move", json=wrong)
        assert (refused.status_code, refused.json()["field"]) == (422, field)


def test_a_task_is_unique_by_its_payload_alone_and_in_a_list(client: TestClient) -> None:
    body = {"action": "ship", "in": 3600, "payload": {"order": 42}, "unique": ["order"]}
    first = client.post("/api/tasks", json=body).json()
    assert client.post("/api/tasks", json=body).status_code == 409
    assert client.post("/api/tasks", json={**body, "if_exists": "push"}).json()["id"] == first["id"]
    other = {**body, "payload": {"order": 43}, "if_exists": "keep"}
    many = client.post("/api/tasks", json=[{**body, "if_exists": "keep"}, other])
    assert [one["outcome"] for one in many.json()["results"]] == ["kept", "added"]
    wrong = client.post("/api/tasks", json=[other, {**other, "unique": ["dew"]}])
    assert (wrong.status_code, "tasks[1].unique" in wrong.text) == (422, True)


def test_a_batch_is_made_filled_and_closed(client: TestClient) -> None:
    # Given an open batch, and a task of it
    body = {"id": "b", "then": {"action": "report", "payload": {"month": 1}}, "on_failed": "alarm"}
    made = client.post("/api/batches", json=body)
    added = client.post("/api/tasks", json={"action": "work", "in": 60, "batch": "b", "id": "m"})
    # When it is closed
    closed = client.post("/api/tasks/b/close")
    # Then it waits for its task
    assert (made.status_code, added.status_code, added.json()["batch"]) == (201, 201, "b")
    assert (closed.json()["status"], closed.json()["can"]) == ("blocked", ["cancel"])
    counts = {"left": 1, "done": 0, "failed": 0, "cancelled": 0, "expired": 0}
    assert closed.json()["members"] == {"open": False, **counts, "on_failed": "alarm", "after": 0}
    # And one is made with its tasks by one request, which can be repeated
    whole = {"id": "c", "tasks": [{"action": "work", "in": 60}, {"action": "work", "in": 90}]}
    for _ in range(2):
        assert client.post("/api/batches", json=whole).json()["members"]["left"] == 2
    assert [one["id"] for one in client.get("/api/find?prefix=c/").json()["tasks"]] == ["c/1", "c/2"]
    # And one of tasks that are there
    client.post("/api/tasks", json={"action": "work", "in": 60, "id": "m2"})
    there = client.post("/api/batches", json={"id": "d", "wait_for": ["m2", "c"]}).json()
    assert (there["members"]["left"], there["members"]["open"]) == (2, False)
    assert client.post("/api/batches", json={"id": "e", "wait_for": ["m2"]}).status_code == 409
    described = client.get("/openapi.json").json()["paths"]
    task = {"action": "work", "in": 60, "batch": "none"}
    for path, lost in (("/api/batches", {"wait_for": ["none"]}), ("/api/tasks", task)):
        assert client.post(path, json=lost).status_code == 404
        assert "404" in described[path]["post"]["responses"]


def test_null_takes_away(client: TestClient) -> None:
    # Given a task with all that it can do without
    rules = {"start": "2026-12-01T00:00Z", "end": "2027-01-01T00:00Z", "missed": "all", "max_runs": 3}
    rules |= {"timezone": "Europe/Berlin", "spread": 60, "payload": 1}
    add(client, due=None, schedule="0 9 * * *", id="r", **rules)
    add(client, id="once", expires_after=60)
    # When it is taken away, then it is as if it had never been there
    changed = client.patch("/api/tasks/r", json=dict.fromkeys(rules)).json()
    schedule = {"expression": "0 9 * * *", "timezone": "UTC", "start": None, "end": None}
    recurrence = changed["recurrence"]
    assert recurrence["schedule"] == schedule
    assert (recurrence["missed"], recurrence["max_runs"], changed["spread"]) == ("once", None, 0)
    assert (changed["payload"], changed["due"]) == ({}, "2026-11-22T09:00:00.000Z")
    assert client.patch("/api/tasks/once", json={"expires_after": None}).json()["expires_after"] is None


@pytest.mark.parametrize("field", ["action", "due", "schedule"])
def test_required_fields_cannot_be_unset(client: TestClient, field: str) -> None:
    add(client, id="sale")
    response = client.patch("/api/tasks/sale", json={field: None})
    assert (response.status_code, response.json()["field"]) == (422, field)
