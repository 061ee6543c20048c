"""Writing many items with one call of DynamoDB: statements in PartiQL, each under conditions of its own.

One BatchExecuteStatement takes 25 statements. Each is made or refused by itself, and costs what a PutItem or
an UpdateItem costs; a transaction would cost twice that, and one refusal undo it all. INSERT is refused when
its key is there, UPDATE when its item is not as its WHERE says.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.batching.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html
"""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from .item_update import Item, ItemUpdate

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["INSERT", "UPDATE", "BatchWrite", "Written"]

_LOG = logging.getLogger("duebell.batching")

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


class Written(NamedTuple):
    """What one call did.

    made     which of the statements, in their order
    items    the items as they are then, where that was asked for
    is_sure  whether it made no other for certain
    """

    made: list[bool]
    items: list[Any]
    is_sure: bool


class BatchWrite(Generic[_T]):
    """Writes to the table of this name, in statements of one kind. Thread-safe.

    Where such calls are refused (by a policy from before them, by a stand-in for AWS that knows none) they
    are not made again.
    """

    def __init__(self, table: str, client: "DynamoDBClient", forms: Sequence[Form[_T]]) -> None:
        """`forms` are the ways to write a statement: the next is taken where one is refused."""
        self._table = table
        self._client = client
        self._forms = forms

    def __call__(self, writes: Collection[_T]) -> Written | None:
        """Make those of the writes, 25 at most and of different keys, whose conditions hold.

        Nothing was written, for certain, when it returns None: such calls are not taken here. Raises what
        botocore raises; then any of them may be written.
        """
        while forms := self._forms:
            statements: Any = [forms[0](self._table, write) for write in writes]
            try:
                answer = self._client.batch_execute_statement(Statements=statements)
            except ClientError as error:
                if error.response["Error"]["Code"] not in _NOT_TAKEN:
                    raise
                why: object = error
            except BotoCoreError:
                raise
            except Exception as error:  # noqa: BLE001 (a stand-in for AWS that trips over it, as moto does)
                why = repr(error)
            else:
                responses = answer["Responses"]
                errors = [each.get("Error", {}).get("Code") for each in responses]
                if not _NOT_TAKEN.issuperset(errors):
                    was_retried = bool(answer["ResponseMetadata"].get("RetryAttempts"))
                    is_sure = not was_retried and "InternalServerError" not in errors
                    items = [each.get("Item") for each in responses]
                    return Written([error is None for error in errors], items, is_sure)
                why = responses[0].get("Error")
            _LOG.info("table %r takes no such batches: %s", self._table, why)
            self._forms = forms[1:]
        return None


def _with_the_item(table: str, item: Item) -> dict[str, Any]:
    """The shortest for both sides; the documentation shows it nowhere, so there is the other."""
    return {"Statement": f'INSERT INTO "{table}" VALUE ?', "Parameters": [{"M": item}]}


def _with_each_attribute(table: str, item: Item) -> dict[str, Any]:
    names = ",".join(f"'{name}':?" for name in item)
    return {"Statement": f'INSERT INTO "{table}" VALUE {{{names}}}', "Parameters": list(item.values())}


def _as_update(table: str, update: ItemUpdate) -> dict[str, Any]:
    return update.statement(table)


#: Writes items whose keys are free.
INSERT: Sequence[Form[Item]] = (_with_the_item, _with_each_attribute)

#: Changes items that are as they are expected.
UPDATE: Sequence[Form[ItemUpdate]] = (_as_update,)
