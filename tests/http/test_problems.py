"""Every error of the HTTP editor is a problem document that says what to do."""

import json
from typing import Any
from unittest import mock

import pytest
from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app
from duebell_shared import errors

DUE = "2026-12-31T00:00:00Z"


@pytest.fixture
def client(editor: Editor) -> TestClient:
    return TestClient(create_app(editor), base_url="http://127.0.0.1:8125", raise_server_exceptions=False)


def problem(response: Any, status: int) -> Any:
    """The response's problem document, checked for what all of them have."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    return document


def post(client: TestClient, body: str | bytes) -> Any:
    return client.post("/api/tasks", content=body, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({"due": DUE}, "action", "is missing"),
        ({"action": "x"}, "due", "is missing: give a time or a length of time from now; a new task can"),
        ({"action": "x", "due": "2026-12-31T00:00:00"}, "due", "has no offset"),
        ({"action": "x", "due": "tomorrow"}, "due", "is not an ISO-8601 time"),
        ({"action": "x", "due": "9999-12-31T23:59:59-10:00"}, "due", "outside the calendar"),
        ({"action": "x", "due": DUE, "id": ".."}, "id", "cannot be named in an address"),
        ({"action": "x", "due": DUE, "dues": 1}, "dues", "is not known here"),
        ({"action": "x", "due": DUE, "payload": "x" * 400_000}, "payload", "is 400,002 bytes"),
        (7, "body", "valid dictionary"),
        ({"action": "x", "due": DUE, "spread": 10**400}, "spread", "seconds are too many"),
        ({"action": "x", "due": DUE, "id": "\ud800"}, "id", "only printable characters"),
        ({"action": "x", "due": DUE, "payload": float("nan")}, "payload", ""),
        ({"action": "x", "due": DUE, "payload": ["\ud800"]}, "payload", "has no JSON form"),
        ({"action": "x", "in": "1h"}, "in", "must be a number of seconds, not '1h'"),
    ],
)
def test_wrong_fields_are_told_with_reason(client: TestClient, body: object, field: str, reason: str) -> None:
    document = problem(post(client, json.dumps(body)), 422)
    assert document["field"] == field
    assert reason in document["reason"]
    assert "Value error" not in document["reason"]  # pydantic's words
    assert client.get("/api/tasks").json()["tasks"] == []


def test_all_that_is_wrong_with_a_body_is_said(client: TestClient) -> None:
    document = problem(post(client, '{"due": "soon"}'), 422)
    assert [one["field"] for one in document["errors"]] == ["action", "due"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "Expecting property name enclosed in double quotes"),
        (b'{"action": "\xff"}', "it is not UTF-8"),
        (b'{"payload": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"payload": {"a": {"b": 1, "b": 2}}}', "the name 'b' is twice in one object"),
    ],
)
def test_a_body_that_can_be_read_in_no_way_or_in_two_is_refused(
    client: TestClient, body: bytes, why: str
) -> None:
    detail = problem(post(client, body), 400)["detail"]
    assert detail.startswith("the body is not JSON as it is taken here: ")
    assert why in detail
    assert client.get("/api/tasks").json()["tasks"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("status=lost", "status[0]"),
        ("after=2026-12-31T00:00:00", "after"),
        ("cursor=nonsense", "cursor"),
        ("actoin=x", "actoin"),
    ],
)
def test_a_listing_that_cannot_be_right_is_refused(client: TestClient, query: str, field: str) -> None:
    assert problem(client.get(f"/api/tasks?{query}"), 422)["field"] == field


def test_a_task_that_is_not_there_is_not_found(client: TestClient) -> None:
    for method, body in (("GET", None), ("DELETE", None), ("PATCH", {"payload": 1, "due": DUE})):
        document = problem(client.request(method, "/api/tasks/no%2Fsuch", json=body), 404)
        assert (document["type"], document["id"]) == ("urn:duebell:task-not-found", "no/such")


@pytest.mark.parametrize("id", ["sale/42", None])
def test_a_task_that_could_not_be_armed_is_named_and_was_stored(
    client: TestClient, editor: Editor, monkeypatch: pytest.MonkeyPatch, id: str | None
) -> None:
    refusal = mock.Mock(side_effect=errors.AwsRefused("not allowed to PutRule"))
    monkeypatch.setattr(editor._backend.rule, "ring_at", refusal)
    document = problem(client.post("/api/tasks", json={"action": "x", "due": DUE, "id": id}), 503)
    assert document["stored"] is True
    assert editor.get(document["id"]).action == "x"
    if id:
        assert document["id"] == id
        moved = problem(client.patch("/api/tasks/sale%2F42", json={"due": "2026-12-01T00:00Z"}), 503)
        assert (moved["stored"], moved["id"]) == (True, id)


def test_unknown_paths_and_methods_are_problems_too(client: TestClient) -> None:
    problem(client.get("/api/nothing"), 404)
    problem(client.get("/static/nothing.js"), 404)
    not_allowed = client.put("/api/status", json={})
    problem(not_allowed, 405)
    assert not_allowed.headers["allow"] == "GET"


def test_an_answer_does_not_grow_with_what_was_wrong(client: TestClient) -> None:
    for body in (
        {"action": "x", "due": "2" * 1_000_000},
        {"action": "x" * 1_000_000, "due": DUE},
        {"action": "x", "due": DUE, **{f"odd-{n}": n for n in range(10_000)}},
        {"action": "x", "schedule": "y" * 1_000_000},
    ):
        refused = post(client, json.dumps(body))
        problem(refused, 422)
        assert len(refused.content) < 20_000
