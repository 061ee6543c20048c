"""The settings of a queue's table that no stack manages, kept as the template has them for one that it makes.

Such a table is left by a stack that was destroyed, by a first deployment that failed, or by a restore. The
next stack uses it without making it, so CloudFormation never looks at its settings again.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

from .aws import aws_calls, code_of
from .errors import DeployFailed
from .table_capacity import Throughput, settle_throughput

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["own_key", "settle"]

#: The attribute that DynamoDB deletes finished tasks by.
_EXPIRY = "expires_at"

_ON = {"ENABLED", "ENABLING", "UPDATING"}


def own_key(session: boto3.Session, name: str) -> str:
    """The ARN of the customer's key that the table is encrypted with; empty if it is one of AWS's.

    Raises DeployFailed if that cannot be told.
    """
    with aws_calls(f"the table {name}"):
        key = _key_of(session.client("dynamodb").describe_table(TableName=name)["Table"])
        if not key:
            return ""
        try:
            manager = session.client("kms").describe_key(KeyId=key)["KeyMetadata"].get("KeyManager")
        except ClientError as error:
            raise DeployFailed(
                f"the table {name} is encrypted with {key}, and whose key that is cannot be told "
                f"({code_of(error)}): give --parameter KmsKeyArn={key}, or KmsKeyArn= for none of yours"
            ) from error
    return key if manager == "CUSTOMER" else ""


def settle(
    session: boto3.Session,
    name: str,
    *,
    is_protected: bool,
    key: str,
    throughput: Throughput = Throughput(),  # noqa: B008 (it is frozen)
) -> list[str]:
    """Change those settings that differ, and return which.

    They are protection, encryption, recovery, expiry, tag, throughput and past-index. `key` is the ARN of the
    customer's KMS key; empty: the key that DynamoDB owns. Raises DeployFailed.
    """
    client = session.client("dynamodb")
    with aws_calls(f"the settings of the table {name}"):
        changed = list(_changes(client, name, is_protected=is_protected, key=key))
        return changed + list(settle_throughput(client, name, throughput))


def _changes(client: "DynamoDBClient", name: str, *, is_protected: bool, key: str) -> Iterator[str]:
    table = _at_rest(client, name)
    if bool(table.get("DeletionProtectionEnabled")) is not is_protected:
        client.update_table(TableName=name, DeletionProtectionEnabled=is_protected)
        yield f"deletion protection {'on' if is_protected else 'off'}"
        _at_rest(client, name)
    if _key_of(table) != key:
        encryption: dict[str, Any] = {"Enabled": bool(key)}
        if key:
            encryption |= {"SSEType": "KMS", "KMSMasterKeyId": key}
        client.update_table(TableName=name, SSESpecification=encryption)  # type: ignore[arg-type]
        yield f"encryption with {key or 'the key that DynamoDB owns'}"
        _at_rest(client, name)
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    if backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") != "ENABLED":
        on: Any = {"PointInTimeRecoveryEnabled": True}
        client.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=on)
        yield "point-in-time recovery on"
    expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if expiry.get("TimeToLiveStatus") == "DISABLED":
        wanted: Any = {"AttributeName": _EXPIRY, "Enabled": True}
        client.update_time_to_live(TableName=name, TimeToLiveSpecification=wanted)
        yield f"expiry by {_EXPIRY} on"
    arn = table["TableArn"]
    tag: Any = {"Key": "duebell", "Value": name}
    if tag not in client.list_tags_of_resource(ResourceArn=arn)["Tags"]:
        client.tag_resource(ResourceArn=arn, Tags=[tag])
        yield "the tag duebell"


def _at_rest(client: "DynamoDBClient", name: str) -> Any:
    """The table's description, once no change of it is under way: it takes one at a time."""
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 2})
    return client.describe_table(TableName=name)["Table"]


def _key_of(table: Any) -> str:
    """The ARN of the KMS key of a table; empty when it is encrypted with the one that DynamoDB owns."""
    encryption = table.get("SSEDescription", {})
    return str(encryption.get("KMSMasterKeyArn", "")) if encryption.get("Status") in _ON else ""
