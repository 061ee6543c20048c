"""What moto lacks: batches of INSERT, UPDATE and DELETE statements, each under its own conditions."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from moto.dynamodb.exceptions import ConditionalCheckFailed
from moto.dynamodb.models import DynamoDBBackend

__all__ = ["DELETE", "FULL", "INSERT", "UPDATE", "partiql_batches"]

INSERT = re.compile(r'INSERT INTO "(?P<table>[^"]+)" VALUE (?P<value>\?|\{.+\})')
UPDATE = re.compile(
    r'UPDATE "(?P<table>[^"]+)"'
    r'(?P<clauses>( SET "\w+"=\?| SET "\w+"="\w+"\+\?| REMOVE "\w+")+)'
    r' WHERE (?P<where>"\w+"=\?( AND "\w+"=\?)*)'
    r"(?P<returning> RETURNING ALL NEW \*)?"
)
DELETE = re.compile(r'DELETE FROM "(?P<table>[^"]+)" WHERE (?P<where>"\w+"=\?( AND "\w+"=\?)*)')


#: The code of the answer to a statement for a full lane; to a call, it is this with "Exception" behind it.
FULL = "ItemCollectionSizeLimitExceeded"


@contextmanager
def partiql_batches() -> Iterator[None]:
    """Inside, moto's DynamoDB takes batches of such statements as DynamoDB does."""
    with patch.object(DynamoDBBackend, "batch_execute_statement", _execute_all):
        yield


def _execute_all(backend: DynamoDBBackend, statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [_execute(backend, **statement) for statement in statements]


def _execute(backend: DynamoDBBackend, Statement: str, Parameters: list[Any]) -> dict[str, Any]:  # noqa: N803
    for form, execute in ((INSERT, _insert), (UPDATE, _update), (DELETE, _delete)):
        if statement := form.fullmatch(Statement):
            if statement["table"] not in backend.tables:
                return _refused("ResourceNotFound")
            return execute(backend, statement, Parameters)
    raise AssertionError(Statement)


def _insert(backend: DynamoDBBackend, insert: re.Match[str], parameters: list[Any]) -> dict[str, Any]:
    table = insert["table"]
    if insert["value"] == "?":
        [[(kind, item)]] = [parameter.items() for parameter in parameters]
        assert kind == "M"
    else:
        item = dict(zip(re.findall(r"'(\w+)':\?", insert["value"]), parameters, strict=True))
    key = {name: item[name] for name in ("lane", "id")}
    if backend.get_item(table, key):
        return _refused("DuplicateItem")
    backend.put_item(table, item)
    return {"TableName": table}


def _update(backend: DynamoDBBackend, update: re.Match[str], parameters: list[Any]) -> dict[str, Any]:
    """As moto's UpdateItem does it, which is told the same."""
    table, given = update["table"], iter(parameters)
    sets, removes, values = [], [], {}
    for name, added_to in re.findall(r'SET "(\w+)"=(?:"(\w+)"\+)?\?', update["clauses"]):
        sets.append(f"#{name} = #{added_to} + :{name}" if added_to else f"#{name} = :{name}")
        values[f":{name}"] = next(given)
    removes = re.findall(r'REMOVE "(\w+)"', update["clauses"])
    where = {name: next(given) for name in re.findall(r'"(\w+)"=\?', update["where"])}
    key = {name: where.pop(name) for name in ("lane", "id")}
    names = {*re.findall(r'"(\w+)"', update["clauses"]), *where}
    expression = f"SET {', '.join(sets)}"
    if removes:
        expression += f" REMOVE {', '.join(f'#{name}' for name in removes)}"
    try:
        item = backend.update_item(
            table,
            key,
            expression,
            {f"#{name}": name for name in names},
            {**values, **{f":if_{name}": value for name, value in where.items()}},
            condition_expression=" AND ".join(f"#{name} = :if_{name}" for name in where),
        )
    except ConditionalCheckFailed:
        return _refused("ConditionalCheckFailed")
    except Exception:  # noqa: BLE001 (such as a number to be added to what is none)
        return _refused("ValidationError")
    answer = {"TableName": table}
    return {**answer, "Item": item.to_json()["Attributes"]} if update["returning"] else answer


def _delete(backend: DynamoDBBackend, delete: re.Match[str], parameters: list[Any]) -> dict[str, Any]:
    """As moto's DeleteItem does it, which is told the same."""
    where = dict(zip(re.findall(r'"(\w+)"=\?', delete["where"]), parameters, strict=True))
    key = {name: where.pop(name) for name in ("lane", "id")}
    try:
        backend.delete_item(
            delete["table"],
            key,
            {f"#{name}": name for name in where},
            {f":{name}": value for name, value in where.items()},
            " AND ".join(f"#{name} = :{name}" for name in where),
        )
    except ConditionalCheckFailed:
        return _refused("ConditionalCheckFailed")
    return {"TableName": delete["table"]}


def _refused(code: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": "as told"}}
