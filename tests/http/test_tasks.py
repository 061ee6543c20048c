"""The HTTP editor's routes, over the library on moto."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from duebell_editor import Editor, Status, http
from duebell_editor.http import create_app
from duebell_shared.failure import Failure
from duebell_shared.instants import render
from duebell_shared.task import QueueKey
from duebell_shared.zones import TZDATA_VERSION
from tests.support import NOON

TOMORROW = render(NOON + timedelta(days=1))


@pytest.fixture
def client(editor: Editor) -> TestClient:
    return TestClient(create_app(editor), base_url="http://127.0.0.1:8125")


def add(client: TestClient, **fields: Any) -> Any:
    response = client.post("/api/tasks", json={"action": "put_on_sale", "due": TOMORROW, **fields})
    assert response.status_code == 201, response.text
    return response.json()


def ids(client: TestClient, **query: Any) -> list[str]:
    response = client.get("/api/tasks", params=query)
    assert response.status_code == 200, response.text
    return [task["id"] for task in response.json()["tasks"]]


def test_a_task_that_is_added_is_stored_and_the_rule_rings_for_it(client: TestClient, editor: Editor) -> None:
    # When
    response = client.post(
        "/api/tasks",
        json={
            "action": "put_on_sale",
            "due": "2026-12-31T01:00:00+01:00",
            "payload": {"item": 42},
            "id": "a b/c",
        },
    )
    # Then
    assert response.status_code == 201
    assert response.headers["location"] == "/api/tasks/a%20b%2Fc"
    assert response.json() == {
        "id": "a b/c",
        "action": "put_on_sale",
        "due": "2026-12-31T00:00:00.000Z",
        "status": "scheduled",
        "payload": {"item": 42},
        "queued": "2026-12-31T00:00:00.000Z",
        "attempt": 0,
        "created_at": "2026-11-21T12:00:00.000Z",
        "started_at": None,
        "finished_at": None,
        "spread": 0.0,
        "expires_after": None,
        "recurrence": None,
        "occurrences": [],
        "lateness_ms": None,
        "failure": None,
        "failures": [],
        "run": None,
        "expires_at": None,
        "unlisted": False,
        "payload_dropped": None,
        "lane": editor.get("a b/c").lane,
        "rev": 1,
        "changed_by": "http",
        "can": ["move", "update", "cancel", "pause", "run_now"],
    }
    assert editor.status().rings_at == datetime(2026, 12, 31, tzinfo=UTC)


def test_without_an_id_one_is_generated_and_without_a_payload_it_is_empty(client: TestClient) -> None:
    first, second = add(client), add(client)
    assert first["id"] != second["id"]
    assert first["payload"] == {}


def test_if_exists_says_what_to_do_with_a_taken_id(client: TestClient) -> None:
    sale = {"action": "x", "due": TOMORROW, "id": "sale"}
    # Given that a new one is made, whatever was to become of another
    made = client.post("/api/tasks", json={**sale, "payload": 1, "if_exists": "keep"})
    assert (made.status_code, made.headers["location"]) == (201, "/api/tasks/sale")
    # Then one that was there is none that was made
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
    assert added.status_code == 201
    got = client.get("/api/tasks/n").json()
    assert repr(got["payload"]) == repr(added.json()["payload"])
    assert got["payload"] == client.get("/api/tasks").json()["tasks"][0]["payload"]
    if not text.startswith('"'):
        assert f'"payload":[{text}]' in added.text


def test_a_due_date_may_be_given_as_the_seconds_until_then(client: TestClient) -> None:
    # As the command line's --in does
    added = client.post("/api/tasks", json={"action": "x", "in": 90, "id": "soon"})
    assert (added.status_code, added.json()["due"]) == (201, "2026-11-21T12:01:30.000Z")
    moved = client.post("/api/tasks/soon/move", json={"in": 0.5})
    assert (moved.status_code, moved.json()["due"]) == (200, "2026-11-21T12:00:00.500Z")
    for body, due in (({"in": 3600}, "13:00"), ({"in": 7200, "payload": 1}, "14:00")):
        changed = client.patch("/api/tasks/soon", json=body)
        assert (changed.status_code, changed.json()["due"]) == (200, f"2026-11-21T{due}:00.000Z")
    assert changed.json()["payload"] == 1
    # And neither, or both, is wrong
    for wrong, field in (({}, "due"), ({"in": None}, "due"), ({"in": 1, "due": TOMORROW}, "in")):
        refused = client.post("/api/tasks/soon/move", json=wrong)
        assert (refused.status_code, refused.json()["field"]) == (422, field)
    assert client.get("/api/tasks/soon").json()["rev"] == changed.json()["rev"]


def test_a_task_can_be_changed_in_one_request(client: TestClient) -> None:
    add(client, id="sale")
    changed = client.patch(
        "/api/tasks/sale", json={"payload": [1], "action": "discount", "due": "2027-01-01T00:00:00Z"}
    ).json()
    assert (changed["payload"], changed["action"], changed["due"]) == (
        [1],
        "discount",
        "2027-01-01T00:00:00.000Z",
    )
    assert client.get("/api/tasks/sale").json() == changed


def test_what_is_left_out_of_a_change_stays_and_an_empty_value_does_not(client: TestClient) -> None:
    add(client, id="sale", payload={"item": 42})
    assert client.patch("/api/tasks/sale", json={"due": "2027-01-01T00:00Z"}).json()["payload"] == {
        "item": 42
    }
    assert client.patch("/api/tasks/sale", json={"payload": 0}).json()["payload"] == 0


def test_null_takes_away(client: TestClient) -> None:
    # Given a task with all that it can do without
    rules = {"start": "2026-12-01T00:00Z", "end": "2027-01-01T00:00Z", "missed": "all", "max_runs": 3}
    client.post(
        "/api/tasks",
        json={
            "action": "x",
            "schedule": "0 9 * * *",
            "timezone": "Europe/Berlin",
            "spread": 60,
            "id": "r",
            "payload": 1,
            **rules,
        },
    )
    add(client, id="once", expires_after=60)
    # When it is taken away
    cleared = dict.fromkeys([*rules, "timezone", "spread", "payload"])
    changed = client.patch("/api/tasks/r", json=cleared).json()
    # Then it is as if it had never been there
    schedule = {"expression": "0 9 * * *", "timezone": "UTC", "start": None, "end": None}
    recurrence = changed["recurrence"]
    assert recurrence["schedule"] == schedule
    assert (recurrence["missed"], recurrence["max_runs"], changed["spread"]) == ("once", None, 0)
    assert (changed["payload"], changed["due"]) == ({}, "2026-11-22T09:00:00.000Z")
    assert client.patch("/api/tasks/once", json={"expires_after": None}).json()["expires_after"] is None


@pytest.mark.parametrize("field", ["action", "due", "schedule"])
def test_what_a_task_cannot_do_without_cannot_be_taken_away(client: TestClient, field: str) -> None:
    add(client, id="sale")
    response = client.patch("/api/tasks/sale", json={field: None})
    assert (response.status_code, response.json()["field"]) == (422, field)


def test_a_change_that_is_only_half_allowed_writes_nothing(client: TestClient, editor: Editor) -> None:
    # Given a task that may be moved while it runs, but not updated
    task = editor.add("x", due=timedelta(days=1), id="busy")
    editor._store.claim(
        QueueKey(NOON + timedelta(days=1), task.id, task.lane), run="r", now=NOON, status=Status.SCHEDULED
    )
    # When both are asked for
    response = client.patch("/api/tasks/busy", json={"payload": 1, "due": "2027-01-01T00:00Z"})
    # Then neither is done
    assert response.status_code == 409
    assert "running" in response.json()["detail"]
    assert editor.get("busy").due == task.due


def test_a_change_of_nothing_is_refused(client: TestClient) -> None:
    add(client, id="sale")
    response = client.patch("/api/tasks/sale", json={})
    assert (response.status_code, response.json()["field"]) == (422, "change")


def test_tasks_are_listed_in_order_of_time_and_can_be_filtered(client: TestClient) -> None:
    for day, action in ((3, "a"), (1, "b"), (2, "a")):
        add(client, id=f"day-{day}", action=action, due=f"2026-12-0{day}T00:00:00Z")
    client.delete("/api/tasks/day-2")
    assert ids(client) == ["day-1", "day-3"]
    assert ids(client, action="a") == ["day-3"]
    assert ids(client, status=["cancelled", "scheduled"]) == ["day-2", "day-1", "day-3"]
    assert ids(client, latest_first=True) == ["day-3", "day-1"]
    assert ids(client, after="2026-12-02T01:00:00+01:00") == ["day-3"]
    assert ids(client, before="2026-12-01T00:00:00Z") == ["day-1"]


def test_a_listing_goes_on_where_its_cursor_says(client: TestClient) -> None:
    for name in ("a", "b", "c"):
        add(client, id=name)
    first = client.get("/api/tasks", params={"limit": 2}).json()
    rest = client.get("/api/tasks", params={"limit": 2, "cursor": first["cursor"]}).json()
    assert [task["id"] for task in first["tasks"] + rest["tasks"]] == ["a", "b", "c"]
    assert rest["cursor"] is None


def test_status_says_how_the_scheduler_stands(client: TestClient) -> None:
    add(client, due="2026-12-31T00:00:00Z")
    asked = client.get("/api/status?timezone=Asia/Kolkata").json()
    assert asked["tonight_ends"] == "2026-11-22T00:30:00.000Z"
    assert client.get("/api/status?timezone=Mars").status_code == 422
    assert client.get("/api/status").json() == {
        "healthy": True,
        "problems": [],
        "rule": "duebell",
        "table": "duebell",
        "expression": "cron(0,4,12,27 0-23 30,31 12 ? 2026)",
        "enabled": True,
        "rings_at": "2026-12-31T00:00:00.000Z",
        "next_due": "2026-12-31T00:00:00.000Z",
        "armed": True,
        "precision": "minute",
        "last_run": None,
        "late_ring": None,
        "lanes": 4,
        "lanes_held": 0,
        "queued": 1,
        "running": 0,
        "overdue": 0,
        "due_tonight": 0,
        "tonight_ends": "2026-11-22T06:00:00.000Z",
        "failed": 0,
        "failing": 0,
        "tzdata": TZDATA_VERSION,
        "worker_error": None,
        "name": "duebell",
        "region": "eu-central-1",
        "account": "123456789012",
        "label": "",
        "color": None,
    }


def test_the_page_runs_nothing_but_its_own_files(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert "<style" not in page.text
    assert " style=" not in page.text
    own = re.findall(r'(?:src|href)="(static/[^"]+)"', page.text + client.get("/docs").text)
    assert len(own) > 8
    for path in own:
        assert client.get(path).status_code == 200
    for script in (Path(http.__file__).parent / "page" / "js").glob("*.js"):
        text = script.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), script
        for name in re.findall(r'from "\./([^"]+)"', text):
            assert client.get(f"/static/js/{name}").status_code == 200


def test_the_api_describes_itself_with_its_problems(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/api/bulk",
        "/api/changes",
        "/api/counts",
        "/api/doctor",
        "/api/failures",
        "/api/find",
        "/api/worker",
        "/api/history",
        "/api/preview",
        "/api/schedules",
        "/api/status",
        "/api/tasks",
        "/api/tasks/{id}",
        "/api/tasks/{id}/move",
        "/api/tasks/{id}/pause",
        "/api/tasks/{id}/resume",
        "/api/tasks/{id}/retry",
        "/api/tasks/{id}/run_now",
        "/api/timeline",
        "/api/timezones",
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                is_problem = "application/problem+json" in answer.get("content", {})
                assert is_problem == (int(status) >= 400)
            assert {"401", "403", "413", "415", "500"} < set(operation["responses"])
    assert document["components"]["schemas"]["ProblemDocument"]["required"]
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert client.get("/docs").status_code == 200


def test_a_recurring_task_and_its_changes(client: TestClient) -> None:
    task = add(
        client,
        due=None,
        id="a/b",
        schedule="rate(2 hours)",
        missed="all",
        spread=1.5,
        end="2027-01-01T00:00:00Z",
    )
    assert (task["due"], task["spread"]) == ("2026-11-21T14:00:00.000Z", 1.5)
    assert task["recurrence"]["missed"] == "all"
    assert task["recurrence"]["schedule"]["end"] == "2027-01-01T00:00:00.000Z"
    changed = client.patch("/api/tasks/a%2Fb", json={"schedule": "0 0 * * *", "timezone": "Asia/Kolkata"})
    assert changed.json()["due"] == "2026-11-21T18:30:00.000Z"
    assert client.post("/api/tasks/a%2Fb/pause", json={}).json()["status"] == "paused"
    assert client.post("/api/tasks/a%2Fb/resume", json={}).json()["status"] == "scheduled"
    assert client.post("/api/tasks/a%2Fb/run_now", json={}).json()["recurrence"]["turn"] == "extra"
    assert client.post("/api/tasks/a%2Fb/retry", json={}).status_code == 409


@pytest.mark.parametrize(("max_runs", "days"), [(None, [23, 24, 25, 26, 27]), (3, [23, 24]), (1, [])])
def test_a_recurring_task_tells_its_next_occurrences(
    client: TestClient, max_runs: int | None, days: list[int]
) -> None:
    # Given a task that stands at its occurrence of the 22nd; then those to come after it are told
    task = add(client, due=None, schedule="0 9 * * *", max_runs=max_runs)
    assert task["due"] == "2026-11-22T09:00:00.000Z"
    assert task["recurrence"]["upcoming"] == [f"2026-11-{day}T09:00:00.000Z" for day in days]


@pytest.mark.parametrize("wrong", ["3", 3.0, True, 0, 101])
def test_the_count_of_a_preview_is_a_whole_number_in_its_limits(client: TestClient, wrong: object) -> None:
    refused = client.post("/api/preview", json={"schedule": "0 9 * * *", "count": wrong})
    assert (refused.status_code, refused.json()["field"]) == (422, "count")
    right = client.post("/api/preview", json={"schedule": "0 9 * * *", "count": 3})
    assert len(right.json()["occurrences"]) == 3


def test_a_preview(client: TestClient) -> None:
    body = {"schedule": "at(2199-12-31T09:00:00)", "timezone": "Asia/Kolkata"}
    assert client.post("/api/preview", json=body).json() == {
        "words": "once, on 2199-12-31 at 09:00, Asia/Kolkata",
        "occurrences": ["2199-12-31T03:30:00.000Z"],
    }
    refused = client.post("/api/preview", json={"schedule": "0 0 31 2 *"})
    assert (refused.status_code, refused.json()["field"]) == (422, "schedule")


def test_a_length_of_time_is_a_number_of_seconds(client: TestClient) -> None:
    for wrong in ("1h", True, 1e300):
        refused = client.post("/api/tasks", json={"action": "x", "due": TOMORROW, "spread": wrong})
        assert (refused.status_code, refused.json()["field"]) == (422, "spread")


def test_a_task_is_moved(client: TestClient, editor: Editor) -> None:
    add(client, id="a/b")
    moved = client.post("/api/tasks/a%2Fb/move", json={"due": "2027-01-01T00:00:00Z"})
    assert moved.json()["due"] == "2027-01-01T00:00:00.000Z"
    assert client.post("/api/tasks/a%2Fb/move", json={}).json()["field"] == "due"


def test_the_doctor_looks_thoroughly_and_mends(client: TestClient, editor: Editor) -> None:
    # Given a rule that someone else has set
    add(client, id="a")
    editor._backend.rule.ring_at(NOON + timedelta(days=400), within=timedelta(minutes=1))
    # Then the doctor says so, and mends it
    assert [one["kind"] for one in client.get("/api/doctor").json()["problems"]] == ["rule_elsewhere"]
    assert client.post("/api/doctor").json()["healthy"]
    assert client.get("/api/doctor").json()["problems"] == []


def test_a_task_tells_of_its_failed_attempts(client: TestClient, editor: Editor) -> None:
    # Given a task whose run died, and that failed when it was run again
    task = editor.get(add(client, id="a")["id"])
    store, now = editor._backend.store, task.due
    for status in (Status.SCHEDULED, Status.RUNNING):
        claimed = store.claim(QueueKey(task.due, "a", task.lane), run=f"r-{status}", now=now, status=status)
    assert claimed
    failure = Failure(type="CardDeclined", message="no", traceback="somewhere")
    retry = claimed.left_running().to_retry(now + timedelta(hours=1), failure, now=now + timedelta(seconds=2))
    assert store.save(claimed, retry)
    # Then both are told of
    died, declined = client.get("/api/tasks/a").json()["failures"]
    assert (died["attempt"], died["type"]) == (1, "WorkerDied")
    assert (died["started_at"], died["finished_at"]) == (None, None)
    assert declined == {
        "due": "2026-11-22T12:00:00.000Z",
        "attempt": 2,
        "started_at": "2026-11-22T12:00:00.000Z",
        "finished_at": "2026-11-22T12:00:02.000Z",
        "type": "CardDeclined",
        "message": "no",
    }
