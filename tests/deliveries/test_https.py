"""Deliveries to an HTTPS endpoint, here a local HTTP server: what is posted, and what accepts it."""

import hashlib
import hmac
import itertools
import re
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import boto3
import pytest

from duebell import Editor, Worker
from duebell_shared.instants import render
from duebell_worker.deliveries import https
from tests.deliveries.endpoint import Endpoint
from tests.deliveries.test_services import HOUR, run_at
from tests.support import NOON, REGION, Calls, Clock

ROOT = Path(__file__).parents[2]


def _documented() -> dict[str, Any]:
    """The names of the example in the docs that checks a signature."""
    page = (ROOT / "docs" / "deliveries.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(def is_genuine.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {"hmac": hmac, "hashlib": hashlib}
    exec(code, names)
    return names


is_genuine = _documented()["is_genuine"]


def test_the_payload_is_posted_with_what_is_known_in_headers(
    worker: Worker, editor: Editor, clock: Clock, endpoint: Endpoint
) -> None:
    worker.deliver("remind", to=f"{endpoint.url}/due?from=us")
    editor.add("remind", due=HOUR, id="täsk 7\u20ac", payload={"user": 7})
    assert run_at(worker, clock).done == 1
    [(path, headers, body)] = endpoint.posted
    assert (path, body) == ("/due?from=us", editor.get("täsk 7\u20ac").payload_json.encode())
    assert headers["Content-Type"] == "application/json"
    assert unquote(headers["Duebell-Id"]) == "täsk 7\u20ac"
    assert headers["Duebell-Action"] == "remind"
    assert (headers["Duebell-Due"], headers["Duebell-Attempt"]) == (render(NOON + HOUR), "1")
    assert "Duebell-Signature" not in headers


def test_each_attempt_at_an_occurrence_has_the_same_key(
    worker: Worker, editor: Editor, clock: Clock, endpoint: Endpoint
) -> None:
    worker.deliver("remind", to=endpoint.url)
    editor.add("remind", due=HOUR)
    endpoint.status = 503
    assert run_at(worker, clock).retried == 1
    endpoint.status = 200
    assert run_at(worker, clock).done == 1
    first, second = (headers for _, headers, _ in endpoint.posted)
    assert first["Idempotency-Key"] == second["Idempotency-Key"]
    assert (first["Duebell-Attempt"], second["Duebell-Attempt"]) == ("1", "2")


@pytest.mark.parametrize("place", ["secretsmanager", "ssm"])
def test_the_secret_signs_time_idempotency_key_and_body(
    worker: Worker, clock: Clock, endpoint: Endpoint, calls: Calls, place: str
) -> None:
    if place == "ssm":
        ssm = boto3.client("ssm", region_name=REGION)
        ssm.put_parameter(Name="/shop/signing", Value="hush", Type="SecureString")
        secret = ssm.get_parameter(Name="/shop/signing")["Parameter"]["ARN"]
    else:
        secrets = boto3.client("secretsmanager", region_name=REGION)
        secret = secrets.create_secret(Name="signing", SecretString="hush")["ARN"]
    worker.deliver("remind", to=endpoint.url, secret=secret)
    for number in range(3):
        worker.editor.add("remind", due=HOUR, payload={"number": number})
    assert run_at(worker, clock).done == 3
    for _, headers, body in endpoint.posted:
        now, key = clock.now.timestamp(), headers["Idempotency-Key"]
        assert is_genuine(headers["Duebell-Signature"], key, body, b"hush", now)
        assert not is_genuine(headers["Duebell-Signature"], f"{key}x", body, b"hush", now)
        assert not is_genuine("t=1,v1=\u00e9", key, body, b"hush", now)
    assert calls["GetParameter"] + calls["GetSecretValue"] == 1


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_secret_that_is_not_there_fails_the_task(
    worker: Worker, editor: Editor, clock: Clock, endpoint: Endpoint, *, is_deleted: bool
) -> None:
    secret = f"arn:aws:secretsmanager:{REGION}:123456789012:secret:signing-AbCdEf"
    if is_deleted:  # AWS keeps it for some days
        secrets = boto3.client("secretsmanager", region_name=REGION)
        secret = secrets.create_secret(Name="signing", SecretString="hush")["ARN"]
        secrets.delete_secret(SecretId=secret)
    worker.deliver("remind", to=endpoint.url, secret=secret)
    editor.add("remind", due=HOUR, id="one")
    assert run_at(worker, clock).failed == 1
    failure = editor.get("one").failure
    assert failure
    assert failure.message.startswith(f"there is no secret {secret}")
    assert endpoint.posted == []


@pytest.mark.parametrize(
    ("status", "mends"),
    [
        *((status, False) for status in (308, 400, 404, 413)),
        *((status, True) for status in (401, 408, 409, 429, 503)),
    ],
)
def test_an_answer_says_whether_another_attempt_may_help(
    worker: Worker, editor: Editor, clock: Clock, endpoint: Endpoint, status: int, *, mends: bool
) -> None:
    # The body of the answer is not kept: it may repeat the payload, and a URL that is secret
    worker.deliver("remind", to=f"{endpoint.url}/with/a/secret")
    endpoint.status, endpoint.said, endpoint.headers = status, b"no such trial", {"Location": "/elsewhere"}
    editor.add("remind", due=HOUR, id="one")
    report = run_at(worker, clock)
    assert (report.failed, report.retried) == (not mends, mends)
    assert len(endpoint.posted) == 1  # no redirect is followed
    failure = editor.get("one").failure
    assert failure
    assert failure.message.startswith(f"{endpoint.url} answered {status}")
    assert "trial" not in failure.message


def test_an_answer_that_is_kept_leaves_the_path_and_the_query_out(
    worker: Worker, editor: Editor, clock: Clock, endpoint: Endpoint
) -> None:
    worker.deliver("remind", to=f"{endpoint.url}/hooks/S3CRET?token=T0%2BKEN", keep_answers=True)
    endpoint.status, endpoint.said = 404, b"Cannot\n POST /hooks/S3CRET?token=T0%2BKEN: no S3CRET, no T0+KEN"
    editor.add("remind", due=HOUR, id="one")
    assert run_at(worker, clock).failed == 1
    failure = editor.get("one").failure
    assert failure
    assert failure.message.startswith(f"{endpoint.url} answered 404: Cannot POST ")
    assert not [word for word in ("S3CRET", "T0", "KEN") if word in failure.message]


@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_answer_that_breaks_off_counts_by_its_status(
    worker: Worker, editor: Editor, clock: Clock, endpoint: Endpoint, status: int
) -> None:
    worker.deliver("remind", to=endpoint.url)
    endpoint.status, endpoint.missing = status, 10
    editor.add("remind", due=HOUR)
    report = run_at(worker, clock)
    assert (report.done, report.failed, report.retried) == (status == 200, status == 400, status == 500)


def test_an_answer_that_never_ends_is_no_answer(
    worker: Worker, editor: Editor, clock: Clock, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an endpoint of which something can be read all the time, and reads that take a second each
    seconds = itertools.count()
    monkeypatch.setattr(https, "monotonic", lambda: next(seconds))
    worker.deliver("remind", to=endpoint.url)
    endpoint.continues = 20_000
    editor.add("remind", due=HOUR, id="one")
    # When a task is delivered to it
    assert run_at(worker, clock).retried == 1
    # Then it is left after six seconds
    failure = editor.get("one").failure
    assert failure
    assert failure.message.startswith(f"{endpoint.url} did not answer: ReadTimeoutError: ")
    assert next(seconds) == 7


def test_each_read_of_an_answer_has_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(https, "monotonic", lambda: now[0])
    ours, theirs = socket.socketpair()
    with ours, theirs:
        answer, limits = https._Answer(ours), []
        for _ in range(3):
            theirs.sendall(b"a\n")
            assert answer.fp.readline() == b"a\n"
            limits.append(ours.gettimeout())
            now[0] += 2
    assert limits == [6, 4, 2]


def test_the_endpoint_says_when_to_try_again(
    worker: Worker, editor: Editor, clock: Clock, endpoint: Endpoint
) -> None:
    worker.deliver("remind", to=endpoint.url)
    endpoint.status, endpoint.headers = 429, {"Retry-After": "1800"}
    editor.add("remind", due=HOUR, id="one")
    run_at(worker, clock)
    assert editor.get("one").queued == clock.now + timedelta(seconds=1800)


def test_nobody_there_is_a_failed_attempt_that_does_not_show_the_path(
    worker: Worker, editor: Editor, clock: Clock
) -> None:
    worker.deliver("remind", to="http://127.0.0.1:1/with/a/secret")
    editor.add("remind", due=HOUR, id="one")
    assert run_at(worker, clock).retried == 1
    failure = editor.get("one").failure
    assert failure
    assert failure.message.startswith("http://127.0.0.1:1 did not answer: ")
    assert "secret" not in failure.message
