"""The API reads times in the time zones of the package, whatever the server's machine has."""

import pytest
from fastapi.testclient import TestClient

from duebell_editor.http import create_app
from duebell_shared.schedules.zones import TZDATA_VERSION, zone_names
from tests.editor.memory import Scheduler


@pytest.fixture
def client() -> TestClient:
    return TestClient(create_app(Scheduler.start().editor), base_url="http://127.0.0.1:8125")


@pytest.mark.usefixtures("false_zones")
def test_times_are_read_by_the_package(client: TestClient) -> None:
    daily = {"schedule": "0 9 * * *", "timezone": "Europe/Berlin", "start": "2026-12-01T00:00:00Z"}
    [first] = client.post("/api/preview", json={**daily, "count": 1}).json()["occurrences"]
    assert first.endswith("T08:00:00.000Z" if first[5:7] in {"01", "02", "11", "12"} else "T07:00:00.000Z")
    task = client.post("/api/tasks", json={"action": "x", **daily}).json()
    assert task["due"] == "2026-12-01T08:00:00.000Z"
    days: dict[str, str | int] = {
        "start": "2026-12-31T12:00:00Z",
        "step": "day",
        "count": 1,
        "timezone": "Europe/Berlin",
    }
    for path in ("timeline", "history"):
        [bucket] = client.get(f"/api/{path}", params=days).json()["buckets"]
        assert bucket["start"] == "2026-12-30T23:00:00.000Z"


def test_the_time_zones_are_listed(client: TestClient) -> None:
    found = client.get("/api/timezones").json()
    assert found == {"tzdata": TZDATA_VERSION, "names": sorted(zone_names())}
    for zone in ("localtime", "right/UTC", "../zones", "europe/berlin"):
        answer = client.post("/api/preview", json={"schedule": "0 9 * * *", "timezone": zone})
        assert answer.status_code == 422
        assert answer.json()["field"] == "timezone"
