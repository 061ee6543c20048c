"""Who changes a task by HTTP: as a proxy with a login says it, if it is told where."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from duebell import Editor, InvalidSettings
from duebell_editor.http import create_app

NEW = {"action": "x", "due": "2026-12-31T00:00:00Z", "id": "a"}

HEADER = "X-Forwarded-User"


def client_of(editor: Editor, **given: Any) -> TestClient:
    return TestClient(create_app(editor, **given), base_url="http://127.0.0.1:8125")


def test_every_change_is_by_whom_the_proxy_names(editor: Editor) -> None:
    client = client_of(editor, identity_header=HEADER)
    anna, ben = {HEADER: "anna@example.org"}, {"x-forwarded-user": "ben"}
    assert client.post("/api/tasks", json=NEW, headers=anna).json()["changed_by"] == "anna@example.org"
    assert client.post("/api/tasks/a/pause", headers=ben).json()["changed_by"] == "ben"
    assert client.get("/api/tasks/a", headers=anna).json()["changed_by"] == "ben"
    bulk = {"do": "resume", "ids": ["a"]}
    assert client.post("/api/bulk", json=bulk, headers=anna).json()["changed"] == ["a"]
    assert client.get("/api/tasks").json()["tasks"][0]["changed_by"] == "anna@example.org"
    # And of one that comes without a name it is only known how it came
    assert client.patch("/api/tasks/a", json={"payload": 1}).json()["changed_by"] == "http"


def test_a_header_that_is_not_named_does_not_count(editor: Editor) -> None:
    given = {HEADER: "anna", "X-Amzn-Oidc-Identity": "anna"}
    assert client_of(editor).post("/api/tasks", json=NEW, headers=given).json()["changed_by"] == "http"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (b"", "http"),
        (b"  ", "http"),
        ("Ünal".encode(), "Ünal"),
        (b"x" * 200, "x" * 127 + "…"),
        ("a\u202eb".encode(), "a?b"),
        (b"<b>anna</b>", "<b>anna</b>"),
    ],
)
def test_whatever_is_said_is_made_fit_to_be_kept(editor: Editor, said: bytes, kept: str) -> None:
    client = client_of(editor, identity_header=HEADER)
    added = client.post("/api/tasks", json=NEW, headers={HEADER.encode(): said})
    assert added.json()["changed_by"] == kept


def test_a_name_that_is_there_twice_is_refused(editor: Editor) -> None:
    # Given a proxy that adds its header to what a visitor has forged
    client = client_of(editor, identity_header=HEADER)
    refused = client.post("/api/tasks", json=NEW, headers=[(HEADER, "anna"), (HEADER, "ben")])
    assert refused.status_code == 400
    assert "the proxy must replace" in refused.json()["detail"]
    assert editor.list().tasks == ()


@pytest.mark.parametrize(
    "name",
    ["", "a b", "x:y", "ü", "x\n", "Authorization", "cookie", "X-Amzn-Oidc-Accesstoken", "x-amzn-oidc-data"],
)
def test_a_header_that_is_none_or_holds_a_secret_is_refused(editor: Editor, name: str) -> None:
    with pytest.raises(InvalidSettings, match="identity_header"):
        create_app(editor, identity_header=name)
