"""The worker as the API describes it."""

import dataclasses
import json
from typing import Any

import jsonschema_rs
import pytest
from fastapi.testclient import TestClient

from duebell import Worker
from duebell_shared.backend import Backend


def act(*, item: int, text: str = "x") -> None: ...


def test_the_worker_is_null_until_it_has_made_itself_known(client: TestClient, backend: Backend) -> None:
    assert client.get("/api/worker").json() == {"worker": None}
    worker = Worker(backend=backend)
    worker.recurring("rate(1 day)", id="daily", payload={"item": 1})(worker.action(act))
    worker.register()
    answer = client.get("/api/worker").json()
    [action] = answer["worker"]["actions"]
    assert (action["name"], action["attempts"], action["recurring"]) == ("act", 5, ["daily"])
    taken = {"item": {"type": "integer"}, "text": {"type": "string", "default": "x"}}
    assert (action["schema"]["properties"], answer["worker"]["error"]) == (taken, None)
    # As the description of the API has it
    document = client.get("/openapi.json").json()
    schema = document["components"]["schemas"]["KnownWorker"]
    assert jsonschema_rs.is_valid({**schema, "components": document["components"]}, answer)


@dataclasses.dataclass
class Sale:
    item: int = 0
    colour: str = "red"


def sell(payload: Sale) -> None: ...


@pytest.mark.filterwarnings("ignore::duebell.UnknownAction")
def test_warnings_about_tasks_are_in_a_header(client: TestClient, backend: Backend) -> None:
    def warnings(answer: Any) -> list[str]:
        assert answer.is_success
        texts: list[str] = json.loads(answer.headers.get("Duebell-Warnings", "[]"))
        return texts

    worker = Worker(backend=backend)
    worker.action(sell)
    worker.register()
    task = {"action": "söll", "due": "2026-12-31T00:00:00Z", "payload": {"colour": "x"}}
    said = (
        "action: the worker has no action 'söll': did you mean sell? If the name is right, deploy a worker "
    )
    said += "that has it"
    assert warnings(client.post("/api/tasks", json=task | {"id": "a"})) == [said]
    assert warnings(client.patch("/api/tasks/a", json={"action": "söll"})) == [said]
    # Of a list each once, in a header of a few kilobytes
    assert warnings(client.post("/api/tasks", json=[task, task])) == [said]
    many = [task | {"action": f"{n}{'x' * 200}"} for n in range(7)]
    shown = warnings(client.post("/api/tasks", json=many))
    assert (len(shown), max(map(len, shown)) < 200) == (5, True)
    # And none of a task that is right, or with another request's
    assert warnings(client.post("/api/tasks", json=task | {"action": "sell"})) == []
