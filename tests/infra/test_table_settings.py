"""A table that no stack manages gets the settings, the index and the throughput that the template gives."""

from typing import Any

import boto3
import pytest

from duebell_infra.deploy.queue_table import QueueTable
from duebell_infra.errors import DeployFailed
from tests.support import create_table

pytestmark = pytest.mark.moto


def take_up(session: boto3.Session, name: str = "duebell", **parameters: str) -> list[str]:
    return QueueTable(session, name).take_up(parameters)


def test_a_table_gets_what_the_template_gives_one(session: boto3.Session, template: Any) -> None:
    dynamodb = session.client("dynamodb")
    assert take_up(session) == [
        "point-in-time recovery on",
        "expiry by expires_at on",
        "deletion protection on",
    ]
    declared = template["Resources"]["Table"]["Properties"]
    table = dynamodb.describe_table(TableName="duebell")["Table"]
    assert table["DeletionProtectionEnabled"] is True
    backups = dynamodb.describe_continuous_backups(TableName="duebell")["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert declared["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    expiry = dynamodb.describe_time_to_live(TableName="duebell")["TimeToLiveDescription"]
    assert expiry["AttributeName"] == declared["TimeToLiveSpecification"]["AttributeName"]
    # And nothing when it is taken up again, but what is asked for
    assert take_up(session) == []
    assert take_up(session, DeletionProtection="no") == ["deletion protection off"]


def test_a_table_that_is_encrypted_or_paid_for_otherwise_is_refused(session: boto3.Session) -> None:
    # Given a protected table that is encrypted with a key of the customer's
    name, key = "encrypted", session.client("kms").create_key()["KeyMetadata"]["Arn"]

    def encrypt(params: dict[str, Any], **_: Any) -> None:
        params["SSESpecification"] = {"Enabled": True, "KMSMasterKeyId": key}

    session.events.register("provide-client-params.dynamodb.CreateTable", encrypt)
    create_table(session, name)
    session.client("dynamodb").update_table(TableName=name, DeletionProtectionEnabled=True)
    # Then it is taken up only as it is
    with pytest.raises(DeployFailed, match=f"give --parameter KmsKeyArn={key}, or change it with `aws"):
        take_up(session, name)
    with pytest.raises(DeployFailed, match="the key that DynamoDB owns: give --parameter KmsKeyArn=,"):
        take_up(session, KmsKeyArn=key)
    with pytest.raises(DeployFailed, match="is on-demand: give --capacity on-demand"):
        take_up(session, name, KmsKeyArn=key, Capacity="provisioned")
    assert take_up(session, name, KmsKeyArn=key) == ["point-in-time recovery on", "expiry by expires_at on"]


def test_a_table_without_an_index_is_no_queue(session: boto3.Session) -> None:
    def without_the_past(params: dict[str, Any], **_: Any) -> None:
        params.pop("GlobalSecondaryIndexes", None)
        params["AttributeDefinitions"] = [
            one for one in params["AttributeDefinitions"] if one["AttributeName"] != "past"
        ]

    session.events.register("provide-client-params.dynamodb.CreateTable", without_the_past)
    create_table(session, "older")
    with pytest.raises(DeployFailed, match="lacks an index"):
        QueueTable(session, "older").exists()


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
