"""The embedded stack's guard: what it refuses, what it lets pass, and how it says so."""

import asyncio
from typing import Any, NamedTuple

import pytest
from botocore.parsers import create_parser

from duebell_infra.local.ministack_child import Guard, Message, Scope

KEY = "DUEBELL0123456789ABCDEF0123456789ABCDEF"
PORT = 4566
HERE = f"127.0.0.1:{PORT}"
Header = tuple[str, str]


def signed_by(key: str) -> Header:
    """An Authorization header as the SDKs make it."""
    scope = f"{key}/20260101/us-east-1/dynamodb/aws4_request"
    return "Authorization", f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=ab"


SIGNED = [("Host", HERE), signed_by(KEY)]


class Answer(NamedTuple):
    """The messages sent in answer to a request, and whether it has come through to the application."""

    sent: list[Message]
    has_passed: bool


def ask(*headers: Header, kind: str = "http", method: str = "POST", path: str = "/") -> Answer:
    sent: list[Message] = []
    passed: list[Scope] = []

    async def application(scope: Scope, *_: object) -> None:
        passed.append(scope)

    async def receive() -> Message:
        return {"type": f"{kind}.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    given = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": kind, "method": method, "path": path, "query_string": b"", "headers": given}
    asyncio.run(Guard(application, key=KEY, port=PORT)(scope, receive, send))
    return Answer(sent, has_passed=bool(passed))


def is_refused(*headers: Header, **given: str) -> bool:
    """True if the answer is 403, no web page may read it, and the application sees nothing."""
    sent, has_passed = ask(*headers, **given)
    if has_passed:
        return False
    assert sent[0]["status"] == 403
    assert not [name for name, _ in sent[0]["headers"] if name.startswith(b"access-control")]
    return True


@pytest.mark.parametrize("host", [HERE, f"LocalHost:{PORT}"])
def test_what_has_the_key_and_is_addressed_to_the_stack_passes(host: str) -> None:
    assert ask(("Host", host), signed_by(KEY)).has_passed


@pytest.mark.parametrize(
    "host",
    [f"localhost.evil.test:{PORT}", f"bucket.localhost:{PORT}", "127.0.0.1", "127.0.0.1:4567", ""],
)
def test_another_host_is_refused(host: str) -> None:
    assert is_refused(("Host", host), signed_by(KEY))


def test_a_request_with_no_host_or_several_is_refused() -> None:
    assert is_refused(signed_by(KEY))
    assert is_refused(*SIGNED, ("Host", HERE))
    assert is_refused(*SIGNED, ("Host", "evil.test"))


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("origin", ["http://evil.test", "null", f"http://{HERE}", ""])
def test_a_request_with_an_origin_is_refused_even_with_the_key(origin: str, method: str) -> None:
    assert is_refused(*SIGNED, ("Origin", origin), method=method)


@pytest.mark.parametrize("site", ["cross-site", "same-origin", "", "none, cross-site"])
def test_what_a_browser_says_a_page_sent_is_refused_even_with_the_key(site: str) -> None:
    assert is_refused(*SIGNED, ("Sec-Fetch-Site", site), method="GET")
    assert is_refused(*SIGNED, ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", site), method="GET")


def test_what_a_user_typed_into_a_browser_passes_with_the_key() -> None:
    assert ask(*SIGNED, ("Sec-Fetch-Site", "none"), method="GET").has_passed
    assert is_refused(("Host", HERE), ("Sec-Fetch-Site", "none"), method="GET")


@pytest.mark.parametrize(
    "given",
    [
        [],
        [("Authorization", f"Bearer {KEY}")],
        [("Authorization", f"AWS4-HMAC-SHA256 Credential={KEY}")],
        [("Authorization", "AWS4-HMAC-SHA256 Credential=/20260101/us-east-1/s3/aws4_request")],
        [signed_by(KEY[:-1])],
        [signed_by(f"{KEY}0")],
        [signed_by(KEY.lower())],
        [("X-Amz-Security-Token", "another")],
    ],
)
def test_without_the_key_nothing_is_answered(given: list[Header]) -> None:
    for method, path in [("POST", "/"), ("POST", "/_ministack/reset"), ("OPTIONS", "/")]:
        assert is_refused(("Host", HERE), *given, method=method, path=path)


def test_functions_pass_with_the_key_as_their_session_token() -> None:
    # MiniStack gives a function the account's number as its access key.
    assert ask(("Host", HERE), signed_by("000000000000"), ("X-Amz-Security-Token", KEY)).has_passed


def test_websockets_are_refused_even_with_the_key() -> None:
    sent, has_passed = ask(*SIGNED, kind="websocket")
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert not has_passed


@pytest.mark.parametrize(
    ("protocol", "content_type"),
    [
        ("json", "application/x-amz-json-1.0"),
        ("query", "application/x-www-form-urlencoded"),
        ("rest-xml", ""),
    ],
)
def test_every_sdk_can_tell_why_it_is_refused(protocol: str, content_type: str) -> None:
    start, body = ask(("Host", HERE), ("Content-Type", content_type)).sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    assert int(headers["content-length"]) == len(body["body"])
    parser: Any = create_parser(protocol)
    response = {"status_code": start["status"], "headers": headers, "body": body["body"]}
    error = parser.parse(response, None)["Error"]
    assert error["Code"] == "UnrecognizedClientException"
    assert "the access key is not this stack's" in error["Message"]
