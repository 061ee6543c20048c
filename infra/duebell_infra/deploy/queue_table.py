"""The queue's table where no stack manages it: finds it, gives it the template's settings, deletes it.

The table outlives its stack. It is left by a stack that was destroyed, by a first deployment that failed, or
by a restore. The next stack uses it without making it, so CloudFormation never looks at its settings again.

DynamoDB takes one change of a table at a time, and refuses others while it fills a new index. So `past-index`
comes last. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import boto3

from duebell_infra.aws import answer_unless, aws_calls
from duebell_infra.errors import DeployFailed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: The table as the template makes it; a test holds this against the template.
_KEYS, _DUE_INDEX = ["lane", "id"], "due-index"
_PAST_INDEX = {
    "IndexName": "past-index",
    "KeySchema": [
        {"AttributeName": "lane", "KeyType": "HASH"},
        {"AttributeName": "past", "KeyType": "RANGE"},
    ],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
_KEY_ATTRIBUTES = [{"AttributeName": name, "AttributeType": "S"} for name in ("lane", "id", "queued", "past")]
_EXPIRY = "expires_at"

#: The looks at indexes that are being built, and the seconds between two.
_LOOKS, _BETWEEN_LOOKS = 120, 5

_ENCRYPTED = {"ENABLED", "ENABLING", "UPDATING"}


class QueueTable:
    """The table of this name, whether it exists or not."""

    def __init__(self, session: boto3.Session, name: str) -> None:
        self.name = name
        self._client: DynamoDBClient = session.client("dynamodb")

    def exists(self) -> bool:
        """Return True if the queue is there. Raises DeployFailed for a table that is no queue of ours."""
        with aws_calls(f"the table {self.name}"):
            table = answer_unless({"ResourceNotFoundException"}, self._describe)
        if table is None:
            return False
        keys = [key["AttributeName"] for key in table.get("KeySchema", [])]
        indexes = [index.get("IndexName") for index in table.get("LocalSecondaryIndexes", [])]
        if keys != _KEYS or _DUE_INDEX not in indexes:
            raise DeployFailed(
                f"there is a table {self.name} that is not a queue of duebell's: choose another name"
            )
        return True

    def refuse_an_unknown_key(self) -> None:
        """Raise DeployFailed if the table is encrypted with another key than the one that DynamoDB owns."""
        with aws_calls(f"the table {self.name}"):
            key = _key_of(self._describe())
        if key:
            raise DeployFailed(
                f"the table {self.name} is encrypted with {key}: keep that with --parameter KmsKeyArn={key}, "
                f"or give KmsKeyArn= for the key that DynamoDB owns"
            )

    def settle(self, parameters: Mapping[str, str]) -> list[str]:
        """Change the settings that differ from the template's parameters; return their names.

        They are protection, encryption, recovery, expiry, tag, capacity and past-index.
        Units that were scaled stay as they are. Raises DeployFailed.
        """
        with aws_calls(f"the settings of the table {self.name}"):
            return [*self._settle_policy(), *self._settle_table(parameters)]

    def wait_for_indexes(self, say: Callable[[str], None]) -> None:
        """Wait until all indexes can be read, as CloudFormation does not; after ten minutes, tell `say`."""
        for _ in range(_LOOKS):
            with aws_calls(f"the indexes of the table {self.name}"):
                indexes = _indexes(self._describe())
            if all(index.get("IndexStatus", "ACTIVE") == "ACTIVE" for index in indexes.values()):
                return
            time.sleep(_BETWEEN_LOOKS)
        say(f"DynamoDB still builds an index of the table {self.name}: what has ended is not listed yet")

    def delete(self) -> bool:
        """Delete the queue with every task in it. False: there is none. Raises DeployFailed."""
        if not self.exists():
            return False
        with aws_calls(f"the table {self.name}"):
            self._update(DeletionProtectionEnabled=False)
            self._client.delete_table(TableName=self.name)
            self._client.get_waiter("table_not_exists").wait(TableName=self.name, WaiterConfig={"Delay": 2})
        return True

    def _settle_policy(self) -> Iterator[str]:
        """Recovery, expiry and the tag, which are no part of the table's description."""
        client, name = self._client, self.name
        backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        if backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") != "ENABLED":
            client.update_continuous_backups(
                TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )
            yield "point-in-time recovery on"
        expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        if expiry.get("TimeToLiveStatus") == "DISABLED":
            client.update_time_to_live(
                TableName=name, TimeToLiveSpecification={"AttributeName": _EXPIRY, "Enabled": True}
            )
            yield f"expiry by {_EXPIRY} on"
        arn, tag = self._describe()["TableArn"], {"Key": "duebell", "Value": name}
        if tag not in client.list_tags_of_resource(ResourceArn=arn)["Tags"]:
            client.tag_resource(ResourceArn=arn, Tags=[tag])  # type: ignore[list-item]
            yield "the tag duebell"

    def _settle_table(self, parameters: Mapping[str, str]) -> Iterator[str]:
        """The settings in the table's description, one change after the other; past-index last."""
        table = self._at_rest()
        is_protected = parameters.get("DeletionProtection", "yes") == "yes"
        if bool(table.get("DeletionProtectionEnabled")) is not is_protected:
            self._update(DeletionProtectionEnabled=is_protected)
            yield f"deletion protection {'on' if is_protected else 'off'}"
        if _key_of(table) != (key := parameters.get("KmsKeyArn", "")):
            with_key = {"SSEType": "KMS", "KMSMasterKeyId": key} if key else {}
            self._update(SSESpecification={"Enabled": bool(key), **with_key})
            yield f"encryption with {key or 'the key that DynamoDB owns'}"
        billing = table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
        provisioned: dict[str, int] = {}  # the units at first, from which they are scaled
        if parameters.get("Capacity") == "provisioned":
            units = {"ReadCapacityUnits": "MinReadUnits", "WriteCapacityUnits": "MinWriteUnits"}
            provisioned = {unit: int(parameters.get(name, "10")) for unit, name in units.items()}
        if provisioned and billing != "PROVISIONED":
            indexes = [
                {"Update": {"IndexName": name, "ProvisionedThroughput": provisioned}}
                for name in _indexes(table)
            ]
            self._update(
                BillingMode="PROVISIONED",
                ProvisionedThroughput=provisioned,
                **({"GlobalSecondaryIndexUpdates": indexes} if indexes else {}),
            )
            yield "provisioned capacity"
        if billing == "PROVISIONED" and not provisioned:
            self._update(BillingMode="PAY_PER_REQUEST")
            yield "capacity on demand"
        if (name := str(_PAST_INDEX["IndexName"])) not in _indexes(self._describe()):
            index = {**_PAST_INDEX, **({"ProvisionedThroughput": provisioned} if provisioned else {})}
            self._update(
                AttributeDefinitions=_KEY_ATTRIBUTES, GlobalSecondaryIndexUpdates=[{"Create": index}]
            )
            yield f"the index {name}"

    def _update(self, **change: Any) -> None:
        """Make one change of the table, and wait until it takes the next."""
        self._client.update_table(TableName=self.name, **change)
        self._at_rest()

    def _at_rest(self) -> Any:
        """The table's description, once no change of it is under way."""
        wait = {"Delay": 2, "MaxAttempts": 300}
        self._client.get_waiter("table_exists").wait(TableName=self.name, WaiterConfig=wait)  # type: ignore[arg-type]
        return self._describe()

    def _describe(self) -> Any:
        return self._client.describe_table(TableName=self.name)["Table"]


def _indexes(table: Any) -> dict[str, Any]:
    return {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes", [])}


def _key_of(table: Any) -> str:
    """The ARN of the KMS key of a table; empty when it is encrypted with the one that DynamoDB owns."""
    encryption = table.get("SSEDescription", {})
    return str(encryption.get("KMSMasterKeyArn", "")) if encryption.get("Status") in _ENCRYPTED else ""
