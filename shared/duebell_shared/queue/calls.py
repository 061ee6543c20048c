"""Calls of DynamoDB: their errors as duebell's own, and many items read or written with one call.

If an answer is lost, the SDK tries again, and a conditional write can be refused because its own first try
succeeded. So an outcome tells whether the SDK tried again. A status of 500 or above counts as no answer.

Many writes are statements in PartiQL, 25 in one BatchExecuteStatement. Each has conditions of its own and
costs as much as a single write. A transaction would cost twice that, and one refusal would undo it all.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.batching.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.aws_session import way_out
from duebell_shared.backoff import pauses
from duebell_shared.errors import (
    AwsRefused,
    AwsUnavailable,
    DuebellError,
    IndexNotReady,
    NotDeployed,
    UnreadableTask,
)
from duebell_shared.queue.items import Item

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

#: The error of a write whose condition does not hold.
_REFUSED = "ConditionalCheckFailedException"

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


class Outcome(NamedTuple):
    """The outcome of a conditional write, or of a statement in a batch. `Outcome()` is for one not sent.

    is_made     whether it was made
    is_refused  whether its condition did not hold
    is_full     whether it was refused because its lane holds all that it may
    is_sure     False if it is not known whether an earlier try has made it
    item        the item after the write, if the write asked for it
    size        DynamoDB's estimate of the size of its lane
    error       the error of a statement that is not tried alone, such as one throttled to the end
    """

    is_made: bool = False
    is_refused: bool = False
    is_full: bool = False
    is_sure: bool = True
    item: Item | None = None
    size: Mapping[str, Any] | None = None
    error: DuebellError | None = None


def try_write(write: Callable[..., Any], **arguments: Any) -> Outcome:
    """Make this conditional write of one item. Raises all errors except refusals: the outcome has them."""
    try:
        answer = write(**arguments)
    except _FAILED as error:
        code = _code_of(error)
        if code not in {_REFUSED, _FULL}:
            raise
        is_sure = not _metadata(error).get("RetryAttempts")
        return Outcome(is_refused=code == _REFUSED, is_full=code == _FULL, is_sure=is_sure)
    size = answer.get("ItemCollectionMetrics")
    return Outcome(is_made=True, item=answer.get("Attributes"), size=size)


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
                    f"the table {self._table!r} has no past-index, so what has ended cannot be listed: "
                    f"create it by the command in docs/operations.md, beside past_index"
                )
            case "ValidationException" if _BACKFILLING in str(error):
                return IndexNotReady(
                    f"DynamoDB is still building the past-index of the table {self._table!r}, so what has "
                    f"ended cannot be listed yet: wait some minutes, for a large table hours, and repeat"
                )
            case "ValidationException" if self._id is not None:  # such as a counter that is no number
                return UnreadableTask(self._id, _response(error)["Error"].get("Message"))
            case code if (
                code in _PASSING or _metadata(error).get("HTTPStatusCode", 0) >= _FAILED_IN_THE_SERVER
            ):
                return AwsUnavailable(what + way_out(error))
            case _:
                return AwsRefused(what)


def _response(error: BaseException) -> Any:
    return error.response if isinstance(error, ClientError) else {}


def _metadata(error: BaseException) -> dict[str, Any]:
    metadata: dict[str, Any] = _response(error).get("ResponseMetadata", {})
    return metadata


def _code_of(error: BaseException) -> str | None:
    code: str | None = _response(error).get("Error", {}).get("Code")
    return code


_LOG = logging.getLogger("duebell.batches")

#: Seconds without batches after they were refused.
_REST = 300

#: The errors of calls and statements if batches are not allowed, or unknown, as to an emulator.
_NOT_TAKEN = {
    "AccessDenied",
    "AccessDeniedException",
    "UnknownOperationException",
    "ValidationError",
    "ValidationException",
}

#: The errors of a statement that was throttled, and so was not made.
#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementError.html
_THROTTLED = {"ProvisionedThroughputExceeded", "RequestLimitExceeded", "ThrottlingError"}

#: The errors of a statement whose condition does not hold.
_REFUSED_IN_BATCH = {"ConditionalCheckFailed", "DuplicateItem"}

#: The error of a statement that would make a full lane larger.
_FULL_IN_BATCH = "ItemCollectionSizeLimitExceeded"


class BatchWrite:
    """Conditional writes in statements of one kind. Thread-safe.

    Throttled statements are tried again. The SDK does not try them again, because their call has succeeded.
    After a policy or an emulator has refused a batch, no batch is sent for minutes.
    """

    def __init__(
        self,
        table: str,
        client: "DynamoDBClient",
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._client = client
        self._sleep = sleep
        self._clock = clock
        self._refusals = 0  # in a row
        self._rests_until: float | None = None

    def __call__(self, statements: Sequence[Any]) -> list[Outcome] | None:
        """The outcomes of the statements, 25 at most and for different keys.

        Returns None where batches are refused: nothing was written. Raises botocore's errors: then any write
        may have been made.
        """
        if (response := self._first_answer(statements)) is None:
            return None
        outcomes = [Outcome()] * len(statements)
        places, waits = list(range(len(statements))), throttle_pauses()
        was_retried = False  # an unanswered try may have made statements that the next try finds throttled
        while True:
            was_retried |= bool(response["ResponseMetadata"].get("RetryAttempts"))
            answers = dict(zip(places, response["Responses"], strict=True))
            for place, answer in answers.items():
                outcomes[place] = _outcome(answer, was_retried=was_retried)
            places = [place for place, answer in answers.items() if _code_in(answer) in _THROTTLED]
            if not places or (pause := next(waits, None)) is None:
                break
            self._sleep(pause)
            try:
                response = self._send([statements[place] for place in places])
            except _FAILED as error:  # the statements that were made stay made
                _LOG.info("table %r: throttled statements could not be tried again: %s", self._table, error)
                break
        throttled = AwsUnavailable(f"DynamoDB, table {self._table!r}: throttled, and so were further tries")
        for place in places:
            outcomes[place] = Outcome(error=throttled)
        return outcomes

    def _first_answer(self, statements: Sequence[Any]) -> Any:
        """The answer to a first try; None where batches are refused.

        A single refusal may be due to a bad statement: batches rest after the second.
        """
        if self._rests_until is not None and self._clock() < self._rests_until:
            return None
        try:
            answer = self._send(statements)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _NOT_TAKEN:
                raise
            why: object = error
        except BotoCoreError:
            raise
        except Exception as error:  # noqa: BLE001 (an emulator that fails at it, as moto does)
            why = repr(error)
        else:
            if not _NOT_TAKEN.issuperset(map(_code_in, answer["Responses"])):
                self._refusals = 0
                return answer
            why = answer["Responses"][0].get("Error")
        _LOG.info("table %r refused a batch: %s", self._table, why)
        self._refusals += 1
        if self._refusals > 1:
            self._rests_until = self._clock() + _REST
        return None

    def _send(self, statements: Sequence[Any]) -> Any:
        return self._client.batch_execute_statement(Statements=statements)


def _outcome(answer: Any, *, was_retried: bool) -> Outcome:
    code = _code_in(answer)
    return Outcome(
        is_made=code is None,
        is_refused=code in _REFUSED_IN_BATCH,
        is_full=code == _FULL_IN_BATCH,
        is_sure=not was_retried and code != "InternalServerError",
        item=answer.get("Item"),
    )


def throttle_pauses() -> Iterator[float]:
    """Seconds to wait before further tries of what was throttled: a partition has units again each second."""
    return pauses(0.1, 1.6, tries=5)


def _code_in(response: Any) -> str | None:
    code: str | None = response.get("Error", {}).get("Code")
    return code


#: Keys of one BatchGetItem, by DynamoDB's limit.
KEYS_AT_ONCE = 100


class BatchRead:
    """Strongly consistent reads of many items of the table of this name."""

    def __init__(
        self, table: str, client: "DynamoDBClient", *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._table = table
        self._client = client
        self._sleep = sleep

    def __call__(self, keys: Sequence[Item]) -> Iterator[Item]:
        """The items with these keys that exist, in no order. The keys must differ.

        Asks again for items that DynamoDB had no capacity to read. Raises AwsUnavailable after the last try.
        """
        for first in range(0, len(keys), KEYS_AT_ONCE):
            yield from self._read(keys[first : first + KEYS_AT_ONCE])

    def _read(self, keys: Sequence[Item]) -> Iterator[Item]:
        left: Any = list(keys)
        waits = throttle_pauses()
        while left:
            asked: Any = {self._table: {"Keys": left, "ConsistentRead": True}}
            answer: Any = self._client.batch_get_item(RequestItems=asked)
            unread = answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
            if len(unread) < len(left):
                waits = throttle_pauses()
            left = unread
            yield from answer["Responses"].get(self._table, [])
            if left:
                if (pause := next(waits, None)) is None:
                    raise AwsUnavailable(
                        f"DynamoDB, table {self._table!r}: too little capacity to read all keys, also later"
                    )
                self._sleep(pause)
