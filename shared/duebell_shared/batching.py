"""Inserting many items with one call of DynamoDB: by PartiQL's INSERT, which never replaces an item.

One BatchExecuteStatement takes 25 statements. Each is made or refused by itself, is refused when its key is
there, and costs what a PutItem costs; a transaction would cost twice that, and one taken key undo it all.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.multiplestatements.batching.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html
"""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["BatchInsert", "Inserted", "Item"]

_LOG = logging.getLogger("duebell.inserting")

#: An item as DynamoDB's API has it: each attribute by its name, under its type.
Item = Mapping[str, Mapping[str, Any]]

#: What is answered where such statements are not understood, or not allowed: of the call, and of a statement.
_NOT_TAKEN = {
    "AccessDenied",
    "AccessDeniedException",
    "UnknownOperationException",
    "ValidationError",
    "ValidationException",
}


class Inserted(NamedTuple):
    """What one call did: which of the items it wrote, in order; and whether it wrote no other for certain."""

    made: list[bool]
    is_sure: bool


class BatchInsert:
    """Inserts items into the table of this name. Thread-safe.

    Where such calls are refused (by an editor policy from before them, by a stand-in for AWS that knows none)
    they are not made again.
    """

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client
        self._forms = _FORMS

    def __call__(self, items: Collection[Item]) -> Inserted | None:
        """Write those of the items, 25 at most and of different keys, whose keys are free.

        Nothing was written, for certain, when it returns None: such calls are not taken here. Raises what
        botocore raises; then any of them may be written.
        """
        while forms := self._forms:
            statements: Any = [forms[0](self._table, item) for item in items]
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
                errors = [each.get("Error", {}).get("Code") for each in answer["Responses"]]
                if not _NOT_TAKEN.issuperset(errors):
                    was_retried = bool(answer["ResponseMetadata"].get("RetryAttempts"))
                    is_sure = not was_retried and "InternalServerError" not in errors
                    return Inserted([error is None for error in errors], is_sure)
                why = answer["Responses"][0].get("Error")
            _LOG.info("table %r takes no such batches: %s", self._table, why)
            self._forms = forms[1:]
        return None


def _with_the_item(table: str, item: Item) -> dict[str, Any]:
    """The shortest for both sides; the documentation shows it nowhere, so there is the other."""
    return {"Statement": f'INSERT INTO "{table}" VALUE ?', "Parameters": [{"M": item}]}


def _with_each_attribute(table: str, item: Item) -> dict[str, Any]:
    names = ",".join(f"'{name}':?" for name in item)
    return {"Statement": f'INSERT INTO "{table}" VALUE {{{names}}}', "Parameters": list(item.values())}


#: How a statement can be written; the next is taken where one is refused.
_FORMS: tuple[Callable[[str, Item], dict[str, Any]], ...] = (_with_the_item, _with_each_attribute)
