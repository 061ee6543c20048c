"""The status and the doctor over HTTP."""

from datetime import timedelta

from fastapi.testclient import TestClient

from duebell import Editor
from duebell_shared.schedules.zones import TZDATA_VERSION
from tests.http.asking import add
from tests.support import NOON


def test_status_says_how_the_scheduler_stands(client: TestClient) -> None:
    add(client, due="2026-12-31T00:00:00Z")
    asked = client.get("/api/status?timezone=Asia/Kolkata").json()
    assert asked["tonight_ends"] == "2026-11-22T00:30:00.000Z"
    assert client.get("/api/status?timezone=Mars").status_code == 422
    assert client.get("/api/status").json() == {
        "healthy": True,
        "limited": [],
        "problems": [],
        "rule": "duebell",
        "bell": "rule",
        "table": "duebell",
        "expression": "cron(0,4,12,27 * 30-31 1,2,3,4,5,6,7,8,9,10,12 ? 2026-2199)",
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
        "owing": 0,
        "overdue": 0,
        "due_tonight": 0,
        "due_tonight_is_estimate": False,
        "tonight_ends": "2026-11-22T06:00:00.000Z",
        "failed": 0,
        "failing": 0,
        "tzdata": TZDATA_VERSION,
        "worker_error": None,
        "calendars": {},
        "intake_waiting": None,
        "intake_since": None,
        "intake_dead_letters": None,
        "lost_rings": None,
        "failed_runs": None,
        "verdict": "healthy",
        "name": "duebell",
        "region": "eu-central-1",
        "account": "123456789012",
        "label": "",
        "color": None,
    }


def test_the_doctor_looks_thoroughly_and_mends(client: TestClient, editor: Editor) -> None:
    # Given a rule that someone else has set
    add(client, id="a")
    editor._backend.rule.ring_at(NOON + timedelta(days=400), within=timedelta(minutes=1))
    # Then the doctor says so, and mends it
    assert [one["kind"] for one in client.get("/api/doctor").json()["problems"]] == ["rule_elsewhere"]
    assert client.post("/api/doctor").json()["healthy"]
    assert client.get("/api/doctor").json()["problems"] == []
