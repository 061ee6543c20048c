"""Tasks over HTTP, one and many: added, changed, listed, and no change is lost unseen."""

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from fastapi.testclient import TestClient

from duebell import AwsRefused, AwsUnavailable, Editor, Status
from tests.editor.memory import Scheduler
from tests.http.conftest import TOMORROW, add


def test_a_task_that_is_added_is_stored_and_the_rule_rings_for_it(client: TestClient, editor: Editor) -> None:
    given = {"action": "put_on_sale", "payload": {"item": 42}, "id": "a b/c"}
    response = client.post("/api/tasks", json={**given, "due": "2026-12-31T01:00:00+01:00"})
    assert response.status_code == 201
    assert response.headers["location"] == "/api/tasks/a%20b%2Fc"
    due = "2026-12-31T00:00:00.000Z"
    made = {"status": "scheduled", "due": due, "queued": due, "starts_by": "2026-12-31T00:03:30.000Z"}
    told = {"rev": 1, "changed_by": "http", "can": ["move", "update", "cancel", "pause", "run_now"]}
    assert response.json() == {**response.json(), **given, **made, **told}
    assert editor.status().rings_at == datetime(2026, 12, 31, tzinfo=UTC)


def test_if_exists_says_what_to_do_with_a_taken_id(client: TestClient) -> None:
    sale = {"action": "x", "due": TOMORROW, "id": "sale"}
    assert client.post("/api/tasks", json={**sale, "payload": 1, "if_exists": "keep"}).status_code == 201
    for word, payload in (("keep", 1), ("replace", 3)):
        there = client.post("/api/tasks", json={**sale, "payload": 3, "if_exists": word})
        assert (there.status_code, there.json()["payload"]) == (200, payload)
        assert there.headers["location"] == "/api/tasks/sale"
    again = client.post("/api/tasks", json=sale)
    assert (again.status_code, again.json()["id"]) == (409, "sale")


@pytest.mark.parametrize(
    "text", ["12345678901234567890123456789", "0.1", "5e-324", "-0.0", "1e+22", '"你好\\u0000"']
)
def test_payloads_come_back_as_they_went_in(client: TestClient, text: str) -> None:
    body = f'{{"action": "x", "due": "{TOMORROW}", "id": "n", "payload": [{text}]}}'
    added = client.post("/api/tasks", content=body, headers={"Content-Type": "application/json"})
    for answer in (added, client.get("/api/tasks/n"), client.get("/api/tasks")):
        assert f'"payload":[{text}]' in answer.text


def test_a_due_date_may_be_given_as_the_seconds_until_then(client: TestClient) -> None:
    added = client.post("/api/tasks", json={"action": "x", "in": 90, "id": "soon"})
    assert added.json()["due"] == "2026-11-21T12:01:30.000Z"
    moved = client.post("/api/tasks/soon/move", json={"in": 0.5})
    assert moved.json()["due"] == "2026-11-21T12:00:00.500Z"
    for body, due in (({"in": 3600}, "13:00"), ({"in": 7200, "payload": 1}, "14:00")):
        changed = client.patch("/api/tasks/soon", json=body)
        assert changed.json()["due"] == f"2026-11-21T{due}:00.000Z"
    # And neither, or both, is wrong
    for wrong, field in (({}, "due"), ({"in": 1, "due": TOMORROW}, "in")):
        refused = client.post("/api/tasks/soon/move", json=wrong)
        assert (refused.status_code, refused.json()["field"]) == (422, field)


def test_a_task_is_unique_by_its_payload_alone_and_in_a_list(client: TestClient) -> None:
    body = {"action": "ship", "in": 3600, "payload": {"order": 42}, "unique": ["order"]}
    first = client.post("/api/tasks", json=body).json()
    assert client.post("/api/tasks", json=body).status_code == 409
    assert client.post("/api/tasks", json={**body, "if_exists": "push"}).json()["id"] == first["id"]
    other = {**body, "payload": {"order": 43}, "if_exists": "keep"}
    many = client.post("/api/tasks", json=[{**body, "if_exists": "keep"}, other])
    assert [one["outcome"] for one in many.json()["results"]] == ["kept", "added"]
    wrong = client.post("/api/tasks", json=[other, {**other, "unique": ["dew"]}])
    assert (wrong.status_code, "tasks[1].unique" in wrong.text) == (422, True)


def test_a_batch_is_made_filled_and_closed(client: TestClient) -> None:
    # Given an open batch, and a task of it
    body = {"id": "b", "then": {"action": "report", "payload": {"month": 1}}, "on_failed": "alarm"}
    made = client.post("/api/batches", json=body)
    added = client.post("/api/tasks", json={"action": "work", "in": 60, "batch": "b", "id": "m"})
    # When it is closed
    closed = client.post("/api/tasks/b/close")
    # Then it waits for its task
    assert (made.status_code, added.status_code, added.json()["batch"]) == (201, 201, "b")
    assert (closed.json()["status"], closed.json()["can"]) == ("blocked", ["cancel"])
    counts = {"left": 1, "done": 0, "failed": 0, "cancelled": 0, "expired": 0}
    assert closed.json()["members"] == {"open": False, **counts, "on_failed": "alarm", "after": 0}
    # And one is made with its tasks by one request, which can be repeated
    whole = {"id": "c", "tasks": [{"action": "work", "in": 60}, {"action": "work", "in": 90}]}
    for _ in range(2):
        assert client.post("/api/batches", json=whole).json()["members"]["left"] == 2
    assert [one["id"] for one in client.get("/api/find?prefix=c/").json()["tasks"]] == ["c/1", "c/2"]
    # And one of tasks that are there
    client.post("/api/tasks", json={"action": "work", "in": 60, "id": "m2"})
    there = client.post("/api/batches", json={"id": "d", "wait_for": ["m2", "c"]}).json()
    assert (there["members"]["left"], there["members"]["open"]) == (2, False)
    assert client.post("/api/batches", json={"id": "e", "wait_for": ["m2"]}).status_code == 409
    described = client.get("/openapi.json").json()["paths"]
    task = {"action": "work", "in": 60, "batch": "none"}
    for path, lost in (("/api/batches", {"wait_for": ["none"]}), ("/api/tasks", task)):
        assert client.post(path, json=lost).status_code == 404
        assert "404" in described[path]["post"]["responses"]


