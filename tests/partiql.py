"""What moto lacks: batches of INSERT statements with parameters, each refused when its key is there."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from moto.dynamodb.models import DynamoDBBackend

__all__ = ["partiql_inserts"]

_INSERT = re.compile(r'INSERT INTO "(?P<table>[^"]+)" VALUE (?P<value>\?|\{.+\})')


@contextmanager
def partiql_inserts() -> Iterator[None]:
    """Inside, moto's DynamoDB takes batches of INSERT statements as DynamoDB does."""
    with patch.object(DynamoDBBackend, "batch_execute_statement", _execute_all):
        yield


def _execute_all(backend: DynamoDBBackend, statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [_execute(backend, **statement) for statement in statements]


def _execute(backend: DynamoDBBackend, Statement: str, Parameters: list[Any]) -> dict[str, Any]:  # noqa: N803
    insert = _INSERT.fullmatch(Statement)
    assert insert, Statement
    table = insert["table"]
    if table not in backend.tables:
        return _refused("ResourceNotFound")
    if insert["value"] == "?":
        [[(kind, item)]] = [parameter.items() for parameter in Parameters]
        assert kind == "M"
    else:
        item = dict(zip(re.findall(r"'(\w+)':\?", insert["value"]), Parameters, strict=True))
    key = {name: item[name] for name in ("lane", "id")}
    if backend.get_item(table, key):
        return _refused("DuplicateItem")
    backend.put_item(table, item)
    return {"TableName": table}


def _refused(code: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": "as told"}}
