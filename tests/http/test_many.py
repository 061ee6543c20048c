"""Looking for tasks, and changing many of them at once."""

from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from fastapi.testclient import TestClient

from duebell import AwsUnavailable, Editor, NotArmed, Status
from tests.editor.memory import Scheduler


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
    editor.add("report", schedule="rate(2 hours)", payload={"secret": 1}, id="a")
    task = client.get("/api/tasks", params={"brief": True}).json()["tasks"][0]
    assert "payload" not in task
    assert task["recurs"].startswith("every 2 hours")
    assert client.get("/api/tasks").json()["tasks"][0]["payload"] == {"secret": 1}


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


def test_what_is_stored_is_no_failure_when_the_rule_can_be_set_after_all(
    client: TestClient, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = fill(scheduler.editor, 3)
    bulk(client, do="pause", ids=ids)
    rule = scheduler.editor._rule
    arm = rule.arm
    monkeypatch.setattr(rule, "arm", mock.Mock(side_effect=NotArmed("not now")))
    done = bulk(client, do="resume", ids=ids)
    assert (sorted(done["changed"]), done["failures"]) == (ids, [])
    monkeypatch.setattr(rule, "arm", arm)
    assert scheduler.editor.status().healthy


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
