"""Other web sites neither change nor read anything through a visitor's browser."""

import re
from unittest import mock

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from duebell import Editor, InvalidSettings
from duebell_editor.http import create_app
from duebell_editor.http.limits import MAX_BODY

BODY = '{"action": "x", "due": "2026-12-31T00:00:00Z", "id": "a"}'
JSON = {"Content-Type": "application/json"}
TOKEN = "secret-secret-secret"
REQUESTS = [
    ("GET", "/api/tasks"),
    ("POST", "/api/tasks"),
    ("PATCH", "/api/tasks/a"),
    ("DELETE", "/api/tasks/a"),
]


@pytest.fixture
def client(editor: Editor) -> TestClient:
    app = create_app(editor, allowed_hosts=["Duebell.example"])
    return TestClient(app, base_url="http://127.0.0.1:8125")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8125", "localhost", "LOCALHOST:1", "[::1]", "[::1]:8125", "duebell.example:443"],
)
def test_it_answers_to_its_own_names(client: TestClient, host: str) -> None:
    assert client.get("/api/status", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:1",
        "localhost.evil.example",
        "sub.duebell.example",
        "127.0.0.1:x",
        "::1",
        "localhost@evil.example",
        "",
    ],
)
def test_it_answers_to_no_other_name(client: TestClient, host: str) -> None:
    for path in ("/", "/api/tasks", "/static/js/main.js", "/docs"):
        response = client.get(path, headers={"Host": host})
        assert response.status_code == 403
        assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://127.0.0.1", "http://localhost:8125", "null", "x://127.0.0.1:8125"],
)
def test_requests_from_other_origins_are_refused(client: TestClient, editor: Editor, origin: str) -> None:
    for method, path in REQUESTS:
        response = client.request(method, path, content=BODY, headers={**JSON, "Origin": origin})
        assert response.status_code == 403
    assert editor.list().tasks == ()


def test_requests_from_its_own_origin_are_answered(client: TestClient) -> None:
    own = {**JSON, "Origin": "http://127.0.0.1:8125"}
    assert client.post("/api/tasks", content=BODY, headers=own).status_code == 201
    assert client.delete("/api/tasks/a", headers=own).status_code == 200
    proxied = {"Host": "duebell.example", "Origin": "https://duebell.example"}
    assert client.get("/api/tasks", headers=proxied).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/xml"],
)
def test_bodies_that_are_not_json_are_refused(client: TestClient, editor: Editor, content_type: str) -> None:
    for method, path in REQUESTS:
        response = client.request(method, path, content=BODY, headers={"Content-Type": content_type})
        assert response.status_code == 415
        assert response.headers["content-type"] == "application/problem+json"
    assert editor.list().tasks == ()


def test_every_answer_has_the_headers_that_browsers_heed(client: TestClient, editor: Editor) -> None:
    unsafe = TestClient(client.app, base_url="http://127.0.0.1:8125", raise_server_exceptions=False)
    with mock.patch.object(editor, "status", side_effect=RuntimeError):
        answers = [
            unsafe.get(path)
            for path in ("/", "/docs", "/static/js/main.js", "/api/tasks", "/api/tasks/no", "/api/status")
        ]
    answers.append(client.get("/", headers={"Host": "evil.example"}))
    assert {answer.status_code for answer in answers} == {200, 403, 404, 500}
    for answer in answers:
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert client.get("/api/tasks").headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in client.get("/api/tasks").headers


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", "Basic secret-secret-secret", "Bearer secret-secret-secretx"]
)
def test_without_the_token_nothing_is_told(editor: Editor, given: str) -> None:
    client = TestClient(create_app(editor, token=TOKEN), base_url="http://127.0.0.1")
    for path in ("/api/tasks", "/api/status", "/api/changes", "/api/nothing"):
        refused = client.get(path, headers={"Authorization": given})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert client.get("/").status_code == 200
    assert client.get("/api/tasks", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
    assert client.get("/openapi.json").json()["security"] == [{"token": []}]


def test_any_host_takes_a_token_that_cannot_be_guessed(editor: Editor) -> None:
    with pytest.raises(InvalidSettings, match=r"^allowed_hosts: any name needs a token"):
        create_app(editor, allowed_hosts=["*"])
    with pytest.raises(InvalidSettings, match=r"^allowed_hosts: must be names in a list, not 'example.com'"):
        create_app(editor, allowed_hosts="example.com")
    for token in ("", "short", "with a space in its middle", "ümlaut-ümlaut-ümlaut"):
        with pytest.raises(InvalidSettings, match=r"^token: must be 16 or more"):
            create_app(editor, token=token)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_can_link_to_the_page_and_not_have_the_queue_read(client: TestClient, site: str) -> None:
    # Nobody sees the answer to an <img> of another site, and yet it would be read, and paid for.
    given = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    for path in ("/api/tasks", "/api/doctor", "/api/changes", "/api/nothing"):
        assert client.get(path, headers=given).status_code == 403
        assert client.post(path, headers=given).status_code == 403
    for path in ("/", "/docs", "/static/bell.svg", "/openapi.json"):
        assert client.get(path, headers=given).status_code == 200
    for own in ("none", "same-origin"):  # typed by its visitor, or asked by the page
        assert client.get("/api/tasks", headers={"Sec-Fetch-Site": own}).status_code == 200


def test_mounted_in_another_application_it_is_as_guarded(editor: Editor) -> None:
    outer = FastAPI()
    outer.mount("/admin/duebell", create_app(editor, token=TOKEN))
    client = TestClient(outer, base_url="http://127.0.0.1")
    # Nothing of the queue is told without the token
    for method, path in REQUESTS:
        refused = client.request(method, f"/admin/duebell{path}", content=BODY, headers=JSON)
        assert (refused.status_code, refused.headers["cache-control"]) == (401, "no-store")
    # And with it all is as ever, the page and its files included
    right = {**JSON, "Authorization": f"Bearer {TOKEN}"}
    added = client.post("/admin/duebell/api/tasks", content=BODY, headers=right)
    assert (added.status_code, added.headers["location"]) == (201, "/admin/duebell/api/tasks/a")
    files = re.findall(r'(?:href|src)="([^"#]+)"', client.get("/admin/duebell/").text)
    assert files
    assert not [file for file in files if file.startswith("/")]
    for file in files:
        assert client.get(f"/admin/duebell/{file}", headers=right).status_code == 200


def test_a_body_that_is_too_long_is_not_read(client: TestClient) -> None:
    announced = client.post("/api/tasks", content=b"x" * (MAX_BODY + 1), headers=JSON)
    streamed = client.post("/api/tasks", content=(b"x" * 65536 for _ in range(64)), headers=JSON)
    for refused in (announced, streamed):
        assert refused.status_code == 413
        assert refused.headers["content-type"] == "application/problem+json"
