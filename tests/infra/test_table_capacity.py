"""A table that no stack manages is given the index and the throughput that it is deployed with."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from duebell_infra.deploy.parameters import check_parameters
from duebell_infra.deploy.queue_table import QueueTable
from duebell_infra.errors import InvalidDeployment
from tests.infra.both import properties
from tests.support import create_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.moto

SCALED = {"Capacity": "provisioned", "MinReadUnits": "7", "MinWriteUnits": "9"}

#: The settings that every table is given besides.
ALWAYS = ["deletion protection on", "point-in-time recovery on", "expiry by expires_at on", "the tag duebell"]


@pytest.fixture
def dynamodb(session: boto3.Session) -> "DynamoDBClient":
    return session.client("dynamodb")


@pytest.fixture
def older(session: boto3.Session) -> str:
    """The name of a table as earlier versions made it, without `past-index`."""

    def without_the_past(params: dict[str, Any], **_: Any) -> None:
        params.pop("GlobalSecondaryIndexes", None)
        params["AttributeDefinitions"] = [
            one for one in params["AttributeDefinitions"] if one["AttributeName"] != "past"
        ]

    session.events.register("provide-client-params.dynamodb.CreateTable", without_the_past)
    create_table(session, "older")
    return "older"


def settle(session: boto3.Session, name: str, wanted: Mapping[str, str]) -> list[str]:
    """Settle the table, and return the changes of capacity and indexes."""
    return [change for change in QueueTable(session, name).settle(wanted) if change not in ALWAYS]


def described(dynamodb: "DynamoDBClient", name: str) -> Any:
    return dynamodb.describe_table(TableName=name)["Table"]


def test_a_table_of_an_earlier_version_gets_the_index_of_the_template(
    session: boto3.Session, dynamodb: "DynamoDBClient", older: str, template: Any
) -> None:
    assert settle(session, older, {}) == ["the index past-index"]

    [index] = described(dynamodb, older)["GlobalSecondaryIndexes"]
    [declared] = properties(template, "Table")["GlobalSecondaryIndexes"]
    for name in ("IndexName", "KeySchema", "Projection"):
        assert index[name] == declared[name]
    assert settle(session, older, {}) == []


def test_units_that_were_scaled_stay(session: boto3.Session, dynamodb: "DynamoDBClient") -> None:
    assert settle(session, "duebell", SCALED) == ["provisioned capacity"]
    units: Any = {"ReadCapacityUnits": 70, "WriteCapacityUnits": 90}
    dynamodb.update_table(TableName="duebell", ProvisionedThroughput=units)

    assert settle(session, "duebell", SCALED) == []
    assert described(dynamodb, "duebell")["ProvisionedThroughput"]["ReadCapacityUnits"] == 70


def test_table_and_index_are_warmed_and_never_cooled(session: boto3.Session) -> None:
    asked: list[dict[str, Any]] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        asked.append(dict(params))

    def answer(parsed: dict[str, Any], **_: Any) -> None:  # moto knows no warm throughput
        table = parsed["Table"]
        table["WarmThroughput"] = {"ReadUnitsPerSecond": 30_000, "WriteUnitsPerSecond": 4_000}

    session.events.register("provide-client-params.dynamodb.UpdateTable", note)
    session.events.register("after-call.dynamodb.DescribeTable", answer)
    assert settle(session, "duebell", {"Capacity": "on-demand", "WarmThroughput": "20000,8000"}) == [
        "warm throughput"
    ]

    [change] = [change for change in asked if "WarmThroughput" in change]
    assert change["WarmThroughput"] == {"ReadUnitsPerSecond": 30_000, "WriteUnitsPerSecond": 8_000}
    [update] = change["GlobalSecondaryIndexUpdates"]
    assert update["Update"]["IndexName"] == "past-index"
    assert update["Update"]["WarmThroughput"] == {"ReadUnitsPerSecond": 20_000, "WriteUnitsPerSecond": 8_000}


def test_warm_throughput_is_two_numbers() -> None:
    for wrong in ("20000", "20000,8000,1", "many,few"):
        with pytest.raises(InvalidDeployment, match=r"WarmThroughput.* such as 40000,20000"):
            check_parameters({"WarmThroughput": wrong})


@pytest.mark.parametrize("looks", [3, 10**6])
def test_deploying_waits_until_indexes_are_built_or_says_that_they_are_not(
    session: boto3.Session, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    table, slept, said = QueueTable(session, "duebell"), list[float](), list[str]()
    status = (["CREATING"] * looks + ["ACTIVE"])[::-1]

    def describe() -> Any:
        return {"GlobalSecondaryIndexes": [{"IndexName": "past-index", "IndexStatus": status.pop()}]}

    monkeypatch.setattr(table, "_describe", describe)
    monkeypatch.setattr("time.sleep", slept.append)
    table.wait_for_indexes(said.append)
    assert sum(slept) == min(looks * 5, 600)
    assert bool(said) is (looks > 3)
