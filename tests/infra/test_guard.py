"""The embedded stack's guard: SDKs understand its refusals. What it refuses and lets pass is in parts.txt."""

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
