"""The embedded stack's guard: what it refuses, what it lets pass, and how it says so."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.parsers import create_parser

from duebell_infra.local.ministack_child import Guard, Message, Receive, Scope, Send

KEY = "DUEBELL0123456789ABCDEF0123456789ABCDEF"
PORT = 4566
HERE = f"127.0.0.1:{PORT}"
Headers = list[tuple[str, str]]


def signed_by(key: str, *, service: str = "dynamodb") -> tuple[str, str]:
    """An Authorization header as the SDKs make it."""
    scope = f"{key}/20260101/us-east-1/{service}/aws4_request"
    return "Authorization", f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=ab"


SIGNED = [("Host", HERE), signed_by(KEY)]


@dataclass
class Application:
    """The application behind the guard; it notes the requests that come through."""

    seen: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.seen.append(scope["type"])
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})


class Answer:
    """The answer of the guard, or of the application behind it."""

    def __init__(self, sent: Iterable[Message]) -> None:
        start, body = sent
        self.status: int = start["status"]
        self.headers = {name.decode(): value.decode() for name, value in start["headers"]}
        self.body: bytes = body["body"]


class Client:
    """Sends requests to a guard."""

    def __init__(self) -> None:
        self.application = Application()
        self._guard = Guard(self.application, key=KEY, port=PORT)

    def send(self, headers: Headers, *, path: str = "/", query: str = "", method: str = "POST") -> Answer:
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        }
        answer = Answer(self.give(scope))
        assert (answer.status == 200) == (self.application.seen == ["http"])
        self.application.seen.clear()
        return answer

    def give(self, scope: dict[str, Any], *received: Message) -> list[Message]:
        """Returns the answer for this scope."""
        sent: list[Message] = []
        events = iter(received)

        async def receive() -> Message:
            return next(events)

        async def send(message: Message) -> None:
            sent.append(message)

        asyncio.run(self._guard(scope, receive, send))
        return sent


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.mark.parametrize("host", [HERE, f"localhost:{PORT}", f"LocalHost:{PORT}"])
def test_what_has_the_key_and_is_addressed_to_the_stack_passes(client: Client, host: str) -> None:
    assert client.send([("Host", host), signed_by(KEY)]).status == 200


@pytest.mark.parametrize(
    "host",
    [
        f"evil.test:{PORT}",
        f"localhost.evil.test:{PORT}",
        f"bucket.localhost:{PORT}",
        "127.0.0.1",
        "127.0.0.1:4567",
        f"[::1]:{PORT}",
        f"127.0.0.1:{PORT}, evil.test",
        "",
    ],
)
def test_another_host_is_refused(client: Client, host: str) -> None:
    assert client.send([("Host", host), signed_by(KEY)]).status == 403


def test_a_request_with_no_host_or_several_is_refused(client: Client) -> None:
    assert client.send([signed_by(KEY)]).status == 403
    assert client.send([*SIGNED, ("Host", HERE)]).status == 403
    assert client.send([*SIGNED, ("Host", "evil.test")]).status == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.test", "null", f"http://{HERE}", f"http://localhost:{PORT}", "file://", ""]
)
def test_a_request_with_an_origin_is_refused_even_with_the_key(client: Client, origin: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        answer = client.send([*SIGNED, ("Origin", origin)], method=method)
        assert answer.status == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin", "", "None", "none, cross-site"])
def test_what_a_browser_says_a_page_sent_is_refused_even_with_the_key(client: Client, site: str) -> None:
    assert client.send([*SIGNED, ("Sec-Fetch-Site", site)], method="GET").status == 403
    both = [*SIGNED, ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", site)]
    assert client.send(both, method="GET").status == 403


def test_what_a_user_typed_into_a_browser_passes_with_the_key(client: Client) -> None:
    assert client.send([*SIGNED, ("Sec-Fetch-Site", "none")], method="GET").status == 200
    assert client.send([("Host", HERE), ("Sec-Fetch-Site", "none")], method="GET").status == 403


@pytest.mark.parametrize(
    "given",
    [
        [],
        [("Authorization", "")],
        [("Authorization", f"Bearer {KEY}")],
        [("Authorization", f"AWS4-HMAC-SHA256 Credential={KEY}")],
        [("Authorization", "AWS4-HMAC-SHA256 Credential=/20260101/us-east-1/s3/aws4_request")],
        [signed_by("test")],
        [signed_by(KEY[:-1])],
        [signed_by(f"{KEY}0")],
        [signed_by(KEY.lower())],
        [("X-Amz-Security-Token", "another")],
    ],
)
def test_without_the_key_nothing_is_answered(client: Client, given: Headers) -> None:
    for method, path in [("POST", "/"), ("POST", "/_ministack/reset"), ("OPTIONS", "/")]:
        assert client.send([("Host", HERE), *given], method=method, path=path).status == 403


def test_functions_pass_with_the_key_as_their_session_token(client: Client) -> None:
    # MiniStack gives a function the account's number as its access key.
    function = [("Host", HERE), signed_by("000000000000"), ("X-Amz-Security-Token", KEY)]
    assert client.send(function).status == 200


def test_websockets_are_refused_even_with_the_key(client: Client) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in SIGNED]
    scope = {"type": "websocket", "path": "/", "query_string": b"", "headers": headers}
    sent = client.give(scope, {"type": "websocket.connect"})
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert client.application.seen == []


@pytest.mark.parametrize(
    ("protocol", "content_type"),
    [
        ("json", "application/x-amz-json-1.0"),
        ("rest-json", "application/json"),
        ("rest-json", ""),
        ("query", "application/x-www-form-urlencoded"),
        ("rest-xml", ""),
    ],
)
def test_every_sdk_can_tell_why_it_is_refused(client: Client, protocol: str, content_type: str) -> None:
    kind = [("Content-Type", content_type)] if content_type else []
    answer = client.send([("Host", HERE), *kind])
    assert int(answer.headers["content-length"]) == len(answer.body)
    parser: Any = create_parser(protocol)
    response = {"status_code": answer.status, "headers": answer.headers, "body": answer.body}
    error = parser.parse(response, None)["Error"]
    assert error["Code"] == "UnrecognizedClientException"
    assert "the access key is not this stack's" in error["Message"]
