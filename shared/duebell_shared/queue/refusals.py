"""Errors of DynamoDB as duebell's own: refusals, and answers that leave the effect open.

If an answer is lost, the SDK tries again, and a conditional write finds its condition refused by itself. So a
refusal tells whether the SDK tried again. A status of 500 or above says as little as no answer.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.endpoints import way_out
from duebell_shared.errors import (
    AwsRefused,
    AwsUnavailable,
    DuebellError,
    IndexNotReady,
    NotDeployed,
    UnreadableTask,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: Refusals that another try may turn into success; None for a call that was not answered.
_PASSING = {
    None,
    "InternalServerError",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ThrottlingException",
    "TransactionConflictException",
    "TransactionInProgressException",
}

#: The error of a write that would make a full lane larger.
_FULL = "ItemCollectionSizeLimitExceededException"

#: Part of the message about an index that the table does not have. Only past-index may be missing.
_NO_INDEX = "does not have the specified index"

#: Part of the message about an index that the table was given just now.
_BACKFILLING = "backfilling global secondary index"

#: From this HTTP status on nothing was refused: DynamoDB failed, or something in front of it. Such an answer
#: may come without JSON; botocore then takes the bare status for its code.
_FAILED_IN_THE_SERVER = 500

#: The errors of a failed call.
_FAILED = (ClientError, BotoCoreError)


class Made:
    """The result of a conditional write and its answer; falsy when its condition did not hold.

    is_full  whether it was refused instead because its lane holds all that it may
    """

    def __init__(self, answer: Any = None, refusal: Exception | None = None) -> None:
        self._is_made = refusal is None
        self.answer = answer
        self.is_full = refusal is not None and _code_of(refusal) == _FULL
        self.was_retried = refusal is not None and bool(_metadata(refusal).get("RetryAttempts"))

    def __bool__(self) -> bool:
        return self._is_made


def try_write(write: Callable[[], Any]) -> Made:
    """Make this conditional write. Raises its errors, but for those that Made tells of."""
    try:
        return Made(write())
    except _FAILED as error:
        if _code_of(error) not in {"ConditionalCheckFailedException", _FULL}:
            raise
        return Made(refusal=error)


class calling:  # noqa: N801 (read as a function, and each call is made in one: a generator takes longer)
    """Turn errors of AWS into duebell's own; `id` is the task that an expression works on."""

    def __init__(self, table: str, client: "DynamoDBClient", *, id: str | None = None) -> None:
        self._table = table
        self._client = client
        self._id = id

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        if isinstance(error, _FAILED):
            raise self._as_ours(error) from error

    def _as_ours(self, error: Exception) -> DuebellError:
        what = f"DynamoDB, table {self._table!r}: {error}"
        match _code_of(error):
            case "ResourceNotFoundException":
                return NotDeployed(
                    f"there is no DynamoDB table {self._table!r} in {self._client.meta.region_name}: run "
                    f"`duebell deploy`, or set DUEBELL_TABLE and AWS_REGION to where it is"
                )
            case "ValidationException" if _NO_INDEX in str(error):
                return NotDeployed(
                    f"the table {self._table!r} has no past-index, which older versions did not make, so "
                    f"what has ended cannot be listed: `duebell deploy` adds it"
                )
            case "ValidationException" if _BACKFILLING in str(error):
                return IndexNotReady(
                    f"DynamoDB is still building the past-index of the table {self._table!r}, so what has "
                    f"ended cannot be listed yet: wait some minutes, for a large table hours, and repeat"
                )
            case "ValidationException" if self._id is not None:  # such as a counter that is no number
                return UnreadableTask(self._id, _response(error)["Error"].get("Message"))
            case code if code in _PASSING or _status_of(error) >= _FAILED_IN_THE_SERVER:
                return AwsUnavailable(what + way_out(error))
            case _:
                return AwsRefused(what)


def _response(error: BaseException) -> Any:
    return error.response if isinstance(error, ClientError) else {}


def _metadata(error: BaseException) -> dict[str, Any]:
    metadata: dict[str, Any] = _response(error).get("ResponseMetadata", {})
    return metadata


def _status_of(error: BaseException) -> int:
    status: int = _metadata(error).get("HTTPStatusCode", 0)
    return status


def _code_of(error: BaseException) -> str | None:
    code: str | None = _response(error).get("Error", {}).get("Code")
    return code
