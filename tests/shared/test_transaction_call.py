"""Refused calls of a transaction, which the SDK may have made before without an answer."""

from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from duebell_shared.errors import AwsUnavailable
from duebell_shared.queue.transactions import transact

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
