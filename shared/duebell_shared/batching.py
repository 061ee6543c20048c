"""Writing many items with one call of DynamoDB: statements in PartiQL, each under conditions of its own.

One BatchExecuteStatement takes 25 statements. Each is made or refused by itself, and costs what a PutItem or
an UpdateItem costs; a transaction would cost twice that, and one refusal undo it all. INSERT is refused when
its key is there, UPDATE when its item is not as its WHERE says.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.batching.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html
"""

import logging
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from .errors import AwsUnavailable
from .item_update import Item, ItemChange

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["CHANGE", "INSERT", "BatchWrite", "Written", "pauses"]

_LOG = logging.getLogger("duebell.batching")

#: Seconds at most before each further try of what was throttled: a partition has room again each second.
_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)

_T = TypeVar("_T")

#: A statement as DynamoDB's API has it, for the table of this name.
Form = Callable[[str, _T], dict[str, Any]]

#: What is answered where such statements are not understood, or not allowed: of the call, and of a statement.
_NOT_TAKEN = {
    "AccessDenied",
    "AccessDeniedException",
    "UnknownOperationException",
    "ValidationError",
    "ValidationException",
}


#: What is answered to a statement that DynamoDB has no room for at the moment, and that it did not make.
#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementError.html
_THROTTLED = {"ProvisionedThroughputExceeded", "RequestLimitExceeded", "ThrottlingError"}

#: What is answered to one that makes a lane larger which holds all that it may.
_FULL = "ItemCollectionSizeLimitExceeded"


class Written(NamedTuple):
    """What the calls for a batch did.

    made     which of the statements, in their order
    items    the items as they are then, where that was asked for
    is_sure  whether they made no other for certain
    no_room  the error of those that DynamoDB had no room for to the last try: each alone would fare no better
    full     those that would make an item larger in a lane that holds all that it may
    """

    made: list[bool]
    items: list[Any]
    is_sure: bool
    no_room: list[AwsUnavailable | None]
    full: list[bool]

    @classmethod
    def nothing(cls, count: int, *, is_sure: bool) -> Self:
        """None of so many was made; each is to be tried alone."""
        return cls([False] * count, [None] * count, is_sure, [None] * count, [False] * count)


class BatchWrite(Generic[_T]):
    """Writes to the table of this name, in statements of one kind. Thread-safe.

    Statements that are throttled are tried again after a growing pause, and only they. The SDK does not do
    that: the call that they were in has succeeded. Where such calls are refused (by a policy from before
    them, by a stand-in for AWS that knows none) they are not made again.
    """

    def __init__(
        self,
        table: str,
        client: "DynamoDBClient",
        forms: Sequence[Form[_T]],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`forms` are the ways to write a statement: the next is taken where one is refused."""
        self._table = table
        self._client = client
        self._forms = forms
        self._sleep = sleep

    def __call__(self, writes: Collection[_T]) -> Written | None:
        """Make those of the writes, 25 at most and of different keys, whose conditions hold.

        Nothing was written, for certain, when it returns None: such calls are not taken here. Raises what
        botocore raises; then any of them may be written.
        """
        if (first := self._first_answer(list(writes))) is None:
            return None
        form, answer = first
        progress = _Progress(list(writes))
        progress.take(answer)
        for pause in pauses():
            if not progress.throttled:
                break
            self._sleep(pause)
            try:
                progress.take(self._send(form, progress.left()))
            except (BotoCoreError, ClientError) as error:  # what was made before is not forgotten for it
                _LOG.info("table %r: throttled statements could not be tried again: %s", self._table, error)
                progress.is_sure = False
                break
        return progress.written(self._table)

    def _first_answer(self, writes: list[_T]) -> tuple[Form[_T], Any] | None:
        """What is answered to the first form that is taken here, and which that is; None if none is."""
        while forms := self._forms:
            try:
                answer = self._send(forms[0], writes)
            except ClientError as error:
                if error.response["Error"]["Code"] not in _NOT_TAKEN:
                    raise
                why: object = error
            except BotoCoreError:
                raise
            except Exception as error:  # noqa: BLE001 (a stand-in for AWS that trips over it, as moto does)
                why = repr(error)
            else:
                if not _NOT_TAKEN.issuperset(map(_code_of, answer["Responses"])):
                    return forms[0], answer
                why = answer["Responses"][0].get("Error")
            _LOG.info("table %r takes no such batches: %s", self._table, why)
            self._forms = forms[1:]
        return None

    def _send(self, form: Form[_T], writes: list[_T]) -> Any:
        statements: Any = [form(self._table, write) for write in writes]
        return self._client.batch_execute_statement(Statements=statements)


class _Progress(Generic[_T]):
    """How far the writes of one batch have come.

    throttled  the places of those that are to be tried again
    is_sure    whether no other than those that were made is, for certain
    """

    def __init__(self, writes: list[_T]) -> None:
        self._writes = writes
        self._made = [False] * len(writes)
        self._items: list[Any] = [None] * len(writes)
        self._full = [False] * len(writes)
        self.throttled = list(range(len(writes)))
        self.is_sure = True

    def left(self) -> list[_T]:
        """The writes that are to be tried again."""
        return [self._writes[place] for place in self.throttled]

    def take(self, answer: Any) -> None:
        """Take in what was answered to those that were left."""
        answered = dict(zip(self.throttled, answer["Responses"], strict=True))
        for place, response in answered.items():
            self._made[place] = _code_of(response) is None
            self._items[place] = response.get("Item")
            self._full[place] = _code_of(response) == _FULL
        was_retried = bool(answer["ResponseMetadata"].get("RetryAttempts"))
        errors = {_code_of(response) for response in answered.values()}
        self.is_sure = self.is_sure and not was_retried and "InternalServerError" not in errors
        self.throttled = [place for place, one in answered.items() if _code_of(one) in _THROTTLED]

    def written(self, table: str) -> Written:
        """What came of them all."""
        no_room: list[AwsUnavailable | None] = [None] * len(self._writes)
        for place in self.throttled:
            no_room[place] = AwsUnavailable(
                f"DynamoDB, table {table!r}: throttled, and so were further tries"
            )
        return Written(self._made, self._items, self.is_sure, no_room, self._full)


def pauses() -> Iterator[float]:
    """Seconds to wait before further tries of what was throttled: some 2.3 in all, by chance."""
    for longest in _PAUSES:
        yield random.uniform(longest / 2, longest)


def _code_of(response: Any) -> str | None:
    """The code of a statement's error; None if it was made."""
    code: str | None = response.get("Error", {}).get("Code")
    return code


def _with_the_item(table: str, item: Item) -> dict[str, Any]:
    """The shortest for both sides; the documentation shows it nowhere, so there is the other."""
    return {"Statement": f'INSERT INTO "{table}" VALUE ?', "Parameters": [{"M": item}]}


def _with_each_attribute(table: str, item: Item) -> dict[str, Any]:
    names = ",".join(f"'{name}':?" for name in item)
    return {"Statement": f'INSERT INTO "{table}" VALUE {{{names}}}', "Parameters": list(item.values())}


def _as_change(table: str, change: ItemChange) -> dict[str, Any]:
    return change.statement(table)


#: Writes items whose keys are free.
INSERT: Sequence[Form[Item]] = (_with_the_item, _with_each_attribute)

#: Changes and deletes items that are as they are expected.
CHANGE: Sequence[Form[ItemChange]] = (_as_change,)
