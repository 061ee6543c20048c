"""The queue's table as deploying and destroying see it: it outlives the stack unless it is to go too."""

from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import ClientError

from .aws import aws_calls, code_of
from .errors import DeployFailed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import TableDescriptionTypeDef

__all__ = ["delete", "is_there"]

#: What the template makes, and no other table is likely to have.
_KEYS, _INDEX = ["lane", "id"], "due-index"


def is_there(session: boto3.Session, name: str) -> bool:
    """Whether a queue of this name is there. Raises DeployFailed when a table is that is no queue of ours."""
    table = _describe(session, name)
    if table is None:
        return False
    keys = [key["AttributeName"] for key in table.get("KeySchema", [])]
    indexes = [index.get("IndexName") for index in table.get("LocalSecondaryIndexes", [])]
    if keys != _KEYS or _INDEX not in indexes:
        raise DeployFailed(f"there is a table {name} that is not a queue of duebell's: choose another name")
    return True


def delete(session: boto3.Session, name: str) -> bool:
    """Delete the queue with all that is in it. False: there is none. Raises DeployFailed."""
    if not is_there(session, name):
        return False
    with aws_calls(f"the table {name}"):
        client = session.client("dynamodb")
        client.update_table(TableName=name, DeletionProtectionEnabled=False)
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 2})
        client.delete_table(TableName=name)
        client.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig={"Delay": 2})
    return True


def _describe(session: boto3.Session, name: str) -> "TableDescriptionTypeDef | None":
    with aws_calls(f"the table {name}"):
        try:
            return session.client("dynamodb").describe_table(TableName=name)["Table"]
        except ClientError as error:
            if code_of(error) == "ResourceNotFoundException":
                return None
            raise
