"""The worker as the API describes it."""

import jsonschema_rs
import pytest
from fastapi.testclient import TestClient

from duebell_editor import Editor
from duebell_editor.http import create_app
from duebell_shared.backend import Backend
from duebell_worker import Worker


@pytest.fixture
def client(editor: Editor) -> TestClient:
    return TestClient(create_app(editor), base_url="http://127.0.0.1:8125")


def act(*, item: int, text: str = "x") -> None: ...


def test_the_worker_is_null_until_it_has_made_itself_known(client: TestClient, backend: Backend) -> None:
    assert client.get("/api/worker").json() == {"worker": None}
    worker = Worker(backend=backend)
    worker.recurring("rate(1 day)", id="daily", payload={"item": 1})(worker.action(act))
    worker.register()
    answer = client.get("/api/worker").json()
    assert answer["worker"].keys() == {
        "version", "duebell", "python", "tzdata", "started_at", "error", "actions",
    }  # fmt: skip
    assert answer["worker"]["error"] is None
    [action] = answer["worker"]["actions"]
    assert (action["name"], action["attempts"], action["recurring"]) == ("act", 5, ["daily"])
    assert action["schema"]["properties"] == {
        "item": {"type": "integer"},
        "text": {"type": "string", "default": "x"},
    }
    # As the description of the API has it
    document = client.get("/openapi.json").json()
    schema = document["components"]["schemas"]["KnownWorker"]
    assert jsonschema_rs.is_valid({**schema, "components": document["components"]}, answer)


def test_a_payload_that_does_not_fit_is_refused_with_its_place(client: TestClient, backend: Backend) -> None:
    worker = Worker(backend=backend)
    worker.action(act)
    worker.register()
    body = {"action": "act", "due": "2026-12-31T00:00:00Z", "payload": {"item": None}}
    answer = client.post("/api/tasks", json=body)
    assert answer.status_code == 422
    assert answer.json()["field"] == "payload.item"
    assert "None" not in answer.json()["detail"]
