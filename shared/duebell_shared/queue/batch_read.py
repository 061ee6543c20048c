"""Reading many items with one call of DynamoDB, which gives back what it had no room to read.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from duebell_shared.errors import AwsUnavailable

from .batching import pauses
from .item_update import Item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["BatchRead"]

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

        Items that DynamoDB had no room to read are asked for again, after a pause that grows as long as none
        is read. Raises AwsUnavailable when the pauses are used up, and what botocore raises.
        """
        for first in range(0, len(keys), _MOST):
            yield from self._read(keys[first : first + _MOST])

    def _read(self, keys: Sequence[Item]) -> Iterator[Item]:
        left: Any = list(keys)
        waits = pauses()
        while left:
            asked: Any = {self._table: {"Keys": left, "ConsistentRead": True}}
            answer: Any = self._client.batch_get_item(RequestItems=asked)
            unread = answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
            if len(unread) < len(left):
                waits = pauses()
            left = unread
            yield from answer["Responses"].get(self._table, [])
            if left:
                if (pause := next(waits, None)) is None:
                    raise AwsUnavailable(f"DynamoDB, table {self._table!r}: no room to read, and none later")
                self._sleep(pause)
