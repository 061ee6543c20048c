"""The store, as each of its implementations, and tasks to write into it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest
from msgspec.structs import replace

from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.queue.store import Store
from duebell_shared.settings import Settings
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import QueueKey, Task
from tests.simulation.wire.clients import store_on_the_wire
from tests.support import NOON, create_table

LATER = NOON + timedelta(hours=1)


def task(id: str = "one", due: datetime = LATER, **changes: Any) -> Task:
    made = new_task(id=id, action="act", due=due, payload={"n": 1}, now=NOON)
    return replace(made, **changes)


def key(of: Task) -> QueueKey:
    assert of.queued
    return QueueKey(of.queued, of.id, of.lane)


def keys(found: Iterator[QueueKey]) -> list[str]:
    return [each.id for each in found]


@pytest.fixture(
    params=["memory", "moto", "wire", pytest.param("ministack", marks=pytest.mark.e2e)],
)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    match request.param:
        case "memory":
            yield MemoryStore()
        case "moto":
            session: boto3.Session = request.getfixturevalue("session")
            yield Backend.connect(Settings(), session).store
        case "wire":
            yield store_on_the_wire()
        case _:
            stack = request.getfixturevalue("stack")
            name = f"contract-{abs(hash(request.node.nodeid)):x}"
            create_table(stack.session, name)
            yield Backend.connect(Settings(table=name), stack.session).store
            stack.session.client("dynamodb").delete_table(TableName=name)
