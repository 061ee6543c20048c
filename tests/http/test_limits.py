"""Limits of actions over the API."""

import jsonschema_rs
import pytest
from fastapi.testclient import TestClient

from duebell import Editor, Worker
from duebell_editor.http import create_app
from duebell_shared.backend import Backend


@pytest.fixture
def client(editor: Editor, backend: Backend) -> TestClient:
    worker = Worker(backend=backend)
    worker.action("shop/mail", per_second=10)(lambda: None)
    worker.register()
    return TestClient(create_app(editor), base_url="http://127.0.0.1:8125")


def test_a_limit_is_set_and_told(client: TestClient) -> None:
    answer = client.patch("/api/limits/shop%2Fmail", json={"at_most": 5, "per_second": 2})
    assert answer.status_code == 200
    limit = answer.json()
    assert (limit["at_most"], limit["per_second"], limit["paused"]) == (5, 2, False)
    assert (limit["declared_at_most"], limit["declared_per_second"]) == (None, 10)
    assert limit["since"]
    assert client.get("/api/limits").json() == {"limits": [{**limit, "waiting": 0}]}
    # As the description of the API has it
    document = client.get("/openapi.json").json()
    schema = document["components"]["schemas"]["ActionLimit"]
    assert jsonschema_rs.is_valid({**schema, "components": document["components"]}, limit)


def test_an_action_is_closed_in_some_hours(client: TestClient) -> None:
    limit = client.patch("/api/limits/shop%2Fmail", json={"closed": "22:00-06:00"}).json()
    assert (limit["closed"], limit["declared_closed"], limit["per_second"]) == ("22:00-06:00 UTC", None, 10)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"at_most": 1.5}, "at_most"),
        ({"per_second": 5_000}, "per_second"),
        ({"closed": "at night"}, "closed"),
        ({"x": 1}, "x"),
    ],
)
def test_what_cannot_be_a_limit_is_refused_by_name(client: TestClient, body: object, field: str) -> None:
    answer = client.patch("/api/limits/shop%2Fmail", json=body)
    assert answer.status_code == 422
    assert field in answer.json()["detail"]
    assert client.get("/api/limits").json()["limits"][0]["since"] is None
