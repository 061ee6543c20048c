"""Whatever the API is given, it takes it or says what is wrong; it never fails inside."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from duebell_editor.http import create_app
from tests.editor.memory import Scheduler

pytestmark = pytest.mark.slow

DUE = "2026-12-31T00:00:00Z"
HUGE = 10**400


@pytest.fixture
def client(scheduler: Scheduler) -> TestClient:
    app = create_app(scheduler.editor)
    return TestClient(app, base_url="http://127.0.0.1:8125", raise_server_exceptions=False)


@pytest.fixture
def scheduler() -> Scheduler:
    scheduler = Scheduler.start()
    for id in ("one", "recurring"):
        when = {"schedule": "rate(2 hours)"} if id == "recurring" else {"due": scheduler.clock()}
        scheduler.editor.add("act", id=id, **when)
    return scheduler


def ask(client: TestClient, method: str, path: str, body: object) -> Any:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.request(method, path, content=text, headers={"Content-Type": "application/json"})


def nested(levels: int) -> bytes:
    """A payload of so many levels, as text: the client could not write all of them."""
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("levels", [100, 101, 100_000])
def test_a_payload_of_more_than_100_levels_is_refused_and_nothing_is_stored(
    client: TestClient, scheduler: Scheduler, levels: int
) -> None:
    added = b'{"action": "act", "due": "%s", "id": "deep", "payload": %s}' % (DUE.encode(), nested(levels))
    changed = b'{"payload": %s}' % nested(levels)
    answers = [ask(client, "POST", "/api/tasks", added), ask(client, "PATCH", "/api/tasks/one", changed)]
    listed = client.get("/api/tasks")
    assert listed.status_code == 200
    ids = {task["id"] for task in listed.json()["tasks"]}
    if levels == 100:
        assert [answer.status_code for answer in answers] == [201, 200]
        assert answers[0].json()["payload"] == json.loads(nested(100))
        return
    assert ids == {"one", "recurring"}
    assert scheduler.editor.get("one").payload == {}
    for answer in answers:
        assert answer.status_code in {400, 422}
        assert "100 levels" in answer.json()["detail"]


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"spread": HUGE}, "spread", "seconds are too many"),
    (
        {"due": None, "schedule": "rate(1 hour)", "max_runs": HUGE},
        "max_runs",
        "must be a whole number, 1 to 1,000,000,000",
    ),
    ({"due": None, "schedule": "x" * 1_025}, "schedule", "must be at most 1,024 characters, not 1,025"),
    (
        {"due": None, "schedule": "rate(1 hour)", "timezone": "y" * 500_000},
        "timezone",
        "is no IANA time zone",
    ),
    ({"due": "y" * 500_000}, "due", "is not an ISO-8601 time"),
    ({"id": "\ud800"}, "id", "only printable characters"),
    ({"payload": ["\ud800"]}, "payload", "has no JSON form"),
    ({"y" * 500_000: 1}, "y" * 80 + "…", "is not known here"),
]


@pytest.mark.parametrize(("wrong", "field", "reason"), WRONG, ids=range(len(WRONG)))
def test_a_value_that_cannot_be_is_named_with_the_reason(
    client: TestClient, wrong: dict[str, Any], field: str, reason: str
) -> None:
    answer = ask(client, "POST", "/api/tasks", {"action": "act", "due": DUE, **wrong})
    assert answer.status_code == 422
    document = answer.json()
    assert document["field"] == field
    assert reason in document["reason"]
    assert len(document["detail"]) < 400
    assert "y" * 81 not in document["detail"]


#: JSON of every kind, each right for few fields or none.
ODD: list[Any] = [
    None, True, 0, -1, 1.5, HUGE, -HUGE, 1e308, "", "x", "y" * 10_000, "\x00", "\ud800", "1", DUE,
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "rate(1 day)", [], [1], ["x"], ["\ud800"],
    [[]], {}, {"a": 1}, {"action": "act"},
]  # fmt: skip

BODIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "add": ("POST", "/api/tasks", {"action": "act", "due": DUE}),
    "change": ("PATCH", "/api/tasks/recurring", {}),
    "preview": ("POST", "/api/preview", {"schedule": "rate(1 day)"}),
    "bulk by id": ("POST", "/api/bulk", {"do": "pause", "ids": ["one"]}),
}

#: What any of them may be given.
FIELDS = (
    "action", "due", "schedule", "timezone", "start", "end", "missed", "max_runs", "spread", "expires_after",
    "in", "payload", "id", "if_exists", "count", "do", "where", "ids", "limit", "dry_run",
)  # fmt: skip


@pytest.mark.parametrize("kind", BODIES)
def test_a_body_with_a_value_of_any_kind_is_answered(client: TestClient, kind: str) -> None:
    method, path, right = BODIES[kind]
    for field in FIELDS:
        for value in ODD:
            answer = ask(client, method, path, {**right, field: value})
            assert answer.status_code < 500, (field, str(value)[:80], answer.text)
    assert client.get("/api/tasks?status=scheduled&status=paused").status_code == 200