def test_null_takes_away(client: TestClient) -> None:
    # Given a task with all that it can do without
    rules = {"start": "2026-12-01T00:00Z", "end": "2027-01-01T00:00Z", "missed": "all", "max_runs": 3}
    rules |= {"timezone": "Europe/Berlin", "spread": 60, "payload": 1}
    add(client, due=None, schedule="0 9 * * *", id="r", **rules)
    add(client, id="once", expires_after=60)
    # When it is taken away, then it is as if it had never been there
    changed = client.patch("/api/tasks/r", json=dict.fromkeys(rules)).json()
    schedule = {"expression": "0 9 * * *", "timezone": "UTC", "start": None, "end": None}
    recurrence = changed["recurrence"]
    assert recurrence["schedule"] == schedule
    assert (recurrence["missed"], recurrence["max_runs"], changed["spread"]) == ("once", None, 0)
    assert (changed["payload"], changed["due"]) == ({}, "2026-11-22T09:00:00.000Z")
    assert client.patch("/api/tasks/once", json={"expires_after": None}).json()["expires_after"] is None


@pytest.mark.parametrize("field", ["action", "due", "schedule"])
def test_required_fields_cannot_be_unset(client: TestClient, field: str) -> None:
    add(client, id="sale")
    response = client.patch("/api/tasks/sale", json={field: None})
    assert (response.status_code, response.json()["field"]) == (422, field)


def named(*ids: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"action": "x", "due": TOMORROW, "id": id, **fields} for id in ids]


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
        ({"action": "x", "due": TOMORROW, "id": "first"}, "tasks[1].id"),
        ({"action": "x", "due": TOMORROW, "when": 1}, "tasks[1].when"),
        ({"action": "x", "due": TOMORROW, "if_exists": "keep"}, "tasks[1].if_exists"),
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
    document = client.post("/api/tasks", json=[*named("a"), {"action": "x", "due": TOMORROW}]).json()
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
        {"do": "pause", "where": {}, "limit": 1001},
    ],
)
def test_a_bulk_change_that_cannot_be_right_is_refused(client: TestClient, body: Any) -> None:
    assert client.post("/api/bulk", json=body).status_code == 422


CHANGES = [("PATCH", "", {"payload": 1}), ("POST", "/move", {"due": TOMORROW}), ("POST", "/pause", {})]


def change(client: TestClient, method: str, verb: str, body: Any, tag: str) -> Any:
    headers = {"If-Match": tag, "Content-Type": "application/json"}
    return client.request(method, f"/api/tasks/a%2Fb{verb}", json=body, headers=headers)


@pytest.mark.parametrize(("method", "verb", "body"), CHANGES)
def test_a_change_to_what_was_changed_meanwhile_is_refused(
    client: TestClient, editor: Editor, method: str, verb: str, body: Any
) -> None:
    # Given a task that someone else has changed since it was seen
    editor.add("x", due=timedelta(days=1), id="a/b")
    editor.update("a/b", payload="theirs")
    # When it is changed as it was seen, then nothing is written, and the answer says so
    refused = change(client, method, verb, body, '"1"')
    problem = refused.json()
    assert (refused.status_code, problem["type"], problem["rev"]) == (412, "urn:duebell:task-changed", 2)
    assert (editor.get("a/b").payload, editor.get("a/b").rev) == ("theirs", 2)
    # And as it is now, it can be
    seen = client.get("/api/tasks/a%2Fb").headers["etag"]
    changed = change(client, method, verb, body, seen)
    assert (seen, changed.status_code, changed.headers["etag"]) == ('"2"', 200, '"3"')


def test_a_task_is_replaced_only_as_it_was_seen(client: TestClient, editor: Editor) -> None:
    editor.add("x", due=timedelta(days=1), id="a/b")
    body = {"action": "y", "due": TOMORROW, "id": "a/b", "if_exists": "replace"}
    # When it was changed since
    editor.update("a/b", payload="theirs")
    refused = client.post("/api/tasks", json=body, headers={"If-Match": '"1"'})
    # Then it stays as it is, and as it is now it can be replaced
    assert (refused.status_code, refused.json()["rev"]) == (412, 2)
    assert editor.get("a/b").payload == "theirs"
    replaced = client.post("/api/tasks", json=body, headers={"If-Match": '"2"'})
    assert (replaced.status_code, replaced.headers["etag"], editor.get("a/b").action) == (200, '"3"', "y")
    # And one that is gone meanwhile is not added anew
    gone = client.post("/api/tasks", json={**body, "id": "gone"}, headers={"If-Match": '"2"'})
    assert (gone.status_code, client.get("/api/tasks/gone").status_code) == (404, 404)
    # And it goes with nothing else
    for what, tag in (("keep", '"3"'), ("replace", 'W/"3"'), ("replace", '"3", "4"'), ("replace", '"x"')):
        wrong = client.post("/api/tasks", json={**body, "if_exists": what}, headers={"If-Match": tag})
        assert (wrong.status_code, wrong.json()["field"]) == (422, "If-Match")
