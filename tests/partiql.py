"""A part that moto lacks: batches of INSERT, UPDATE and DELETE statements, each under its own conditions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from moto.dynamodb.models import DynamoDBBackend

from tests.simulation.wire.expressions import DELETE, INSERT, parse
from tests.simulation.wire.refused import Refused


@contextmanager
def partiql_batches() -> Iterator[None]:
    """Inside, moto's DynamoDB takes batches of such statements as DynamoDB does."""
    with patch.object(DynamoDBBackend, "batch_execute_statement", _execute_all):
        yield


def _execute_all(backend: DynamoDBBackend, statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [_execute(backend, **statement) for statement in statements]


def _execute(backend: DynamoDBBackend, Statement: str, Parameters: list[Any]) -> dict[str, Any]:  # noqa: N803
    wanted = parse(Statement, Parameters)
    if wanted.table not in backend.tables:
        return _refused("ResourceNotFound")
    key = {"lane": {"S": wanted.key[0]}, "id": {"S": wanted.key[1]}}
    found = backend.get_item(wanted.table, key)
    item = found.to_json()["Attributes"] if found else {}
    if wanted.verb == INSERT and item:
        return _refused("DuplicateItem")
    if wanted.verb != INSERT and not (item and wanted.applies_to(item)):
        return _refused("ConditionalCheckFailed")
    if wanted.verb == DELETE:
        backend.delete_item(wanted.table, key)
        return {"TableName": wanted.table}
    try:
        item = wanted.update.apply(item)
    except Refused:  # such as a number to be added to what is none
        return _refused("ValidationError")
    backend.put_item(wanted.table, item)
    return {"TableName": wanted.table, **({"Item": item} if wanted.returns else {})}


def _refused(code: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": "refused"}}
