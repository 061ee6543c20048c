"""Capacity and `past-index` of a queue's table that no stack manages, as the template has them.

DynamoDB takes one of these changes at a time, and refuses others while it fills a new index. So the index
comes last. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from .errors import DeployFailed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["Capacity", "Throughput", "Units", "settle_throughput"]

_PAST = "past-index"
_KEYS = ("lane", "past")


class Capacity(StrEnum):
    """How DynamoDB is paid for: by the request, or by the hour and the units that are provisioned."""

    ON_DEMAND = "on-demand"
    PROVISIONED = "provisioned"


class Units(NamedTuple):
    """Read and write units a second."""

    reads: int
    writes: int


class Throughput(msgspec.Struct, frozen=True, kw_only=True):
    """What the table and its index are given.

    provisioned  the units at first, from which they are scaled; None: on demand
    warm         the units that they take at once; None: what DynamoDB gives
    """

    provisioned: Units | None = None
    warm: Units | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Self:
        """As the template's parameters say it. Raises DeployFailed for what is no pair of numbers."""
        warm = [text.strip() for text in parameters.get("WarmThroughput", "").split(",") if text.strip()]
        if warm and not (len(warm) == len(Units._fields) and all(text.isdecimal() for text in warm)):
            raise DeployFailed(
                f"WarmThroughput must be read and write units, such as 40000,20000, not {','.join(warm)}"
            )
        least = Units(int(parameters.get("MinReadUnits", "10")), int(parameters.get("MinWriteUnits", "10")))
        is_provisioned = parameters.get("Capacity") == Capacity.PROVISIONED
        return cls(
            provisioned=least if is_provisioned else None,
            warm=Units(int(warm[0]), int(warm[1])) if warm else None,
        )


def settle_throughput(client: "DynamoDBClient", name: str, wanted: Throughput) -> Iterator[str]:
    """Change what differs, and yield the name of each change. Units that were scaled stay as they are."""
    table: Any = client.describe_table(TableName=name)["Table"]
    indexes = {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes", [])}
    mode = table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    if wanted.provisioned and mode != "PROVISIONED":
        units = {"ProvisionedThroughput": _capacity(wanted.provisioned)}
        updates = [{"Update": {"IndexName": index, **units}} for index in indexes]
        _change(client, name, updates, BillingMode="PROVISIONED", **units)
        yield "provisioned capacity"
    if not wanted.provisioned and mode == "PROVISIONED":
        _change(client, name, [], BillingMode="PAY_PER_REQUEST")
        yield "capacity on demand"
    if wanted.warm and any(_is_colder(one, wanted.warm) for one in (table, *indexes.values())):
        warm = {"WarmThroughput": _warmth(table, wanted.warm)}
        updates = [
            {"Update": {"IndexName": index, "WarmThroughput": _warmth(one, wanted.warm)}}
            for index, one in indexes.items()
        ]
        _change(client, name, updates, **warm)
        yield "warm throughput"
    if _PAST not in indexes:
        attributes = [{"AttributeName": key, "AttributeType": "S"} for key in ("id", *_KEYS, "queued")]
        _change(client, name, [{"Create": _past_index(wanted)}], AttributeDefinitions=attributes)
        yield f"the index {_PAST}"


def _past_index(wanted: Throughput) -> dict[str, Any]:
    hash_key, range_key = _KEYS
    index: dict[str, Any] = {
        "IndexName": _PAST,
        "KeySchema": [
            {"AttributeName": hash_key, "KeyType": "HASH"},
            {"AttributeName": range_key, "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    if wanted.provisioned:
        index["ProvisionedThroughput"] = _capacity(wanted.provisioned)
    if wanted.warm:
        index["WarmThroughput"] = _warmth({}, wanted.warm)
    return index


def _change(client: "DynamoDBClient", name: str, updates: list[Any], **change: Any) -> None:
    """Make one change, and wait until the table takes the next."""
    if updates:
        change["GlobalSecondaryIndexUpdates"] = updates
    client.update_table(TableName=name, **change)
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 2, "MaxAttempts": 300})


def _capacity(units: Units) -> dict[str, int]:
    return {"ReadCapacityUnits": units.reads, "WriteCapacityUnits": units.writes}


def _warmth(of: Any, wanted: Units) -> dict[str, int]:
    """At least as warm as it is: DynamoDB does not lower it."""
    is_ = _warm(of)
    return {
        "ReadUnitsPerSecond": max(is_.reads, wanted.reads),
        "WriteUnitsPerSecond": max(is_.writes, wanted.writes),
    }


def _is_colder(one: Any, wanted: Units) -> bool:
    is_ = _warm(one)
    return is_.reads < wanted.reads or is_.writes < wanted.writes


def _warm(of: Any) -> Units:
    found = of.get("WarmThroughput", {})
    return Units(found.get("ReadUnitsPerSecond", 0), found.get("WriteUnitsPerSecond", 0))
