"""The API's groups of failed tasks and counts by status, and tasks found by their ids."""

from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from duebell import Failure, Status
from duebell_shared.tasks.status import RetentionPolicy
from tests.editor.memory import KEEP, Scheduler

HOUR = timedelta(hours=1)


@pytest.fixture
def scheduler() -> Scheduler:
    """One task of each kind of failure: one failed, one recurring that fails; and one that is done."""
    scheduler = Scheduler.start()
    failure, keep = Failure(type="TimeoutError", message="no answer"), RetentionPolicy(retention=KEEP)
    for id, when in (("sale-1", {"due": HOUR}), ("sale-hourly", {"schedule": "rate(1 hour)"})):
        task = scheduler.editor.add("charge", id=id, payload={"n": id}, **when)
        assert scheduler.store.save(task, task.failed(failure, now=scheduler.clock.now, keep=keep))
    scheduler.become(scheduler.editor.add("charge", due=HOUR, id="done"), Status.DONE)
    return scheduler


def ids(client: TestClient, path: str, **query: Any) -> list[str]:
    answer = client.get(f"/api/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return [task["id"] for task in answer.json()["tasks"]]


def test_failures_are_grouped(client: TestClient) -> None:
    assert client.get("/api/failures").json() == {
        "groups": [
            {
                "action": "charge",
                "error": "TimeoutError",
                "message": "no answer",
                "failed": 1,
                "failing": ["sale-hourly"],
                "first_at": "2026-11-21T12:00:00.000Z",
                "last_at": "2026-11-21T12:00:00.000Z",
            }
        ],
        "is_all": True,
    }


def test_tasks_that_the_status_does_not_count_are_counted(client: TestClient) -> None:
    assert client.get("/api/counts").json() == {"paused": 0, "done": 1, "expired": 0, "cancelled": 0}
    status = client.get("/api/status").json()
    assert (status["failed"], status["failing"], status["healthy"]) == (1, 1, False)


def test_tasks_are_found_by_the_beginning_of_their_ids(client: TestClient) -> None:
    assert ids(client, "find", prefix="sale-") == ["sale-1", "sale-hourly"]
    first = client.get("/api/find?prefix=sale-&limit=1&brief=true").json()
    assert first["tasks"][0]["payload_start"] == '{"n":"sale-1"}'
    assert ids(client, "find", prefix="sale-", limit=1, cursor=first["cursor"]) == ["sale-hourly"]
    for wrong in ("", "?prefix=", "?prefix=a&limit=0", "?prefix=a&cursor="):
        assert client.get(f"/api/find{wrong}").status_code == 422
