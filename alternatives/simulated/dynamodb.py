"""DynamoDB: tables with one key, an index by time, expiry, and a stream."""

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .manners import OLDEST_RECORD
from .refusals import refusal

if TYPE_CHECKING:
    from .account import Account

__all__ = ["DynamoDb"]

_BY_TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}

#: Seconds between two tries of a batch, at most.
_LONGEST_PAUSE = 60.0


class _Table:
    def __init__(self, *, has_index: bool) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.expires: str | None = None
        self.has_index = has_index
        self.streams: list[_Stream] = []


class _Stream:
    """Records for one function, in one shard: a batch is tried again until it succeeds or is too old."""

    def __init__(self, account: "Account", function: str, most: int) -> None:
        self._account = account
        self._function = function
        self._most = most
        self._records: list[tuple[datetime, dict[str, Any]]] = []
        self._is_running = False
        self._tries = 0

    def put(self, record: dict[str, Any]) -> None:
        self._records.append((self._account.world.now, record))
        if not self._is_running:
            self._is_running = True
            self._account.world.after(self._account.manners.record(self._account.random), self._deliver)

    def _deliver(self) -> None:
        oldest = self._account.world.now - OLDEST_RECORD
        self._records = [each for each in self._records if each[0] > oldest]
        batch = self._records[: self._most]
        if not batch:
            self._is_running = False
            return

        def ended(has_succeeded: bool) -> None:
            if has_succeeded:
                del self._records[: len(batch)]
                self._tries = 0
            else:
                self._tries += 1
            pause = min(2.0 ** min(self._tries, 10), _LONGEST_PAUSE) if self._tries else 0.25
            self._account.world.after(pause, self._deliver)

        self._account.functions.run(self._function, {"Records": [record for _, record in batch]}, ended)


class DynamoDb:
    """Tables by name."""

    def __init__(self, account: "Account") -> None:
        self._account = account
        self._tables: dict[str, _Table] = {}

    def create_table(self, TableName: str, **given: Any) -> dict[str, Any]:
        if TableName in self._tables:
            raise refusal("ResourceInUseException", f"the table {TableName} is there")
        self._tables[TableName] = _Table(has_index="GlobalSecondaryIndexes" in given)
        return {}

    def describe_table(self, TableName: str) -> dict[str, Any]:
        self._table(TableName)
        return {"Table": {"LatestStreamArn": f"arn:aws:dynamodb:us-east-1:000000000000:table/{TableName}"}}

    def delete_table(self, TableName: str) -> dict[str, Any]:
        self._table(TableName).items.clear()
        del self._tables[TableName]
        return {}

    def describe_time_to_live(self, TableName: str) -> dict[str, Any]:
        status = "ENABLED" if self._table(TableName).expires else "DISABLED"
        return {"TimeToLiveDescription": {"TimeToLiveStatus": status}}

    def update_time_to_live(self, TableName: str, TimeToLiveSpecification: dict[str, Any]) -> dict[str, Any]:
        self._table(TableName).expires = TimeToLiveSpecification["AttributeName"]
        return {}

    def listen(self, arn: str, function: str, most: int) -> None:
        """Have the stream of the table invoke this function."""
        self._table(arn.rpartition("/")[2]).streams.append(_Stream(self._account, function, most))

    def put_item(self, TableName: str, Item: dict[str, Any]) -> dict[str, Any]:
        table = self._table(TableName)
        old = table.items.get(Item["id"]["S"])
        table.items[Item["id"]["S"]] = Item
        self._bill_write(table, Item)
        self._tell(table, old, Item)
        if table.expires and table.expires in Item:
            expires = datetime.fromtimestamp(float(Item[table.expires]["N"]), UTC)
            deleted = max(expires, self._account.world.now) + timedelta(
                seconds=self._account.manners.ttl(self._account.random)
            )
            self._account.world.at(deleted, lambda: self._expire(table, Item))
        return {}

    def delete_item(self, TableName: str, Key: dict[str, Any]) -> dict[str, Any]:
        table = self._table(TableName)
        old = table.items.pop(Key["id"]["S"], None)
        self._bill_write(table, old or {})
        if old:
            self._tell(table, old, None)
        return {}

    def scan(self, TableName: str) -> dict[str, Any]:
        return self._answer(list(self._table(TableName).items.values()))

    def query(self, TableName: str, ExpressionAttributeValues: dict[str, Any], **_: Any) -> dict[str, Any]:
        now = ExpressionAttributeValues[":now"]["S"]
        found = [item for item in self._table(TableName).items.values() if item["due"]["S"] <= now]
        return self._answer(sorted(found, key=lambda item: str(item["due"]["S"])))

    def _answer(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        read = sum(_size(item) for item in items)
        self._account.billed["read"] += max(1, math.ceil(read / 4096)) / 2
        return {"Items": items}

    def _table(self, name: str) -> _Table:
        if name not in self._tables:
            raise refusal("ResourceNotFoundException", f"there is no table {name}")
        return self._tables[name]

    def _bill_write(self, table: _Table, item: dict[str, Any]) -> None:
        units = max(1, math.ceil(_size(item) / 1024))
        self._account.billed["write"] += units * (2 if table.has_index else 1)

    def _expire(self, table: _Table, item: dict[str, Any]) -> None:
        """Delete an item that has expired, if it is still the one that was put; AWS bills nothing for it."""
        if table.items.get(item["id"]["S"]) is item:
            del table.items[item["id"]["S"]]
            self._tell(table, item, None, by=_BY_TTL)

    def _tell(
        self,
        table: _Table,
        old: dict[str, Any] | None,
        new: dict[str, Any] | None,
        by: dict[str, str] | None = None,
    ) -> None:
        images = {"OldImage": old, "NewImage": new}
        record: dict[str, Any] = {
            "eventName": "REMOVE" if new is None else "MODIFY" if old else "INSERT",
            "dynamodb": {
                "Keys": {"id": (new or old or {})["id"]},
                **{name: image for name, image in images.items() if image},
            },
        }
        for stream in table.streams:
            stream.put({**record, "userIdentity": by} if by else record)


def _size(item: dict[str, Any]) -> int:
    return sum(len(name) + len(str(next(iter(value.values())))) for name, value in item.items())
