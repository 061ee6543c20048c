"""The table over moto: what AWS refuses or does not answer, and whose session is used."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError

from duebell_shared.errors import AwsError, AwsRefused, AwsUnavailable
from duebell_shared.queue.changes import transact
from duebell_shared.queue.store import Store
from tests.shared.table_calls import SOON, client_of, store, verbs
from tests.support import NOON, Calls

__all__ = ["store"]


# What AWS refuses, or does not answer.


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


# Refused calls of a transaction, which the SDK may have made before without an answer.


PUT = {"Put": {"TableName": "trials", "Item": {"id": {"S": "one"}}}}


class Refusing:
    """A client whose calls are refused with this code, after so many tries of the SDK."""

    def __init__(self, code: str, retries: int) -> None:
        answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"RetryAttempts": retries}}
        self._error = ClientError(answer, "TransactWriteItems")

    def transact_write_items(self, **_: Any) -> None:
        raise self._error


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
