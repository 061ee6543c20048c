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


def fill(editor: Editor, count: int = 20, prefix: str = "t") -> list[str]:
    ids = [f"{prefix}-{n:02}" for n in range(count)]
    for n, id in enumerate(ids):
        editor.add("even" if n % 2 == 0 else "odd", due=timedelta(hours=1 + n // 3), id=id)
    return ids


def listed(client: TestClient, **query: Any) -> list[str]:
    """All the ids, page by page."""
    ids: list[str] = []
    cursor = None
    while True:
        page = client.get("/api/tasks", params={**query, **({"cursor": cursor} if cursor else {})}).json()
        ids += [task["id"] for task in page["tasks"]]
        if not (cursor := page["cursor"]):
            return ids


def bulk(client: TestClient, **body: Any) -> Any:
    response = client.post("/api/bulk", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_brief_list_has_no_payloads(client: TestClient, editor: Editor) -> None:
    payload = {"secret": "y" * 1000}
    editor.add("report", schedule="rate(2 hours)", payload=payload, id="a")
    task = client.get("/api/tasks", params={"brief": True}).json()["tasks"][0]
    assert "payload" not in task
    assert task["payload_start"] == '{"secret":"' + "y" * 109
    assert task["recurs"].startswith("every 2 hours")
    assert client.get("/api/tasks").json()["tasks"][0]["payload"] == payload


def test_a_bulk_change_is_counted_first_and_then_made(client: TestClient, editor: Editor) -> None:
    ids = fill(editor)
    odd = [id for id in ids if int(id[-2:]) % 2]
    # When it is only counted
    where = {"action": "odd", "prefix": "t-"}
    counted = bulk(client, do="pause", where=where, dry_run=True)
    # Then nothing is changed
    assert sorted(counted.pop("ids")) == odd
    assert counted == {"found": 10, "is_all": True, "dry_run": True, "changed": [], "failures": []}
    assert listed(client) == ids
    # And when it is made, those are changed and no others
    made = bulk(client, do="pause", where=where)
    assert sorted(made["changed"]) == odd
    assert sorted(listed(client, status="paused")) == odd
    # And it can be undone by name
    assert bulk(client, do="resume", ids=made["changed"])["found"] == 10
    assert listed(client) == ids


def test_when_aws_is_away_the_rest_of_many_is_not_tried(
    client: TestClient, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = mock.Mock(side_effect=AwsUnavailable("no answer"))
    monkeypatch.setattr(scheduler.editor, "pause", away)
    refused = client.post("/api/bulk", json={"do": "pause", "ids": [f"t-{n}" for n in range(1000)]})
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:duebell:aws-unavailable")
    assert away.call_count < 100


def test_a_bulk_change_is_about_those_that_it_applies_to(client: TestClient, scheduler: Scheduler) -> None:
    for id in fill(scheduler.editor, 4)[:2]:
        scheduler.become(scheduler.editor.get(id), Status.FAILED)
    assert bulk(client, do="retry", where={})["changed"] == ["t-00", "t-01"]
    refused = client.post("/api/bulk", json={"do": "retry", "where": {"status": ["paused"]}})
    assert (refused.status_code, refused.json()["field"]) == (422, "status")


@pytest.mark.parametrize(
    "body",
    [
        {"do": "pause"},
        {"do": "pause", "ids": ["a"], "where": {}},
        {"do": "explode", "ids": ["a"]},
        {"do": "pause", "where": {"odd": 1}},
        {"do": "pause", "where": {}, "limit": 1001},
        {"do": "pause", "ids": ["a"] * 1001},
    ],
)
def test_a_bulk_change_that_cannot_be_right_is_refused(client: TestClient, body: Any) -> None:
    assert client.post("/api/bulk", json=body).status_code == 422
