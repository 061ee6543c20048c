"""A table that no stack manages is given the settings that the template gives one it makes."""

from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.kms.models import kms_backends

from duebell_infra.deploy.queue_table import QueueTable
from duebell_infra.errors import DeployFailed
from tests.infra.both import properties
from tests.infra.policies import ACCOUNT
from tests.support import REGION, create_table

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


def test_the_key_of_a_table_is_found_if_it_is_the_customers(session: boto3.Session, key: str) -> None:
    assert QueueTable(session, encrypted(session, key)).customer_key() == key


def test_neither_awss_managed_key_nor_the_one_that_dynamodb_owns_is_the_customers(
    session: boto3.Session,
) -> None:
    assert QueueTable(session, "duebell").customer_key() == ""
    name = encrypted(session, None)
    for key in kms_backends[ACCOUNT][REGION].keys.values():
        key.key_manager = "AWS"  # moto's are all the customer's
    assert QueueTable(session, name).customer_key() == ""


def test_a_key_that_cannot_be_looked_at_must_be_given(session: boto3.Session, key: str) -> None:
    name = encrypted(session, key)

    def refuse(model: Any, **_: Any) -> None:
        error = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
        raise ClientError(error, model.name)  # type: ignore[arg-type]

    session.events.register("before-call.kms.DescribeKey", refuse)
    with pytest.raises(DeployFailed, match=f"give --parameter KmsKeyArn={key}, or KmsKeyArn= for none"):
        QueueTable(session, name).customer_key()
