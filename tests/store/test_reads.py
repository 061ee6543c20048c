"""Every read of the queue is strongly consistent, and none is a Scan: moto would not show the difference."""

import json
from datetime import timedelta
from typing import Any

import boto3
import pytest

from duebell_editor import Editor
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_worker import Worker
from tests.support import Clock


@pytest.fixture
def reads(session: boto3.Session) -> list[tuple[str, bool]]:
    """The reads that are made through the session: which operation, and whether it is consistent."""
    reads: list[tuple[str, bool]] = []

    def note(model: Any, params: dict[str, Any], **_: Any) -> None:
        if model.name in {"GetItem", "Query", "BatchGetItem", "Scan"}:
            body = json.loads(params["body"])
            asked = list(body["RequestItems"].values()) if "RequestItems" in body else [body]
            reads.append((model.name, all(each.get("ConsistentRead") is True for each in asked)))

    session.events.register("before-call.dynamodb", note)
    return reads


def test_every_read_is_consistent_and_none_is_a_scan(
    reads: list[tuple[str, bool]], editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given all that an editor and a worker read
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act", attempts=1)(lambda: None)
    for id in ("a", "b", "c"):
        editor.add("act", due=timedelta(minutes=10), id=id)
    editor.list()
    editor.move("a", due=timedelta(minutes=5))
    editor.status(thorough=True)
    clock.advance(timedelta(minutes=20))
    worker.run()
    editor.list(status=["done", "failed"])
    editor.ensure_armed()

    # Then each read sees what was written before it
    assert {operation for operation, _ in reads} == {"GetItem", "Query", "BatchGetItem"}
    assert all(is_consistent for _, is_consistent in reads)
