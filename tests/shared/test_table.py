"""The table over moto: what AWS refuses or does not answer, and whose session is used."""

from types import SimpleNamespace
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsError, AwsRefused, AwsUnavailable, InvalidSettings, NotDeployed
from duebell_shared.queue.changes import transact
from duebell_shared.queue.store import Store
from duebell_shared.settings import Settings
from tests.shared.table_calls import KEY, SOON, client_of, store, task, verbs
from tests.support import NOON, Calls

__all__ = ["store"]


# What AWS refuses, or does not answer.


def test_a_table_that_is_not_there_is_said_with_the_way_out(session: boto3.Session) -> None:
    missing = Backend.connect(Settings(table="other"), session).store
    for verb in verbs(missing):
        with pytest.raises(NotDeployed) as raised:
            verb()
        assert str(raised.value) == (
            "there is no DynamoDB table 'other' in eu-central-1: run `duebell deploy`, "
            "or set DUEBELL_TABLE and AWS_REGION to where it is"
        )


def refuse(store: Store, code: str, *, status: int = 400, call: str = "") -> None:
    """From now on DynamoDB answers each call, or each of this name, with that error."""

    def answer(**_: Any) -> tuple[Any, dict[str, Any]]:
        error = {"Code": code, "Message": "so it is"}
        answered = {"Error": error, "ResponseMetadata": {"HTTPStatusCode": status}}
        return SimpleNamespace(status_code=status, headers={}), answered

    client_of(store).meta.events.register(f"before-call.dynamodb{call}", answer)


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, "AccessDeniedException", AwsRefused),
        (400, "ExpiredTokenException", AwsRefused),
        (400, "ThrottlingException", AwsUnavailable),
        (400, "ProvisionedThroughputExceededException", AwsUnavailable),
        (400, "InternalServerError", AwsUnavailable),
        # A load balancer that fails: without JSON, the SDK makes a code of the status
        (503, "503", AwsUnavailable),
        (504, "", AwsUnavailable),
    ],
)
def test_what_dynamodb_answers_is_an_error_of_ours(
    store: Store, status: int, code: str, expected: type[AwsError]
) -> None:
    refuse(store, code, status=status)
    for verb in verbs(store):
        with pytest.raises(expected, match=r"^DynamoDB, table 'duebell': .*so it is"):
            verb()


def test_who_may_not_read_many_at_once_reads_one_by_one(store: Store, calls: Calls) -> None:
    assert store.insert(task())
    calls.clear()
    refuse(store, "AccessDeniedException", call=".BatchGetItem")
    assert store.get_many([KEY, KEY._replace(id="other")]) == {"one": task()}
    assert calls["GetItem"] == 2


@pytest.mark.parametrize("timeout", [ConnectTimeoutError, ReadTimeoutError])
def test_what_dynamodb_does_not_answer_is_unavailable(
    store: Store, timeout: type[ReadTimeoutError | ConnectTimeoutError]
) -> None:
    def happen(**_: Any) -> None:
        raise timeout(endpoint_url="https://dynamodb")

    client_of(store).meta.events.register("before-call.dynamodb", happen)
    for verb in verbs(store):
        with pytest.raises(AwsUnavailable, match=r"^DynamoDB, table 'duebell': .*imeout"):
            verb()


def test_bounds_that_dynamodb_refuses_are_not_asked_for(store: Store, calls: Calls) -> None:
    # moto takes a BETWEEN whose bounds are the wrong way round; DynamoDB answers with a ValidationException.
    assert list(store.queued(0, after=SOON, before=NOON)) == []
    assert not calls
    assert list(store.queued(0, after=SOON, before=SOON)) == []
    assert calls == {"Query": 1}


# The caller's own.


def test_the_callers_session_is_used(session: boto3.Session, calls: Calls) -> None:
    store = Backend.connect(Settings(), session).store
    assert client_of(store).meta.region_name == session.region_name
    for verb in verbs(store):
        calls.clear()
        verb()
        assert calls.total() >= 1


def test_without_a_region_nothing_can_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(InvalidSettings, match="AWS_REGION: is not set: name the region that duebell is"):
        Backend.connect(Settings())


def test_an_aws_setting_that_cannot_be_right_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "nowhere")
    with pytest.raises(InvalidSettings, match="AWS settings: Invalid endpoint: nowhere"):
        Backend.connect(Settings())


def test_making_a_backend_makes_no_call(session: boto3.Session, calls: Calls) -> None:
    Backend.connect(Settings(table="other"), session)
    assert not calls


# Refused calls of a transaction, which the SDK may have made before without an answer.


PUT = {"Put": {"TableName": "trials", "Item": {"id": {"S": "one"}}}}


class Refusing:
    """A client whose calls are refused with this code, after so many tries of the SDK."""

    def __init__(self, code: str, retries: int) -> None:
        answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"RetryAttempts": retries}}
        self._error = ClientError(answer, "TransactWriteItems")

    def transact_write_items(self, **_: Any) -> None:
        raise self._error


def test_a_refusal_of_the_first_try_is_raised_as_it_is() -> None:
    with pytest.raises(ClientError):
        transact(cast(Any, Refusing("ExpiredTokenException", 0)), "queue", [PUT], "token")


@pytest.mark.parametrize("code", ["ExpiredTokenException", "ResourceNotFoundException"])
def test_a_refusal_of_another_try_does_not_say_that_nothing_was_written(code: str) -> None:
    with pytest.raises(AwsUnavailable, match="a try was not answered"):
        transact(cast(Any, Refusing(code, 1)), "queue", [PUT], "token")


@pytest.mark.parametrize("retries", [0, 1])
def test_a_cancellation_tells_whether_it_is_sure(retries: int) -> None:
    client: Any = Refusing("TransactionCanceledException", retries)
    transacted = transact(client, "queue", [PUT], "token")
    assert transacted.refusals
    assert transacted.is_sure is (retries == 0)
