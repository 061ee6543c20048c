"""Many tasks over HTTP: added with one request, looked for, and changed at once."""

from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from fastapi.testclient import TestClient

from duebell import AwsRefused, AwsUnavailable, Editor, Status
from tests.editor.memory import Scheduler

DUE = "2026-12-31T00:00:00Z"


def named(*ids: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"action": "x", "due": DUE, "id": id, **fields} for id in ids]


def outcomes(answer: Any) -> list[tuple[str, str]]:
    assert answer.status_code == 200, answer.text
    return [(one["id"], one["outcome"]) for one in answer.json()["results"]]


def test_a_list_is_added_with_an_outcome_for_each(client: TestClient, scheduler: Scheduler) -> None:
    # When a task by its due date, one by the time until then, and one that recurs are added at once
    given = [*named("a"), {"action": "y", "in": 90}, {"action": "z", "schedule": "rate(1 day)"}]
    answer = client.post("/api/tasks", json=given).json()
    # Then each has its id and its outcome, in the order of the list
    assert answer["stored"] == 3
    assert answer["results"][0] == {"id": "a", "outcome": "added", "type": None, "detail": None}
    tasks = [scheduler.editor.get(one["id"]) for one in answer["results"]]
    assert [task.action for task in tasks] == ["x", "y", "z"]
    assert {task.changed_by for task in tasks} == {"http"}
    # And the rule rings for the first of them
    assert scheduler.editor.status().next_due == tasks[1].due == scheduler.clock() + timedelta(seconds=90)


def test_of_ids_that_are_taken_each_has_its_own_outcome(client: TestClient) -> None:
    client.post("/api/tasks", json=named("a", payload=1))
    failed = client.post("/api/tasks", json=named("a", "b", payload=2))
    assert outcomes(failed) == [("a", "failed"), ("b", "added")]
    assert failed.json()["stored"] == 1
    assert failed.json()["results"][0]["type"] == "urn:duebell:task-exists"
    kept = client.post("/api/tasks", json=named("a", "c", payload=3, if_exists="keep"))
    assert outcomes(kept) == [("a", "kept"), ("c", "added")]
    replaced = client.post("/api/tasks", json=named("a", payload=4, if_exists="replace"))
    assert outcomes(replaced) == [("a", "replaced")]
    assert [client.get(f"/api/tasks/{id}").json()["payload"] for id in "abc"] == [4, 2, 3]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"action": "x", "due": "soon"}, "tasks[1].due"),
        ({"action": "x", "due": DUE, "id": "first"}, "tasks[1].id"),
        ({"action": "x", "due": DUE, "when": 1}, "tasks[1].when"),
        ({"action": "x", "due": DUE, "if_exists": "keep"}, "tasks[1].if_exists"),
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
    document = client.post("/api/tasks", json=[*named("a"), {"action": "x", "due": DUE}]).json()
    assert (document["type"], document["stored"], document["ids"][0]) == ("urn:duebell:not-armed", True, "a")
    assert set(document["ids"]) == {task.id for task in scheduler.store.tasks.values()}


def test_a_list_is_pushed(client: TestClient) -> None:
    client.post("/api/tasks", json=named("a", if_exists="push"))
    pushed = client.post("/api/tasks", json=named("a", "b", if_exists="push", max_wait=3600))
    assert outcomes(pushed) == [("a", "pushed"), ("b", "added")]
    mixed = [*named("a", if_exists="push", max_wait=3600), *named("b", if_exists="push")]
    refused = client.post("/api/tasks", json=mixed)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "tasks[1].max_wait")


def fill(editor: Editor, count: int) -> None:
    """So many tasks, each second one with another action."""
    for n in range(count):
        editor.add("even" if n % 2 == 0 else "odd", due=timedelta(hours=1 + n // 3), id=f"t-{n}")


def listed(client: TestClient, **query: Any) -> list[str]:
    return [task["id"] for task in client.get("/api/tasks", params=query).json()["tasks"]]


def bulk(client: TestClient, **body: Any) -> Any:
    response = client.post("/api/bulk", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_brief_list_has_no_payloads(client: TestClient, editor: Editor) -> None:
    editor.add("report", schedule="rate(2 hours)", payload={"secret": "y" * 1000}, id="a")
    [task] = client.get("/api/tasks", params={"brief": True}).json()["tasks"]
    assert "payload" not in task
    assert task["payload_start"] == '{"secret":"' + "y" * 109
    assert task["recurs"].startswith("every 2 hours")


def test_a_bulk_change_is_counted_first_and_then_made(client: TestClient, editor: Editor) -> None:
    fill(editor, 6)
    odd = ["t-1", "t-3", "t-5"]
    # When it is only counted, then nothing is changed
    where = {"action": "odd", "prefix": "t-"}
    counted = bulk(client, do="pause", where=where, dry_run=True)
    assert sorted(counted.pop("ids")) == odd
    assert counted == {"found": 3, "is_all": True, "dry_run": True, "changed": [], "failures": []}
    assert listed(client, status="paused") == []
    # And when it is made, those are changed and no others
    made = bulk(client, do="pause", where=where)
    assert sorted(made["changed"]) == sorted(listed(client, status="paused")) == odd
    # And it can be undone by name
    assert bulk(client, do="resume", ids=made["changed"])["found"] == 3
    assert listed(client, status="paused") == []


def test_when_aws_is_away_the_rest_of_many_is_not_tried(
    client: TestClient, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = mock.Mock(side_effect=AwsUnavailable("no answer"))
    monkeypatch.setattr(scheduler.editor, "pause", away)
    refused = client.post("/api/bulk", json={"do": "pause", "ids": [f"t-{n}" for n in range(1000)]})
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:duebell:aws-unavailable")
    assert away.call_count < 100


def test_a_bulk_change_is_about_those_that_it_applies_to(client: TestClient, scheduler: Scheduler) -> None:
    fill(scheduler.editor, 3)
    scheduler.become(scheduler.editor.get("t-1"), Status.FAILED)
    assert bulk(client, do="retry", where={})["changed"] == ["t-1"]
    refused = client.post("/api/bulk", json={"do": "retry", "where": {"status": ["paused"]}})
    assert (refused.status_code, refused.json()["field"]) == (422, "status")


@pytest.mark.parametrize(
    "body",
    [
        {"do": "pause"},
        {"do": "pause", "ids": ["a"], "where": {}},
        {"do": "explode", "ids": ["a"]},
        {"do": "pause", "where": {"odd": 1}},
        {"do": "pause", "ids": ["a"] * 1001},
    ],
)
def test_a_bulk_change_that_cannot_be_right_is_refused(client: TestClient, body: Any) -> None:
    assert client.post("/api/bulk", json=body).status_code == 422
