"""The store, as each of its implementations."""

from collections.abc import Iterator

import boto3
import pytest

from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.queue.store import Store
from duebell_shared.settings import Settings
from tests.simulation.wire.clients import store_on_the_wire
from tests.support import create_table


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
