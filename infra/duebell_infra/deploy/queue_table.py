"""The queue's table where no stack manages it: finds it, protects it, deletes it.

The table outlives its stack. It is left by a stack that was destroyed, by a first deployment that failed, or
by a restore. The next stack uses it without making it, so CloudFormation never looks at its settings again.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import boto3

from duebell_infra.aws import answer_unless, aws_calls
from duebell_infra.errors import DeployFailed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: The table as the template makes it; a test compares this with the template.
_KEYS, _INDEXES, _EXPIRY = ["lane", "id"], {"due-index", "past-index"}, "expires_at"

#: The number of reads of indexes that are being built, and the seconds between two reads.
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
        indexes = {*_indexes(table), *(one["IndexName"] for one in table.get("LocalSecondaryIndexes", []))}
        if keys != _KEYS or not indexes >= _INDEXES:
            raise DeployFailed(
                f"there is a table {self.name} that is not a queue of duebell's, or lacks an index of it: "
                f"choose another name, or create the index as docs/operations.md says beside past_index"
            )
        return True

    def take_up(self, parameters: Mapping[str, str]) -> list[str]:
        """Turn on the settings that protect the tasks. Returns the changed settings in words.

        They are recovery, expiry and deletion protection. The key and the capacity stay as they are. Raises
        DeployFailed, also if the template's parameters say another key or capacity.
        """
        with aws_calls(f"the settings of the table {self.name}"):
            table = self._describe()
            key = _key_of(table)
            if key != parameters.get("KmsKeyArn", ""):
                raise DeployFailed(
                    f"the table {self.name} is encrypted with {key or 'the key that DynamoDB owns'}: give "
                    f"--parameter KmsKeyArn={key}, or change it with `aws dynamodb update-table`"
                )
            is_on_demand = table.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST"
            capacity = "on-demand" if is_on_demand else "provisioned"
            if capacity != parameters.get("Capacity", "on-demand"):
                raise DeployFailed(
                    f"the capacity of the table {self.name} is {capacity}: give --capacity {capacity}, or "
                    f"change it with `aws dynamodb update-table`"
                )
            return list(self._protected(table, parameters))

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
        """Delete the queue with every task in it. Returns False if there is none. Raises DeployFailed."""
        if not self.exists():
            return False
        with aws_calls(f"the table {self.name}"):
            self._protect(is_protected=False)
            self._client.delete_table(TableName=self.name)
            self._client.get_waiter("table_not_exists").wait(TableName=self.name, WaiterConfig={"Delay": 2})
        return True

    def _protected(self, table: Any, parameters: Mapping[str, str]) -> Iterator[str]:
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
        is_protected = parameters.get("DeletionProtection", "yes") == "yes"
        if bool(table.get("DeletionProtectionEnabled")) is not is_protected:
            self._protect(is_protected=is_protected)
            yield f"deletion protection {'on' if is_protected else 'off'}"

    def _protect(self, *, is_protected: bool) -> None:
        """Turn deletion protection on or off, and wait until the table takes the next change."""
        self._client.update_table(TableName=self.name, DeletionProtectionEnabled=is_protected)
        self._client.get_waiter("table_exists").wait(TableName=self.name, WaiterConfig={"Delay": 2})

    def _describe(self) -> Any:
        return self._client.describe_table(TableName=self.name)["Table"]


def _indexes(table: Any) -> dict[str, Any]:
    return {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes", [])}


def _key_of(table: Any) -> str:
    """The ARN of the KMS key of a table; empty when it is encrypted with the key that DynamoDB owns."""
    encryption = table.get("SSEDescription", {})
    return str(encryption.get("KMSMasterKeyArn", "")) if encryption.get("Status") in _ENCRYPTED else ""
