"""Changes to a task over HTTP: fields that are given, left out, or null."""

import pytest
from fastapi.testclient import TestClient

from duebell import Editor
from tests.http.asking import add


def test_null_takes_away(client: TestClient) -> None:
    # Given a task with all that it can do without
    rules = {"start": "2026-12-01T00:00Z", "end": "2027-01-01T00:00Z", "missed": "all", "max_runs": 3}
    client.post(
        "/api/tasks",
        json={
            "action": "x",
            "schedule": "0 9 * * *",
            "timezone": "Europe/Berlin",
            "spread": 60,
            "id": "r",
            "payload": 1,
            **rules,
        },
    )
    add(client, id="once", expires_after=60)
    # When it is taken away
    cleared = dict.fromkeys([*rules, "timezone", "spread", "payload"])
    changed = client.patch("/api/tasks/r", json=cleared).json()
    # Then it is as if it had never been there
    schedule = {"expression": "0 9 * * *", "timezone": "UTC", "start": None, "end": None}
    recurrence = changed["recurrence"]
    assert recurrence["schedule"] == schedule
    assert (recurrence["missed"], recurrence["max_runs"], changed["spread"]) == ("once", None, 0)
    assert (changed["payload"], changed["due"]) == ({}, "2026-11-22T09:00:00.000Z")
    assert client.patch("/api/tasks/once", json={"expires_after": None}).json()["expires_after"] is None


@pytest.mark.parametrize("field", ["action", "due", "schedule"])
def test_what_a_task_cannot_do_without_cannot_be_taken_away(client: TestClient, field: str) -> None:
    add(client, id="sale")
    response = client.patch("/api/tasks/sale", json={field: None})
    assert (response.status_code, response.json()["field"]) == (422, field)


def test_a_task_is_moved(client: TestClient, editor: Editor) -> None:
    add(client, id="a/b")
    moved = client.post("/api/tasks/a%2Fb/move", json={"due": "2027-01-01T00:00:00Z"})
    assert moved.json()["due"] == "2027-01-01T00:00:00.000Z"
    assert client.post("/api/tasks/a%2Fb/move", json={}).json()["field"] == "due"
