"""Adding a list of tasks with one request: all checked before any is written, an outcome for each."""

from typing import Any
from unittest import mock

import pytest
from fastapi.testclient import TestClient

from duebell import AwsRefused
from tests.editor.memory import Scheduler

DUE = "2026-12-31T00:00:00Z"


def named(*ids: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"action": "x", "due": DUE, "id": id, **fields} for id in ids]


def outcomes(answer: Any) -> list[tuple[str, str]]:
    assert answer.status_code == 200, answer.text
    return [(one["id"], one["outcome"]) for one in answer.json()["results"]]


def test_a_list_is_added_with_an_outcome_for_each(client: TestClient, scheduler: Scheduler) -> None:
    # When a task by its due date, one by the time until then, and one that recurs are added at once
    answer = client.post(
        "/api/tasks",
        json=[
            *named("a"),
            {"action": "y", "in": 90, "payload": {"n": 1}},
            {"action": "z", "schedule": "rate(1 day)"},
        ],
    )
    # Then each has its id and its outcome, in the order of the list
    results = answer.json()["results"]
    assert answer.json()["stored"] == 3
    assert results[0] == {"id": "a", "outcome": "added", "type": None, "detail": None}
    tasks = [scheduler.editor.get(one["id"]) for one in results]
    assert [task.action for task in tasks] == ["x", "y", "z"]
    assert (tasks[1].due - scheduler.clock()).total_seconds() == 90
    assert {task.changed_by for task in tasks} == {"http"}
    # And the rule rings for the first of them
    assert scheduler.editor.status().healthy
    assert scheduler.editor.status().next_due == tasks[1].due


def test_of_ids_that_are_taken_each_has_its_own_outcome(client: TestClient) -> None:
    client.post("/api/tasks", json=named("a", payload=1))
    failed = client.post("/api/tasks", json=named("a", "b", payload=2))
    assert outcomes(failed) == [("a", "failed"), ("b", "added")]
    assert failed.json()["stored"] == 1
    assert failed.json()["results"][0]["type"] == "urn:duebell:task-exists"
    assert "'a'" in failed.json()["results"][0]["detail"]
    kept = client.post("/api/tasks", json=named("a", "c", payload=3, if_exists="keep"))
    assert outcomes(kept) == [("a", "kept"), ("c", "added")]
    replaced = client.post("/api/tasks", json=named("a", payload=4, if_exists="replace"))
    assert outcomes(replaced) == [("a", "replaced")]
    assert [client.get(f"/api/tasks/{id}").json()["payload"] for id in "abc"] == [4, 2, 3]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"action": "x", "due": "soon"}, "tasks[1].due"),
        ({"action": "x", "due": DUE, "in": 1}, "tasks[1].in"),
        ({"action": "x", "due": DUE, "id": "first"}, "tasks[1].id"),
        ({"action": "x", "due": DUE, "when": 1}, "tasks[1].when"),
        ({"action": "x", "due": DUE, "if_exists": "keep"}, "tasks[1].if_exists"),
        (7, "tasks[1]"),
    ],
)
def test_one_that_is_wrong_is_named_and_nothing_is_added(
    client: TestClient, scheduler: Scheduler, wrong: Any, field: str
) -> None:
    refused = client.post("/api/tasks", json=[*named("first"), wrong])
    assert (refused.status_code, refused.json()["field"]) == (422, field)
    assert not scheduler.store.tasks


def test_a_list_has_a_limit_and_goes_without_if_match(client: TestClient, scheduler: Scheduler) -> None:
    ids = [f"t-{n}" for n in range(1_001)]
    assert client.post("/api/tasks", json=named(*ids)).json()["field"] == "tasks"
    refused = client.post("/api/tasks", json=named("a", if_exists="replace"), headers={"If-Match": '"1"'})
    assert (refused.status_code, refused.json()["field"]) == (422, "If-Match")
    assert not scheduler.store.tasks
    assert client.post("/api/tasks", json=named(*ids[:-1])).json()["stored"] == 1_000


def test_when_the_rule_cannot_be_confirmed_the_answer_has_the_ids_of_what_is_stored(
    client: TestClient, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = mock.Mock(side_effect=AwsRefused("not allowed to PutRule"))
    monkeypatch.setattr(scheduler.backend.rule, "ring_at", refusal)
    refused = client.post("/api/tasks", json=[*named("a"), {"action": "x", "due": DUE}])
    assert refused.status_code == 503
    document = refused.json()
    assert (document["type"], document["stored"], document["ids"][0]) == ("urn:duebell:not-armed", True, "a")
    assert set(document["ids"]) == {task.id for task in scheduler.store.tasks.values()}


def test_a_list_is_pushed(client: TestClient) -> None:
    assert client.post("/api/tasks", json=named("a", if_exists="push")).status_code == 200
    pushed = client.post("/api/tasks", json=named("a", "b", if_exists="push", max_wait=3600))
    assert [one["outcome"] for one in pushed.json()["results"]] == ["pushed", "added"]
    mixed = [*named("a", if_exists="push", max_wait=3600), *named("b", if_exists="push")]
    refused = client.post("/api/tasks", json=mixed)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "tasks[1].max_wait"
