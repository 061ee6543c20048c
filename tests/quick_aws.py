"""moto, but for what makes tests slow: DynamoDB's items are kept by the simulation's table.

That table understands the requests that duebell makes, to the letter, and refuses all others; `tests/store`
holds it against the store's contract, as it does moto and MiniStack. It answers in a tenth of moto's time.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import boto3
import botocore.loaders
import botocore.session
import moto.core.models
from botocore.awsrequest import AWSPreparedRequest
from moto import mock_aws
from moto.core import botocore_stubber
from moto.dynamodb.models import DynamoDBBackend

from tests.simulation.wire.clients import decoded
from tests.simulation.wire.dynamodb import DynamoDb
from tests.simulation.wire.expressions import DELETE, INSERT, parse
from tests.simulation.wire.network import Answer, refusal
from tests.simulation.wire.refused import Refused
from tests.support import REGION


@contextmanager
def quick_aws() -> Iterator[Mapping[str, DynamoDb]]:
    """Inside, all calls of AWS are answered in this process; the tables of DynamoDB by their names."""
    items = _Items()
    with moto_aws(), items.in_place_of_moto():
        yield items.tables


@contextmanager
def moto_aws() -> Iterator[None]:
    """The same, with DynamoDB's items kept by moto: for tests that make other requests than duebell does."""
    with (
        patch.object(moto.core.models, "RESPONSES_METHODS", ()),  # nobody here asks AWS but by botocore
        mock_aws(),
        patch.object(DynamoDBBackend, "batch_execute_statement", _execute_all),
        patch.object(botocore.session, "create_loader", _loader),
    ):
        yield


@lru_cache
def client(service: str) -> Any:
    """A client that prepares what tests find, made once for all of them."""
    return boto3.Session(region_name=REGION).client(service)  # type: ignore[call-overload]


@lru_cache
def _loader(path: str | None) -> Any:
    """botocore's descriptions of its services, read once for all sessions."""
    return botocore.loaders.create_loader(path)


class _Items:
    """The items of all tables that are created through moto."""

    def __init__(self) -> None:
        self.tables: dict[str, DynamoDb] = {}
        self._lock = threading.Lock()

    @contextmanager
    def in_place_of_moto(self) -> Iterator[None]:
        kind = botocore_stubber.BotocoreStubber
        by_moto = kind.process_request

        def answered(stubber: Any, request: AWSPreparedRequest) -> Any:
            if "dynamodb" not in request.url:
                return by_moto(stubber, request)
            operation, given = decoded(request)
            if operation in {"CreateTable", "DescribeTable"}:
                if operation == "CreateTable":
                    self.tables[given["TableName"]] = DynamoDb(given["TableName"])
                return by_moto(stubber, request)
            if operation == "GetItem":  # tests look at items, too, and need not do so consistently
                given = {**given, "ConsistentRead": True}
            answer = self._answer(operation, given)
            return answer.status, {"x-amzn-RequestId": ""}, answer.encoded()

        with patch.object(kind, "process_request", answered):
            yield

    def _answer(self, operation: str, given: Any) -> Answer:
        try:
            with self._lock:
                return Answer(200, self._table_of(given).answer(operation, given))
        except Refused as refused:
            return refusal(refused)

    def _table_of(self, given: Any) -> DynamoDb:
        name = given.get("TableName") or next(iter(given.get("RequestItems", self.tables)))
        return self.tables.get(name) or next(iter(self.tables.values()))


# A part that moto lacks: batches of INSERT, UPDATE and DELETE statements, each under its own conditions.


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
