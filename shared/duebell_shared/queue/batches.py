"""Reading and writing many items with one call of DynamoDB.

Writes are statements in PartiQL, 25 in one BatchExecuteStatement. Each has conditions of its own and costs
what a single write costs; a transaction would cost twice that, and one refusal would undo it all.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.batching.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.backoff import pauses
from duebell_shared.errors import AwsUnavailable, DuebellError

from .items import Item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

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
_FULL = "ItemCollectionSizeLimitExceeded"


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

    The statements that are throttled are tried again: the SDK does not do that, for their call has succeeded.
    Where batches are refused (by a policy, by an emulator that does not know them) none is sent for minutes.
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
            places = [place for place, one in answered.items() if _code_of(one) in _THROTTLED]
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
            if not _NOT_TAKEN.issuperset(map(_code_of, answer["Responses"])):
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
    code = _code_of(response)
    return Answer(is_made=code is None, item=response.get("Item"), is_full=code == _FULL)


def _is_sure(answer: Any) -> bool:
    """Tell whether every statement that is answered with an error was not made."""
    was_retried = bool(answer["ResponseMetadata"].get("RetryAttempts"))
    return not was_retried and "InternalServerError" not in map(_code_of, answer["Responses"])


def _code_of(response: Any) -> str | None:
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
