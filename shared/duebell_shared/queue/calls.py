"""Calls of DynamoDB: their errors as duebell's own, and many items read or written with one call.

If an answer is lost, the SDK tries again, and a conditional write finds its condition refused by itself. So a
refusal tells whether the SDK tried again. A status of 500 or above says as little as no answer.

Many writes are statements in PartiQL, 25 in one BatchExecuteStatement. Each has conditions of its own and
costs as much as a single write. A transaction would cost twice that, and one refusal would undo it all.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.batching.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

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

_T = TypeVar("_T")

#: The errors of calls and of statements where batches are unknown, as to an emulator, or not allowed.
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

#: The error of a statement that would make a full lane larger.
_FULL_IN_BATCH = "ItemCollectionSizeLimitExceeded"


class Answer(NamedTuple):
    """The answer to one statement.

    is_made    whether it was made
    item       the item as it is then, where that was asked for
    is_full    whether it was refused because its lane is full
    error      the error of a statement that was throttled to the last try, and is not tried alone
    """

    is_made: bool = False
    item: Item | None = None
    is_full: bool = False
    error: DuebellError | None = None


class Written(NamedTuple):
    """The answers to a batch of statements, in their order.

    is_sure  True if all statements that are not answered as made were certainly not made
    """

    answers: list[Answer]
    is_sure: bool

    @classmethod
    def nothing(cls, count: int, *, is_sure: bool = True, error: DuebellError | None = None) -> Self:
        """The answers to statements that were not made. Without an error, each is to be tried alone."""
        return cls([Answer(error=error)] * count, is_sure)


class BatchWrite(Generic[_T]):
    """Writes to the table of this name, in statements of one kind. Thread-safe.

    Throttled statements are tried again. The SDK does not try them again, because their call has succeeded.
    After a policy or an emulator has refused a batch, no batch is sent for minutes.
    """

    def __init__(
        self,
        table: str,
        client: "DynamoDBClient",
        statement: Callable[[str, _T], dict[str, Any]],
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._client = client
        self._statement = statement
        self._sleep = sleep
        self._clock = clock
        self._refusals = 0  # in a row
        self._rests_until: float | None = None

    def __call__(self, writes: Collection[_T]) -> Written | None:
        """Make those of the writes, 25 at most and of different keys, whose conditions hold.

        Returns None where batches are refused: nothing was written. Raises botocore's errors: any may be
        written.
        """
        writes = list(writes)
        if (response := self._first_answer(writes)) is None:
            return None
        answers: dict[int, Answer] = {}
        places, is_sure, waits = list(range(len(writes))), True, throttle_pauses()
        while True:
            answered = dict(zip(places, response["Responses"], strict=True))
            answers |= {place: _answer(one) for place, one in answered.items()}
            is_sure = is_sure and _is_sure(response)
            places = [place for place, one in answered.items() if _code_in(one) in _THROTTLED]
            if not places or (pause := next(waits, None)) is None:
                break
            self._sleep(pause)
            try:
                response = self._send([writes[place] for place in places])
            except (BotoCoreError, ClientError) as error:  # what was made before is still made
                _LOG.info("table %r: throttled statements could not be tried again: %s", self._table, error)
                is_sure = False
                break
        throttled = AwsUnavailable(f"DynamoDB, table {self._table!r}: throttled, and so were further tries")
        answers |= dict.fromkeys(places, Answer(error=throttled))
        return Written([answers[place] for place in range(len(writes))], is_sure)

    def _first_answer(self, writes: list[_T]) -> Any:
        """The answer to a first try; None where batches are refused.

        One refusal may be due to a bad statement.
        """
        if self._rests_until is not None and self._clock() < self._rests_until:
            return None
        try:
            answer = self._send(writes)
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

    def _send(self, writes: list[_T]) -> Any:
        statements: Any = [self._statement(self._table, write) for write in writes]
        return self._client.batch_execute_statement(Statements=statements)


def throttle_pauses() -> Iterator[float]:
    """Seconds to wait before further tries of what was throttled: a partition has units again each second."""
    return pauses(0.1, 1.6, tries=5)


def _answer(response: Any) -> Answer:
    code = _code_in(response)
    return Answer(is_made=code is None, item=response.get("Item"), is_full=code == _FULL_IN_BATCH)


def _is_sure(answer: Any) -> bool:
    """Tell whether every statement that is answered with an error was not made."""
    was_retried = bool(answer["ResponseMetadata"].get("RetryAttempts"))
    return not was_retried and "InternalServerError" not in map(_code_in, answer["Responses"])


def _code_in(response: Any) -> str | None:
    code: str | None = response.get("Error", {}).get("Code")
    return code


def insertion(table: str, item: Item) -> dict[str, Any]:
    """The statement that writes an item whose key is free."""
    names = ",".join(f"'{name}':?" for name in item)
    return {"Statement": f'INSERT INTO "{table}" VALUE {{{names}}}', "Parameters": list(item.values())}


#: Keys that one call takes.
_MOST = 100


class BatchRead:
    """Strongly consistent reads of many items of the table of this name."""

    def __init__(
        self, table: str, client: "DynamoDBClient", *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._table = table
        self._client = client
        self._sleep = sleep

    def __call__(self, keys: Sequence[Item]) -> Iterator[Item]:
        """The items of these different keys, those that are there, in no order.

        Asks again for those that DynamoDB had no units to read. Raises AwsUnavailable when the pauses are
        used up.
        """
        for first in range(0, len(keys), _MOST):
            yield from self._read(keys[first : first + _MOST])

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
