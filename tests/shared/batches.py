"""Batches of statements over moto: three tasks, and a hand in what becomes of each statement."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from moto import mock_aws

from duebell_shared.backend import Backend
from duebell_shared.instants import to_utc
from duebell_shared.new_task import new_task
from duebell_shared.table import DynamoTable
from duebell_shared.task import Task
from tests import partiql
from tests.shared.test_table import client_of
from tests.support import NOON, REGION, create_table
from tests.worker.hooks import Hooks

__all__ = ["BATCH", "THREE", "Fail", "answer_nothing", "aws", "bare_moto", "fail", "store", "task"]

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


THREE = [task("one"), task("two"), task("three")]

Fail = Callable[[str, str], None]


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
    """Have the statement for this id fail with this code; after its effect, if it is InternalServerError."""
    execute: Any = partiql.__dict__["_execute"]
    codes: dict[str, str] = {}

    def execute_or_fail(backend: Any, Statement: str, Parameters: list[Any]) -> dict[str, Any]:  # noqa: N803
        values = [*Parameters, *Parameters[0].get("M", {}).values()]
        code = next((code for id, code in codes.items() if {"S": id} in values), None)
        if code and code != "InternalServerError":
            return {"Error": {"Code": code, "Message": "as told"}}
        answer: dict[str, Any] = execute(backend, Statement, Parameters)
        return {"Error": {"Code": code}} if code else answer

    with patch.object(partiql, "_execute", execute_or_fail):
        yield codes.__setitem__
