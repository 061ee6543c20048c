"""`duebell dead-letters`: listed, sent back and deleted, on moto."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from starlette.testclient import TestClient

from duebell import Editor, InvalidQuery, Settings
from duebell.http import create_app
from duebell_editor.cli.context import Context
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Armer
from duebell_shared.bell.arming import ArmingRecord
from tests.cli.program import Duebell, lines
from tests.support import Clock

INTAKE = "duebell-intake"


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duebell_editor.status.dead_letters._WAIT", 0)


@pytest.fixture
def backend(session: boto3.Session, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Backend:
    for queue in (INTAKE, f"{INTAKE}-dead-letters", "duebell-lost-rings", "duebell-failed-runs"):
        session.client("sqs").create_queue(QueueName=queue)
    backend = Backend.connect(Settings(intake=INTAKE), session, clock=clock, sleep=clock.sleep)
    monkeypatch.setattr(Context, "editor", lambda _, **__: Editor(backend=backend))
    return backend


def send(session: boto3.Session, queue: str, body: str, **attributes: str) -> None:
    sqs = session.client("sqs")
    texts: Any = {name: {"DataType": "String", "StringValue": text} for name, text in attributes.items()}
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=texts)


def bodies(session: boto3.Session, queue: str) -> list[str]:
    sqs = session.client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
    return [one["Body"] for one in found.get("Messages", [])]


def fill(session: boto3.Session) -> None:
    reason = {"duebell-field": "due", "duebell-reason": "must be a time"}
    send(session, f"{INTAKE}-dead-letters", '{"action": "x", "due": "soon"}', **reason)
    send(session, "duebell-lost-rings", "{}", ERROR_CODE="NO_PERMISSIONS", ERROR_MESSAGE="not allowed")
    died = {"responsePayload": {"errorType": "ImportError", "errorMessage": "no shop"}}
    send(session, "duebell-failed-runs", json.dumps(died))
    send(session, "duebell-failed-runs", "[]")


def test_dead_letters_are_listed_with_reasons_and_stay(duebell: Duebell, session: boto3.Session) -> None:
    assert duebell("dead-letters") == (0, "", "nothing found\n")
    fill(session)
    for _ in range(2):  # nothing is hidden when it was listed
        [told] = lines(duebell("dead-letters", "--json").out)
        assert [(one["queue"], one["reason"]) for one in told["letters"]] == [
            ("lost-rings", "NO_PERMISSIONS: not allowed"),
            ("failed-runs", "ImportError: no shop"),
            ("failed-runs", ""),
            ("intake", "due: must be a time"),
        ]
    assert "due: must be a time" in duebell("dead-letters").out


def test_a_ring_that_is_lost_meanwhile_stays(
    duebell: Duebell, session: boto3.Session, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given that another ring is lost just after the rule was read
    send(session, "duebell-lost-rings", "first")
    verify = Armer.verify

    def verify_and_lose(armer: Armer) -> ArmingRecord:
        record = verify(armer)
        send(session, "duebell-lost-rings", "second")
        return record

    monkeypatch.setattr(Armer, "verify", verify_and_lose)
    # Then its message is not deleted with the first
    assert duebell("dead-letters", "--redrive", "lost-rings").out.split() == ["redriven", "1"]
    assert bodies(session, "duebell-lost-rings") == ["second"]


def test_they_are_sent_back_and_one_or_all_are_deleted(duebell: Duebell, session: boto3.Session) -> None:
    fill(session)
    assert lines(duebell("dead-letters", "--redrive", "intake", "--json").out) == [{"redriven": 1}]
    assert bodies(session, f"{INTAKE}-dead-letters") == []
    [told] = lines(duebell("dead-letters", "--json").out)
    one = next(letter["id"] for letter in told["letters"] if letter["reason"] == "ImportError: no shop")
    assert duebell("dead-letters", "--delete", "failed-runs", "--id", one).out.split() == ["deleted", "1"]
    assert bodies(session, "duebell-failed-runs") == ["[]"]
    assert duebell("dead-letters", "--delete", "failed-runs").out.split() == ["deleted", "1"]
    assert bodies(session, "duebell-failed-runs") == []
    assert len(bodies(session, "duebell-lost-rings")) == 1


def test_a_queue_that_cannot_be_used_is_named(duebell: Duebell, session: boto3.Session) -> None:
    denied = [ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "ReceiveMessage")]

    def refuse(**_: object) -> None:
        for error in denied:
            raise error

    session.events.register("before-call.sqs.ReceiveMessage", refuse)
    why = f"cannot be used: {denied[0]}"
    refused = duebell("dead-letters", "--delete", "intake")
    assert refused == (5, "", f"error: the queue {INTAKE}-dead-letters {why}\n")
    denied.clear()
    sqs = session.client("sqs")
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName="duebell-failed-runs")["QueueUrl"])
    assert duebell("dead-letters") == (5, "", "error: the queue duebell-failed-runs does not exist\n")


def test_the_api_lists_sends_back_and_deletes_them(backend: Backend, session: boto3.Session) -> None:
    client = TestClient(create_app(Editor(backend=backend)), base_url="http://127.0.0.1")
    fill(session)
    found = client.get("/api/dead-letters").json()["letters"]
    url = "/api/dead-letters/failed-runs/delete"
    assert client.post(url, json={"ids": [found[1]["id"]]}).json() == {"count": 1}
    assert client.post("/api/dead-letters/intake/redrive").json() == {"count": 1}
    assert bodies(session, INTAKE) == ['{"action": "x", "due": "soon"}']
    # An empty list names none of them
    for queue in ("failed-runs", "lost-rings"):
        assert client.post(f"/api/dead-letters/{queue}/delete", json={"ids": []}).json() == {"count": 0}
    with pytest.raises(InvalidQuery, match="ids: must be ids"):
        Editor(backend=backend).delete_dead_letters("lost-rings", "not a list")
    assert len(client.get("/api/dead-letters").json()["letters"]) == 2
