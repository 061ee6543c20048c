"""Requests that tests of the HTTP editor make: add a task, list the ids."""

from datetime import timedelta
from typing import Any

from fastapi.testclient import TestClient

from duebell_shared.instants import render
from tests.support import NOON

__all__ = ["TOMORROW", "add", "ids"]

TOMORROW = render(NOON + timedelta(days=1))


def add(client: TestClient, **fields: Any) -> Any:
    response = client.post("/api/tasks", json={"action": "put_on_sale", "due": TOMORROW, **fields})
    assert response.status_code == 201, response.text
    return response.json()


def ids(client: TestClient, **query: Any) -> list[str]:
    response = client.get("/api/tasks", params=query)
    assert response.status_code == 200, response.text
    return [task["id"] for task in response.json()["tasks"]]
