"""The call of TransactWriteItems, and the reading of its answer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from duebell_shared.errors import AwsRefused, AwsUnavailable, ItemRefusal

from .transactions import Other, TaskWrite, Transacted

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["transact"]

_CANCELLED = "TransactionCanceledException"

#: In the place of a reason: this item could have been written.
_NO_REASON = "None"


def transact(
    client: "DynamoDBClient", table: str, writes: Sequence[TaskWrite | Other], token: str
) -> Transacted:
    """Make these writes in one transaction, those of tasks in this table. Raises what botocore raises.

    Raises AwsRefused when a table is not there: it may be one of the user's. Raises AwsUnavailable for a
    refusal of another try by the SDK: the one before it may be committed.
    """
    items: Any = [write.item(table) if isinstance(write, TaskWrite) else write for write in writes]
    try:
        client.transact_write_items(TransactItems=items, ClientRequestToken=token)
    except ClientError as error:
        answer: Any = error.response
        code = answer.get("Error", {}).get("Code")
        was_retried = bool(answer.get("ResponseMetadata", {}).get("RetryAttempts"))
        if code != _CANCELLED and was_retried:
            raise AwsUnavailable(f"a try was not answered, and another one was refused: {error}") from error
        if code == "ResourceNotFoundException":
            names = sorted({write["TableName"] for item in items for write in item.values()})
            where = client.meta.region_name
            raise AwsRefused(
                f"one of the tables {', '.join(names)} is not in {where}, or not active"
            ) from error
        if code != _CANCELLED:
            raise
        return Transacted(
            refusals=_refusals(answer),
            is_sure=not was_retried,
        )
    return Transacted()


def _refusals(answer: Any) -> tuple[ItemRefusal, ...]:
    """The reasons of a cancelled transaction; one of no item if the answer has none."""
    reasons = enumerate(answer.get("CancellationReasons", ()))
    refusals = tuple(
        ItemRefusal(
            index=index,
            code=reason["Code"],
            message=reason.get("Message") or "",
            item=reason.get("Item") or None,
        )
        for index, reason in reasons
        if reason.get("Code", _NO_REASON) != _NO_REASON
    )
    said = answer["Error"].get("Message") or ""
    return refusals or (ItemRefusal(index=0, code=_CANCELLED, what="the transaction", message=said),)
