"""Batches of statements: three tasks, and a hand in what becomes of each statement."""

import json
from collections.abc import Iterator
from typing import Any, Protocol
from unittest.mock import patch

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from moto import mock_aws

from duebell_shared.backend import Backend
from duebell_shared.instants import to_utc
from duebell_shared.queue.table import DynamoTable
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task
from tests.shared.table_calls import client_of
from tests.simulation.wire.dynamodb import DynamoDb
from tests.simulation.wire.statements import Statement
from tests.support import NOON, REGION, create_table
from tests.worker.hooks import Hooks

BATCH = "BatchExecuteStatement"


def answer_nothing(store: DynamoTable) -> list[str]:
    """From now on nobody answers; the calls that are made."""
    asked: list[str] = []

    def happen(model: Any, **_: Any) -> None:
        asked.append(model.name)
        raise ConnectTimeoutError(endpoint_url="https://dynamodb")

    client_of(store).meta.events.register("before-call.dynamodb", happen)
    return asked


def task(id: str, payload: object = None) -> Task:
    return new_task(id=id, action="act", due=NOON, payload=payload, now=to_utc(NOON))


#: What DynamoDB answers to a statement that it has no room for at the moment.
THROTTLED = ["ProvisionedThroughputExceeded", "RequestLimitExceeded", "ThrottlingError"]

THREE = [task("one"), task("two"), task("three")]


class Fail(Protocol):
    """Have the statement for this id fail with this code, so many times; unless told, each time."""

    def __call__(self, id: str, code: str, *, times: int = 1000) -> None: ...


@pytest.fixture
def store(backend: Backend) -> DynamoTable:
    assert isinstance(backend.store, DynamoTable)
    return backend.store


@pytest.fixture
def aws(backend: Backend) -> Hooks:
    return Hooks(backend)


@pytest.fixture
def bare_moto() -> Iterator[boto3.Session]:
    """moto without what the tests add to it."""
    with mock_aws():
        session = boto3.Session(region_name=REGION)
        create_table(session)
        yield session


@pytest.fixture
def fail() -> Iterator[Fail]:
    """Have statements fail; after their effect, if the code is InternalServerError."""
    execute = DynamoDb._execute
    codes: dict[str, list[str]] = {}

    def fail(id: str, code: str, *, times: int = 1000) -> None:
        codes[id] = [code] * times

    def execute_or_fail(table: DynamoDb, statement: Statement) -> dict[str, Any]:
        left = codes.get(statement.key[1])
        code = left.pop() if left else None
        answer = execute(table, statement) if code in {None, "InternalServerError"} else {}
        return {"Error": {"Code": code, "Message": "as told"}} if code else answer

    with patch.object(DynamoDb, "_execute", execute_or_fail):
        yield fail


@pytest.fixture
def sent(store: DynamoTable) -> list[list[str]]:
    """For each batch, the ids of the tasks that it has statements for."""
    batches: list[list[str]] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        statements = json.loads(params["body"])["Statements"]
        batches.append([each.id for each in THREE if f'"{each.id}"' in json.dumps(statements)])

    client_of(store).meta.events.register(f"before-call.dynamodb.{BATCH}", note)
    return batches
