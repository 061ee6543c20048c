"""The scheduler and its worker over HTTP: schedules, calendars, limits, zones, what the doctor repairs."""

import dataclasses
import json
from datetime import timedelta
from typing import Any

import jsonschema_rs
import pytest
from fastapi.testclient import TestClient

from duebell import Editor, Worker
from duebell_shared.backend import Backend
from duebell_shared.schedules.zones import TZDATA_VERSION, zone_names
from tests.http.conftest import add
from tests.support import NOON


def test_a_recurring_task_and_its_changes(client: TestClient) -> None:
    rules = {"schedule": "rate(2 hours)", "missed": "all", "spread": 1.5, "end": "2027-01-01T00:00:00Z"}
    task = add(client, due=None, id="a/b", **rules)
    assert (task["due"], task["spread"]) == ("2026-11-21T14:00:00.000Z", 1.5)
    assert task["recurrence"]["missed"] == "all"
    assert task["recurrence"]["schedule"]["end"] == "2027-01-01T00:00:00.000Z"
    changed = client.patch("/api/tasks/a%2Fb", json={"schedule": "0 0 * * *", "timezone": "Asia/Kolkata"})
    assert changed.json()["due"] == "2026-11-21T18:30:00.000Z"
    assert client.post("/api/tasks/a%2Fb/pause", json={}).json()["status"] == "paused"
    assert client.post("/api/tasks/a%2Fb/resume", json={}).json()["status"] == "scheduled"
    assert client.post("/api/tasks/a%2Fb/run_now", json={}).json()["recurrence"]["origin"] == "extra"
    assert client.post("/api/tasks/a%2Fb/retry", json={}).status_code == 409


@pytest.mark.parametrize(("max_runs", "days"), [(None, [23, 24, 25, 26, 27]), (3, [23, 24]), (1, [])])
def test_a_recurring_task_tells_its_next_occurrences(
    client: TestClient, max_runs: int | None, days: list[int]
) -> None:
    # Given a task that stands at its occurrence of the 22nd; then those to come after it are told
    task = add(client, due=None, schedule="0 9 * * *", max_runs=max_runs)
    assert task["due"] == "2026-11-22T09:00:00.000Z"
    assert task["recurrence"]["upcoming"] == [f"2026-11-{day}T09:00:00.000Z" for day in days]


def test_a_range_is_backfilled(client: TestClient, editor: Editor) -> None:
    editor.add("report", schedule="0 9 * * *", id="a/b")
    body = {"start": "2026-11-20T00:00:00Z", "end": "2026-11-21T12:00:00Z"}
    plan = client.post("/api/tasks/a%2Fb/backfill", json={**body, "dry_run": True})
    assert plan.json()["dues"] == ["2026-11-20T09:00:00.000Z", "2026-11-21T09:00:00.000Z"]
    first, again = (client.post("/api/tasks/a%2Fb/backfill", json=body).json() for _ in range(2))
    assert (first["prefix"], first["added"], again["added"], again["there_already"]) == ("a/b@", 2, 0, 2)
    wrong = client.post("/api/tasks/a%2Fb/backfill", json={**body, "per_second": 0})
    assert (wrong.status_code, "per_second" in wrong.text) == (422, True)


def test_calendars_are_put_listed_and_used(client: TestClient) -> None:
    body = {"days": {"2026-12-25": "Christmas Day"}, "ends": "2028-12-31", "source": "by hand"}
    answer = client.put("/api/calendars/de-be", json=body)
    assert (answer.status_code, answer.json()["calendars"]["de-be"]["days"]) == (200, body["days"])
    preview = {"schedule": "0 9 * 12 *", "calendar": "de-be", "start": "2026-12-25T00:00:00Z", "count": 1}
    told = client.post("/api/preview", json=preview).json()
    assert told["occurrences"] == ["2026-12-26T09:00:00.000Z"]
    assert told["on_holidays"] == [
        {"due": "2026-12-25T09:00:00.000Z", "holiday": "Christmas Day", "moved_to": None}
    ]
    assert client.put("/api/calendars/x", json={"days": {}, "ends": "2028-12-31"}).status_code == 422


def test_the_doctor_looks_thoroughly_and_mends(client: TestClient, editor: Editor) -> None:
    # Given a rule that someone else has set
    add(client, id="a")
    editor._backend.rule.ring_at(NOON + timedelta(days=400), within=timedelta(minutes=1))
    # Then the doctor says so, and mends it
    assert [one["kind"] for one in client.get("/api/doctor").json()["problems"]] == ["rule_elsewhere"]
    assert client.post("/api/doctor").json()["healthy"]
    assert client.get("/api/doctor").json()["problems"] == []


def test_the_time_zones_are_listed(client: TestClient) -> None:
    found = client.get("/api/timezones").json()
    assert found == {"tzdata": TZDATA_VERSION, "names": sorted(zone_names())}
    answer = client.post("/api/preview", json={"schedule": "0 9 * * *", "timezone": "../zones"})
    assert (answer.status_code, answer.json()["field"]) == (422, "timezone")


def is_as_described(client: TestClient, schema: str, answer: object) -> bool:
    """Tells whether an answer has the form that the description of the API gives."""
    components = client.get("/openapi.json").json()["components"]
    return jsonschema_rs.is_valid({**components["schemas"][schema], "components": components}, answer)


def test_a_limit_is_set_and_told(client: TestClient, backend: Backend) -> None:
    worker = Worker(backend=backend)
    worker.action("shop/mail", per_second=10)(lambda: None)
    worker.register()
    limit = client.patch("/api/limits/shop%2Fmail", json={"at_most": 5, "per_second": 2}).json()
    assert (limit["at_most"], limit["per_second"], limit["paused"]) == (5, 2, False)
    assert (limit["declared_at_most"], limit["declared_per_second"]) == (None, 10)
    assert limit["since"]
    assert client.get("/api/limits").json() == {"limits": [{**limit, "waiting": 0}]}
    # And what cannot be one is refused by name
    refused = client.patch("/api/limits/shop%2Fmail", json={"closed": "at night"})
    assert (refused.status_code, refused.json()["field"]) == (422, "closed")
    assert is_as_described(client, "ActionLimit", limit)


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
    assert is_as_described(client, "KnownWorker", answer)


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
