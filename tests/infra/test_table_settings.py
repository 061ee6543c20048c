"""A table that no stack manages gets the settings, the index and the throughput that the template gives."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from duebell_infra.deploy.queue_table import QueueTable
from duebell_infra.errors import DeployFailed
from tests.infra.both import properties
from tests.support import create_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


pytestmark = pytest.mark.moto


@pytest.fixture
def dynamodb(session: boto3.Session) -> "DynamoDBClient":
    return session.client("dynamodb")


@pytest.fixture
def key(session: boto3.Session) -> str:
    """A key of the customer's."""
    arn: str = session.client("kms").create_key()["KeyMetadata"]["Arn"]
    return arn


def settle(session: boto3.Session, name: str = "duebell", **parameters: str) -> list[str]:
    return QueueTable(session, name).settle(parameters)


def test_a_table_gets_what_the_template_gives_one(
    session: boto3.Session, dynamodb: "DynamoDBClient", template: Any
) -> None:
    changed = settle(session)

    assert changed == [
        "point-in-time recovery on",
        "expiry by expires_at on",
        "the tag duebell",
        "deletion protection on",
    ]
    declared = properties(template, "Table")
    table = dynamodb.describe_table(TableName="duebell")["Table"]
    assert table["DeletionProtectionEnabled"] is True
    backups = dynamodb.describe_continuous_backups(TableName="duebell")["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert declared["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    expiry = dynamodb.describe_time_to_live(TableName="duebell")["TimeToLiveDescription"]
    assert expiry["AttributeName"] == declared["TimeToLiveSpecification"]["AttributeName"]
    tags = dynamodb.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"]
    assert tags == [{"Key": "duebell", "Value": "duebell"}]


def test_settling_twice_changes_nothing(session: boto3.Session) -> None:
    settle(session)
    assert settle(session) == []


Asked = list[dict[str, Any]]


@pytest.fixture
def encryptions(session: boto3.Session) -> Asked:
    """The encryption that is asked for from now on; moto takes one at a table's creation only."""
    asked: Asked = []

    def note(params: dict[str, Any], **_: Any) -> None:
        asked.extend([params["SSESpecification"]] if "SSESpecification" in params else [])

    session.events.register("provide-client-params.dynamodb.UpdateTable", note)
    return asked


def encrypted(session: boto3.Session, key: str | None) -> str:
    """The name of a protected table that is encrypted with this key, or with AWS's managed one."""
    encryption = {"Enabled": True, **({"KMSMasterKeyId": key} if key else {})}

    def encrypt(params: dict[str, Any], **_: Any) -> None:
        params["SSESpecification"] = encryption

    session.events.register("provide-client-params.dynamodb.CreateTable", encrypt)
    create_table(session, "encrypted")
    session.client("dynamodb").update_table(TableName="encrypted", DeletionProtectionEnabled=True)
    return "encrypted"


def test_a_table_is_encrypted_with_the_key_that_was_given(
    session: boto3.Session, encryptions: Asked, key: str
) -> None:
    settle(session, DeletionProtection="no", KmsKeyArn=key)
    assert encryptions == [{"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}]


@pytest.mark.parametrize("is_ours", [True, False])
def test_without_a_key_it_is_encrypted_with_the_one_that_costs_nothing(
    session: boto3.Session, encryptions: Asked, key: str, *, is_ours: bool
) -> None:
    name = encrypted(session, key if is_ours else None)
    changed = settle(session, name)
    assert encryptions == [{"Enabled": False}]
    assert "encryption with the key that DynamoDB owns" in changed


def test_whose_table_is_encrypted_by_a_key_is_asked_which_to_use(session: boto3.Session, key: str) -> None:
    QueueTable(session, "duebell").refuse_an_unknown_key()
    with pytest.raises(DeployFailed, match=f"--parameter KmsKeyArn={key}, or give KmsKeyArn= for the key"):
        QueueTable(session, encrypted(session, key)).refuse_an_unknown_key()


SCALED = {"Capacity": "provisioned", "MinReadUnits": "7", "MinWriteUnits": "9"}

#: The settings that every table is given besides.
ALWAYS = ["deletion protection on", "point-in-time recovery on", "expiry by expires_at on", "the tag duebell"]


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


def changed(session: boto3.Session, name: str, wanted: Mapping[str, str]) -> list[str]:
    """Settle the table, and return the changes of capacity and indexes."""
    return [change for change in QueueTable(session, name).settle(wanted) if change not in ALWAYS]


def described(dynamodb: "DynamoDBClient", name: str) -> Any:
    return dynamodb.describe_table(TableName=name)["Table"]


def test_a_table_of_an_earlier_version_gets_the_index_of_the_template(
    session: boto3.Session, dynamodb: "DynamoDBClient", older: str, template: Any
) -> None:
    assert changed(session, older, {}) == ["the index past-index"]

    [index] = described(dynamodb, older)["GlobalSecondaryIndexes"]
    [declared] = properties(template, "Table")["GlobalSecondaryIndexes"]
    for name in ("IndexName", "KeySchema", "Projection"):
        assert index[name] == declared[name]
    assert changed(session, older, {}) == []


def test_units_that_were_scaled_stay(session: boto3.Session, dynamodb: "DynamoDBClient") -> None:
    assert changed(session, "duebell", SCALED) == ["provisioned capacity"]
    units: Any = {"ReadCapacityUnits": 70, "WriteCapacityUnits": 90}
    dynamodb.update_table(TableName="duebell", ProvisionedThroughput=units)

    assert changed(session, "duebell", SCALED) == []
    assert described(dynamodb, "duebell")["ProvisionedThroughput"]["ReadCapacityUnits"] == 70


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
